"""Sentences about density and about latency, for the top of a report and for the terminal."""

from __future__ import annotations

from typing import Any

from warehouse.formatting import operation_name, ordinal, show_bytes, show_seconds, show_size
from warehouse.sql import query
from warehouse.store import Warehouse


def density_sentences(warehouse: Warehouse, run_id: str) -> list[str]:
    """One sentence or two a sandbox size; repetitions are told together."""
    ceilings = warehouse.records("SELECT * FROM density_ceiling WHERE run_id = ? ORDER BY trial", [run_id])
    batches = warehouse.records(query("density"), {"run_id": run_id})
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for ceiling in ceilings:
        alike.setdefault((ceiling["group_name"], show_size(ceiling)), []).append(ceiling)
    return [
        f"{_ceiling_sentence(size, mine)}. "
        + _filling_sentence([row for row in batches if row["trial"] in {each["trial"] for each in mine}], mine)
        for (_, size), mine in alike.items()
    ]


def _ceiling_sentence(size: str, ceilings: list[dict[str, Any]]) -> str:
    least, most = (choose(each["running"] for each in ceilings) for choose in (min, max))
    text = f"{least} sandboxes" if least == most else f"{least} to {most} sandboxes"
    text += f" of {size} ran at once"
    if len(ceilings) > 1:
        text += f" in {len(ceilings)} trials"
    if not all(each["refused"] for each in ceilings):
        return f"{text}; nothing was refused, so the ceiling is higher"
    resources = sorted({each["resource"] for each in ceilings if each["resource"]})
    full = f": {' and '.join(resources)} bookings full" if resources else ""
    return f"{text}; {'the ' + ordinal(least + 1) if least == most else 'one more'} was refused{full}"


def _filling_sentence(batches: list[dict[str, Any]], ceilings: list[dict[str, Any]]) -> str:
    """How waking and memory went as the host filled, in the first trial that tells."""
    first = min(row["trial"] for row in batches)
    known = [row for row in batches if row["trial"] == first and row["resume_p50_s"] is not None]
    if len(known) > 1:
        text = f"Resume p50 went from {_p50_at(known[0])} to {_p50_at(known[-1])}."
    elif known:
        text = f"Resume p50 was {_p50_at(known[0])}."
    else:
        text = f"Resume p50 is withheld: {batches[0]['p50_reason']}."
    costs = [each for each in ceilings if each["bytes_per_sandbox"] is not None]
    if costs:
        text += f" An idle sandbox costs {_cost(costs)} of the node's memory."
    elif any(each["bytes_r2"] is not None for each in ceilings):
        reason = next(each["bytes_reason"] for each in ceilings if each["bytes_r2"] is not None)
        text += f" Memory per sandbox is withheld: {reason}."
    return text


def _cost(ceilings: list[dict[str, Any]]) -> str:
    """The memory of a sandbox: of one trial with its interval, of several from the least to the most."""
    least, most = (show_bytes(choose(each["bytes_per_sandbox"] for each in ceilings)) for choose in (min, max))
    if len(ceilings) > 1:
        return least if least == most else f"{least} to {most}"
    only = ceilings[0]
    if only["bytes_low"] is None:
        return least
    return f"{least} (95% interval {show_bytes(only['bytes_low'])} to {show_bytes(only['bytes_high'])})"


def _p50_at(row: dict[str, Any]) -> str:
    return f"{show_seconds(row['resume_p50_s'], censored=row['resume_p50_censored'])} with {row['running']} running"


def latency_sentences(warehouse: Warehouse, run_id: str) -> list[str]:
    """One sentence an operation and way of starting, by calls in flight."""
    records = warehouse.records(query("concurrency"), {"run_id": run_id})
    sizes = {show_size(record) for record in records}
    series: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        name = operation_name(record)
        series.setdefault(name if len(sizes) < 2 else f"{name}, {show_size(record)}", []).append(record)
    return [_series_sentence(name, mine) for name, mine in series.items()]


def _series_sentence(name: str, records: list[dict[str, Any]]) -> str:
    name = f"{name[0].upper()}{name[1:]}"
    known = [record for record in records if record["p50_s"] is not None]
    if not known:
        return f"{name}: p50 withheld ({records[-1]['withheld_reason']})."
    ends = known[:1] if len(known) == 1 else [known[0], known[-1]]
    values = [
        f"{show_seconds(record['p50_s'], censored=record['p50_censored'])} with {record['in_flight_limit']} in flight"
        for record in ends
    ]
    last = known[-1]
    if last["p95_s"] is None:
        p95 = f"p95 there withheld ({last['n']} attempts, and it needs 20)"
    else:
        p95 = f"p95 there {show_seconds(last['p95_s'], censored=last['p95_censored'])}"
    return f"{name}: p50 {', '.join(values)}; {p95}."
