"""The figures of a run that checks and suites ask for, worked out from its rows.

A figure is called SUBJECT.FIGURE (`resume.p50`, `durability.lost`) and narrowed by `where`: matrix
values choose trials, and `group`, `how`, `program`, `component` and `operation` choose rows. It is
taken over all rows that match, pooled over trials. What is missing is None, with a reason. What
each figure means in rows is in `views/*.sql`; the queries are `queries/figure_*.sql`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warehouse.formatting import show_seconds, show_share
from warehouse.sql import query
from warehouse.store import Warehouse

LEFT = "inventory.left"
"""What of ours was there at the start of a trial or at the end of the run; every run is asked for it."""
_LEAST_N = {"p50": 5, "p95": 20, "p99": 100, "max": 1}
_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
_COLUMNS = {"group": "group_name", "how": "how", "program": "program", "component": "component",
            "operation": "operation"}  # fmt: skip
_UNITS = {
    **dict.fromkeys(["p50", "p95", "p99", "max", "inside_p50", "inside_p95", "all_durable_after"], "seconds"),
    "rate": "per second", "memory_per_sandbox": "bytes", "cpu_peak": "millicores",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evidence:
    """A figure and what it rests on; the figure is None, with a reason, where there is not enough.

    Attributes:
        n: attempts, sandboxes, snapshots or samples that it rests on.
        reason: why it is missing, or what belongs beside it.
        above: of a figure that is not known: it is more than this. A time-out says so of its percentile.
        low: the lower end of its 95% interval, where it has one.
        high: the upper end.
    """

    figure: float | None
    n: int
    reason: str | None = None
    above: float | None = None
    low: float | None = None
    high: float | None = None

    def answer(self, side: str, bound: float) -> str:
        """`pass`, `fail` or `insufficient` against a bound on one side."""
        if self.figure is not None:
            holds = self.figure <= bound if side == "at_most" else self.figure >= bound
            return "pass" if holds else "fail"
        if self.above is not None and bound <= self.above:
            return "fail" if side == "at_most" else "pass"
        return "insufficient"


def unit_of(of: str) -> str:
    """The unit of a figure: seconds, count, per second, bytes or millicores."""
    return _UNITS.get(of.split(".")[1], "count")


def figure(warehouse: Warehouse, run_id: str, of: str, where: dict[str, Any]) -> Evidence:
    """Work out one figure of a run.

    Args:
        warehouse: where the run is landed.
        run_id: the run.
        of: the figure, such as `resume.p50`.
        where: what it is narrowed to; keys that are no filter are matrix keys.

    Raises:
        WarehouseError: the warehouse does not answer.
    """
    if of == LEFT:
        return _left(warehouse, run_id)
    subject, name = of.split(".")
    work_out, filters = _ways(subject, name)
    trials = matching_trials(warehouse, run_id, where)
    foreign = [key for key in where if key in _COLUMNS and key not in filters]
    if foreign:
        return Evidence(None, 0, f"{of} cannot be narrowed by {', '.join(foreign)}")
    if not trials:
        return Evidence(None, 0, "no trial matches")
    narrowed = {_COLUMNS[key]: where.get(key) for key in filters}

    def ask(asked: str, **more: Any) -> dict[str, Any]:
        [record] = warehouse.records(query(f"figure_{asked}"), {"run_id": run_id, "trials": trials, **narrowed, **more})
        return record

    return work_out(ask, subject, name)


Ask = Callable[..., dict[str, Any]]
"""Asks one of the queries `figure_NAME`, narrowed to what matches; further values go by name."""


def _ways(subject: str, name: str) -> tuple[Callable[[Ask, str, str], Evidence], tuple[str, ...]]:
    """How a figure is worked out, and by what it can be narrowed."""
    if name.startswith("inside_"):
        return _inside, ("group", "program")
    if name == "lost_state":
        return _lost_state, ("group", "how")
    if name == "rate":
        return _rate, ("group", "how", "program")
    if name in _PERCENTILES:
        return _latency, ("group", "how", "program")
    return _SUBJECTS.get(subject, (_outcomes, ("group", "how", "program")))


def matching_trials(warehouse: Warehouse, run_id: str, where: dict[str, Any]) -> list[int]:
    """The trials of a run whose matrix values are those of a `where`."""
    wanted = {key: value for key, value in where.items() if key not in _COLUMNS}
    trials = warehouse.rows("SELECT trial, matrix FROM trials WHERE run_id = ? ORDER BY trial", [run_id])
    return [
        trial for trial, matrix in trials if all(json.loads(matrix).get(key) == value for key, value in wanted.items())
    ]


def _latency(ask: Ask, operation: str, name: str) -> Evidence:
    return _percentile(ask("latency", operation=operation, percentile=_PERCENTILES[name]), name)


def _inside(ask: Ask, _: str, name: str) -> Evidence:
    name = name.removeprefix("inside_")
    record = ask("inside", percentile=_PERCENTILES[name])
    if not record["n"]:
        return Evidence(None, 0, "no program told its own time")
    return _percentile(record, name)


def _percentile(record: dict[str, Any], name: str) -> Evidence:
    n, rank, least = record["n"], record["rank_s"], _LEAST_N[name]
    if n < least:
        return Evidence(None, n, f"n = {n}: {name} needs {least}")
    if not record["ok"]:
        return Evidence(None, n, f"none of {n} worked")
    if math.isinf(rank):
        waited = record["waited_s"]
        if waited is None:
            return Evidence(None, n, "it fell on a time-out")
        return Evidence(None, n, f"longer than {show_seconds(waited)}: it fell on a time-out", waited)
    if name != "p50":
        return Evidence(rank, n)
    return Evidence(rank, n, low=record["low_s"], high=record["high_s"])


def _outcomes(ask: Ask, operation: str, name: str) -> Evidence:
    record = ask("outcomes", operation=operation)
    if not record["n"]:
        return Evidence(None, 0, f"no {operation} was attempted")
    return Evidence(float(record["n" if name == "attempts" else name]), record["n"])


def _rate(ask: Ask, operation: str, _: str) -> Evidence:
    record = ask("rate", operation=operation)
    if not record["n"]:
        return Evidence(None, 0, f"no {operation} was attempted")
    if not record["ok"]:
        return Evidence(None, record["n"], f"none of {record['n']} worked")
    if record["figure"] is None:
        return Evidence(None, record["n"], "it took no time at all")
    return Evidence(record["figure"], record["n"])


def _lost_state(ask: Ask, _: str, __: str) -> Evidence:
    record = ask("lost_state")
    if not record["n"]:
        return Evidence(None, 0, f"of {record['wakes']} wakes none tells whether the state was kept")
    return Evidence(float(record["figure"]), record["n"])


def _density(ask: Ask, _: str, name: str) -> Evidence:
    record = ask("density")
    if not record["n"]:
        return Evidence(None, 0, "no trial added sandboxes batch by batch")
    if name == "running":
        return Evidence(float(record["running"]), record["n"])
    if not record["fitted"]:
        return Evidence(None, 0, record["bytes_reason"])
    return Evidence(record[name], record["fitted"], low=record["bytes_low"], high=record["bytes_high"])


def _durability(ask: Ask, _: str, name: str) -> Evidence:
    record = ask("durability")
    n = record["snapshots"] or 0
    if not n or record["empty_steps"]:
        return Evidence(None, n, "no snapshot was watched" if not n else "in a trial no snapshot was watched")
    if name == "all_durable_after":
        reason = record["all_durable_reason"]
        return Evidence(None if reason else record[name], n, reason)
    if name == "lost":
        share = f"{record['lost']} of {record['lost'] + record['durable']}"
        untold = f"{record['unresolved']} of {record['not_durable'] + record['durable']} are neither durable nor lost"
        return _with_bound(record["lost"], n, share, record["lost_upper_share"], record["unresolved"] and untold)
    if name == "restored_wrong":
        if not record["restored"]:
            return Evidence(None, 0, "no snapshot was restored")
        known = record["restored_wrong"] + record["restored_right"]
        untold = f"{record['restored'] - known} of {record['restored']} restored ones were not looked at"
        share = f"{record['restored_wrong']} of {known}"
        return _with_bound(
            record[name], record["restored"], share, record["wrong_upper_share"], record["restored"] > known and untold
        )
    return Evidence(float(record[name]), n)


def _with_bound(count: int, n: int, share: str, upper: float | None, untold: Any) -> Evidence:
    """A count of rare mishaps: none among few says little, so the bound on the true share stands beside it."""
    text = f"{share}: at most {show_share(upper)} at 95% confidence" if upper is not None else share
    if untold:
        # The true count is this one or more, so that a bound below it fails all the same.
        return Evidence(None, n, f"{text}; {untold}", above=count - 0.5 if count else None)
    return Evidence(float(count), n, text)


def _component(ask: Ask, _: str, __: str) -> Evidence:
    record = ask("component")
    if record["figure"] is None:
        return Evidence(None, 0, record["peak_reason"] or "no such component was sampled")
    return Evidence(record["figure"], record["n"])


def _neighbours(ask: Ask, _: str, __: str) -> Evidence:
    record = ask("neighbours")
    if not record["n"] and not record["untold"]:
        return Evidence(None, 0, "no background sandbox ran beside others")
    if record["untold"]:
        reason = f"of {record['untold']} background sandboxes nobody can tell: {record['reason']}"
        return Evidence(None, record["n"], reason, above=record["figure"] - 0.5 if record["figure"] else None)
    return Evidence(float(record["figure"]), record["n"])


def _left(warehouse: Warehouse, run_id: str) -> Evidence:
    [record] = warehouse.records(query("figure_left"), {"run_id": run_id})
    missing = None
    if record["uncounted"]:
        missing = f"{record['uncounted']} kinds could not be counted"
    elif record["starts"] < record["trials"]:
        missing = f"what was there at the start was counted in {record['starts']} of {record['trials']} trials"
    elif not record["ends"]:
        missing = "what was left at the end was not counted"
    left, things = record["left_over"], record["things"]
    if missing:
        text = f"{things}; {missing}" if things else missing
        return Evidence(None, record["n"], text, above=left - 0.5 if left else None)
    return Evidence(float(left), record["n"], things)


_SUBJECTS: dict[str, tuple[Callable[[Ask, str, str], Evidence], tuple[str, ...]]] = {
    "density": (_density, ("group",)),
    "durability": (_durability, ("group",)),
    "component": (_component, ("component", "operation")),
    "neighbours": (_neighbours, ("group",)),
}
