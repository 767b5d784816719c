"""A run in a few rows and sentences: for the terminal, for Prefect's artifacts, for the top of the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warehouse.findings import durability_sentences, phase_sentences, slowdown_sentences, wake_sentences
from warehouse.formatting import matrix_text, operation_name, show_seconds, trial_text
from warehouse.headlines import density_sentences, latency_sentences
from warehouse.sql import holdings, query
from warehouse.store import Warehouse

__all__ = ["matrix_text", "run_verdict", "summary_headline", "summary_rows", "trial_text"]
_SENTENCES: tuple[tuple[Callable[[Warehouse, str], list[str]], str | None], ...] = (
    (density_sentences, "resume"),
    (durability_sentences, "snapshots"),
    (slowdown_sentences, "background"),
    (wake_sentences, "wake"),
    (phase_sentences, None),
    (latency_sentences, None),
)
"""What a run can have an answer to, the most telling first, each with what its rows must hold for it, if anything.

The first that says something is the headline.
"""


def run_verdict(warehouse: Warehouse, run_id: str) -> tuple[str, str]:
    """The verdict on a run and its reason, which is empty for a valid one.

    Raises:
        WarehouseError: there is no such run.
    """
    verdict, reason = warehouse.one("SELECT verdict, reason FROM run_verdicts WHERE run_id = ?", [run_id])
    return verdict, reason or ""


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
        "operation": f"{group}{operation_name(record)}",
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
    held = holdings(warehouse, run_id)
    asked = (tell(warehouse, run_id) for tell, needs in _SENTENCES if needs in (None, *held))
    sentences = next(filter(None, asked), [])
    if not sentences:
        sentences = [f"{attempts} attempts were made." if attempts else "No attempt was made."]
    return " ".join([*(["SIMULATED."] if simulated else []), *sentences])
