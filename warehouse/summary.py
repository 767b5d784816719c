"""A run in a few rows and sentences: for the terminal, for Prefect's artifacts, for the top of the report."""

from __future__ import annotations

import json
from typing import Any

from warehouse.formatting import ordinal, show_bytes, show_seconds, show_size
from warehouse.sql import query
from warehouse.store import Warehouse


def run_verdict(warehouse: Warehouse, run_id: str) -> tuple[str, str]:
    """The verdict on a run and its reason, which is empty for a valid one.

    Raises:
        WarehouseError: there is no such run.
    """
    verdict, reason = warehouse.one("SELECT verdict, reason FROM run_verdicts WHERE run_id = ?", [run_id])
    return verdict, reason or ""


def matrix_text(matrix: Any) -> str:
    """The matrix values of a trial, for people."""
    values = json.loads(matrix) if isinstance(matrix, str) else matrix or {}
    return ", ".join(f"{key} {value}" for key, value in values.items()) or "–"


def trial_text(record: dict[str, Any]) -> str:
    """What sets a trial apart: its matrix values, and its repetition where there are several."""
    text = matrix_text(record["matrix"])
    return f"{text}, repetition {record['repetition']}" if record["repetitions"] > 1 else text


def summary_rows(warehouse: Warehouse, run_id: str) -> list[dict[str, str]]:
    """One row a trial, operation and way of starting, as text with units.

    Where a run has several groups, the operation says whose it is. `n` counts the attempts that
    were made; percentiles are over those that worked or timed out.
    """
    records = warehouse.records(query("summary"), {"run_id": run_id})
    several = len({record["group_name"] for record in records}) > 1
    return [_summary_row(record, f"{record['group_name']}: " if several else "") for record in records]


def _summary_row(record: dict[str, Any], group: str) -> dict[str, str]:
    highest = show_seconds(record["max_s"], censored=bool(record["max_censored"]))
    spread = f"{show_seconds(record['min_s'])} to {highest}" if record["min_s"] is not None else "–"
    return {
        "trial": trial_text(record),
        "operation": f"{group}{record['operation']}{' (' + record['how'] + ')' if record['how'] else ''}",
        "n": str(record["n"]),
        "ok": str(record["ok"]),
        "refused": str(record["refused"]),
        "failed": str(record["failed"]),
        "timed out": str(record["timed_out"]),
        "not made": str(record["not_made"]),
        "p50": show_seconds(record["p50_s"], censored=bool(record["p50_censored"])),
        "p95": show_seconds(record["p95_s"], censored=bool(record["p95_censored"])),
        "least to most": spread,
    }


def summary_headline(warehouse: Warehouse, run_id: str) -> str:
    """The answer in words, in a few sentences."""
    simulated, attempts = warehouse.one("SELECT simulated, attempts FROM run_summary WHERE run_id = ?", [run_id])
    sentences = _density_sentences(warehouse, run_id) or _latency_sentences(warehouse, run_id)
    if not sentences:
        sentences = [f"{attempts} attempts were made." if attempts else "No attempt was made."]
    return " ".join([*(["SIMULATED."] if simulated else []), *sentences])


def _density_sentences(warehouse: Warehouse, run_id: str) -> list[str]:
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
    costs = [each["bytes_per_sandbox"] for each in ceilings if each["bytes_per_sandbox"] is not None]
    if costs:
        least, most = show_bytes(min(costs)), show_bytes(max(costs))
        text += f" An idle sandbox costs {least if least == most else f'{least} to {most}'} of the node's memory."
    elif any(each["bytes_r2"] is not None for each in ceilings):
        reason = next(each["bytes_reason"] for each in ceilings if each["bytes_r2"] is not None)
        text += f" Memory per sandbox is withheld: {reason}."
    return text


def _p50_at(row: dict[str, Any]) -> str:
    return f"{show_seconds(row['resume_p50_s'], censored=row['resume_p50_censored'])} with {row['running']} running"


def _latency_sentences(warehouse: Warehouse, run_id: str) -> list[str]:
    records = warehouse.records(query("concurrency"), {"run_id": run_id})
    sizes = {show_size(record) for record in records}
    series: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        name = record["operation"] if record["how"] is None else f"{record['operation']} ({record['how']})"
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
