"""A run in a few rows and sentences: for the terminal, for Prefect's artifacts, for the top of the report."""

from __future__ import annotations

import json
from typing import Any

from warehouse.formatting import show_bytes, show_cpu, show_seconds
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


_SUMMARY = """
    SELECT t.matrix, o.operation, l.how, l.n, o.refused, o.failed, o.timed_out, o.skipped + o.cancelled AS not_made,
        l.p50_s, l.p50_censored, l.p50_low_s, l.p50_high_s, l.p95_s, l.p95_censored, l.min_s, l.max_s, l.max_censored,
        o.trial, row_number() OVER (PARTITION BY o.trial, o.group_name, o.operation ORDER BY l.how) = 1 AS is_first
    FROM outcomes AS o
    JOIN trials AS t ON t.run_id = o.run_id AND t.trial = o.trial
    LEFT JOIN latency AS l
        ON l.run_id = o.run_id AND l.trial = o.trial AND l.group_name = o.group_name AND l.operation = o.operation
    WHERE o.run_id = ?
    ORDER BY o.trial, list_position(['create', 'resume', 'wake', 'exec', 'suspend', 'delete'], o.operation), l.how
"""


def summary_rows(warehouse: Warehouse, run_id: str) -> list[dict[str, str]]:
    """One row a trial, operation and way of starting, as text with units.

    Refusals and failures have no way of starting, so they stand in the operation's first row.
    """
    return [_summary_row(record) for record in warehouse.records(_SUMMARY, [run_id])]


def _summary_row(record: dict[str, Any]) -> dict[str, str]:
    def other(name: str) -> str:
        return str(record[name]) if record["is_first"] else ""

    spread = "–"
    if record["n"]:
        highest = show_seconds(record["max_s"], censored=record["max_censored"])
        spread = f"{show_seconds(record['min_s'])} to {highest}"
    return {
        "trial": matrix_text(record["matrix"]),
        "operation": f"{record['operation']}{' (' + record['how'] + ')' if record['how'] else ''}",
        "n": str(record["n"] or 0),
        "p50": show_seconds(record["p50_s"], censored=bool(record["p50_censored"])),
        "p95": show_seconds(record["p95_s"], censored=bool(record["p95_censored"])),
        "least to most": spread,
        "refused": other("refused"),
        "failed": other("failed"),
        "timed out": other("timed_out"),
        "not made": other("not_made"),
    }


def summary_headline(warehouse: Warehouse, run_id: str) -> str:
    """The answer in words, in a few sentences."""
    simulated, attempts = warehouse.one("SELECT simulated, attempts FROM run_summary WHERE run_id = ?", [run_id])
    sentences = _density_sentences(warehouse, run_id) or _latency_sentences(warehouse, run_id)
    if not sentences:
        sentences = [f"{attempts} attempts were made." if attempts else "No attempt was made."]
    return " ".join([*(["SIMULATED."] if simulated else []), *sentences])


def _density_sentences(warehouse: Warehouse, run_id: str) -> list[str]:
    ceilings = warehouse.records("SELECT * FROM density_ceiling WHERE run_id = ? ORDER BY trial", [run_id])
    return [_ceiling_sentence(warehouse, run_id, ceiling) for ceiling in ceilings]


def _ceiling_sentence(warehouse: Warehouse, run_id: str, ceiling: dict[str, Any]) -> str:
    size = f"{show_cpu(ceiling['cpu_millicores'])} CPU and {show_bytes(ceiling['memory_bytes'])}"
    text = f"{ceiling['running']} sandboxes of {size} ran at once"
    if ceiling["refused"]:
        text += (
            f"; more were refused{', ' + ceiling['resource'] + ' bookings being full' if ceiling['resource'] else ''}"
        )
    else:
        text += "; nothing was refused, so the ceiling is higher"
    batches = warehouse.rows(
        "SELECT running, resume_p50_s FROM density WHERE run_id = ? AND trial = ? AND n >= 5 ORDER BY batch",
        [run_id, ceiling["trial"]],
    )
    if len(batches) > 1:
        (few, first), (many, last) = batches[0], batches[-1]
        text += f". Resume p50 was {show_seconds(first)} with {few} running and {show_seconds(last)} with {many}"
    if ceiling["bytes_per_sandbox"] is not None:
        text += f". Each idle sandbox took {show_bytes(ceiling['bytes_per_sandbox'])} of the node's memory"
    return f"{text}."


def _latency_sentences(warehouse: Warehouse, run_id: str) -> list[str]:
    records = warehouse.records(
        "SELECT * FROM concurrency WHERE run_id = ? AND operation <> 'create' ORDER BY operation, how, in_flight_limit",
        [run_id],
    )
    sentences = []
    for operation, how in dict.fromkeys((record["operation"], record["how"]) for record in records):
        known = [
            record
            for record in records
            if (record["operation"], record["how"]) == (operation, how) and record["p50_s"] is not None
        ]
        if known:
            name = operation if how is None else f"{operation} ({how})"
            values = [
                f"{show_seconds(record['p50_s'], censored=record['p50_censored'])} at {record['in_flight_limit']}"
                for record in (known[:1] if len(known) == 1 else [known[0], known[-1]])
            ]
            sentences.append(f"{name[0].upper()}{name[1:]}: p50 {' and '.join(values)} in flight.")
    return sentences
