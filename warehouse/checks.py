"""Checks: a bound on a figure, answered with pass, fail or insufficient from the rows of a run.

A figure is taken over all rows that match, pooled over trials; percentiles are nearest ranks, with
time-outs above everything that was measured. A figure that is missing never passes.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from warehouse.formatting import seconds_of, show_seconds
from warehouse.sql import query
from warehouse.store import Warehouse

_LEAST_N = {"p50": 5, "p95": 20, "p99": 100, "max": 1}
_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
_FILTERS = ("group", "how")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A figure and what it rests on; the figure is None, with a reason, where there is not enough.

    Attributes:
        above: of a figure that fell on a time-out: it is longer than this, and that is all that is known.
    """

    figure: float | None
    n: int
    reason: str | None = None
    above: float | None = None

    def answer(self, side: str, bound: float) -> str:
        """`pass`, `fail` or `insufficient` against a bound on one side."""
        if self.figure is not None:
            holds = self.figure <= bound if side == "at_most" else self.figure >= bound
            return "pass" if holds else "fail"
        if self.above is not None and bound <= self.above:
            return "fail" if side == "at_most" else "pass"
        return "insufficient"


def answer_checks(warehouse: Warehouse, run_id: str) -> None:
    """Answer every check of a run anew and write the answers down.

    Raises:
        WarehouseError: there is no such run.
    """
    (spec,) = warehouse.one("SELECT checks_spec FROM runs WHERE run_id = ?", [run_id])
    answers = [_answer(warehouse, run_id, number, check) for number, check in enumerate(json.loads(spec))]
    warehouse.change("DELETE FROM checks WHERE run_id = ?", [[run_id]])
    warehouse.change("INSERT INTO checks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", answers)


def _answer(warehouse: Warehouse, run_id: str, number: int, check: dict[str, Any]) -> list[Any]:
    where = check.get("where", {})
    side = "at_most" if "at_most" in check else "at_least"
    evidence = _evidence(warehouse, run_id, check["of"], where)
    timed = check["of"].split(".")[1] in _PERCENTILES
    bound = seconds_of(check[side]) if timed else float(check[side])
    shown = show_seconds(bound) if timed else f"{bound:g}"
    text = f"{side.replace('_', ' ')} {shown}"
    answer = evidence.answer(side, bound)
    return [run_id, number, check["of"], json.dumps(where), text, evidence.figure, evidence.n, answer, evidence.reason]


def _evidence(warehouse: Warehouse, run_id: str, of: str, where: dict[str, Any]) -> Evidence:
    operation, figure = of.split(".")
    trials = _matching_trials(warehouse, run_id, where)
    if not trials:
        return Evidence(None, 0, "no trial matches")
    values: dict[str, Any] = {"run_id": run_id, "trials": trials, "group_name": where.get("group")}
    if of == "density.running":
        [record] = warehouse.records(query("check_density"), values)
        missing = None if record["n"] else "no trial added sandboxes batch by batch"
        return Evidence(record["figure"], record["n"], missing)
    values |= {"operation": operation, "how": where.get("how")}
    if figure in _PERCENTILES:
        return _percentile(warehouse, values, figure)
    [record] = warehouse.records(query("check_outcomes"), values)
    if not record["n"]:
        return Evidence(None, 0, f"no {operation} was attempted")
    return Evidence(float(record["n" if figure == "attempts" else figure]), record["n"])


def _percentile(warehouse: Warehouse, values: dict[str, Any], figure: str) -> Evidence:
    [record] = warehouse.records(query("check_latency"), values | {"percentile": _PERCENTILES[figure]})
    n, rank, least = record["n"], record["rank_s"], _LEAST_N[figure]
    if n < least:
        return Evidence(None, n, f"n = {n}: {figure} needs {least}")
    if not record["ok"]:
        return Evidence(None, n, f"none of {n} worked")
    if math.isinf(rank):
        waited = record["waited_s"]
        return Evidence(None, n, f"longer than {show_seconds(waited)}: it fell on a time-out", waited)
    return Evidence(rank, n)


def _matching_trials(warehouse: Warehouse, run_id: str, where: dict[str, Any]) -> list[int]:
    wanted = {key: value for key, value in where.items() if key not in _FILTERS}
    trials = warehouse.rows("SELECT trial, matrix FROM trials WHERE run_id = ? ORDER BY trial", [run_id])
    return [
        trial for trial, matrix in trials if all(json.loads(matrix).get(key) == value for key, value in wanted.items())
    ]
