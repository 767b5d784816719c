"""Charts of a run: which ones depends on what its rows hold, not on the scenario's name."""

from __future__ import annotations

from collections.abc import Callable

from warehouse.charts.common import Chart, Subject
from warehouse.charts.components import components
from warehouse.charts.density import density
from warehouse.charts.ecdf import ecdf
from warehouse.charts.latency import latency
from warehouse.charts.node import node
from warehouse.charts.phases import phases
from warehouse.charts.slowdown import slowdown
from warehouse.charts.snapshots import snapshots
from warehouse.charts.wakes import wakes
from warehouse.sql import holdings
from warehouse.store import Warehouse

__all__ = ["Chart", "Subject", "charts_of"]
Maker = Callable[[Warehouse, Subject], Chart | None]
_MAKERS: tuple[tuple[Maker, str | None], ...] = (
    (density, "resume"),
    (wakes, "wake"),
    (slowdown, "background"),
    (snapshots, "snapshots"),
    (phases, None),
    (latency, None),
    (components, "components"),
    (ecdf, None),
    (node, None),
)
"""Makers of charts, the most telling first, each with what the rows must hold for it, if anything."""


def charts_of(warehouse: Warehouse, run_id: str) -> list[Chart]:
    """Every chart for which a run has rows, the most telling first."""
    scenario, target, simulated = warehouse.one(
        "SELECT scenario, target, simulated FROM runs WHERE run_id = ?", [run_id]
    )
    subject = Subject(run_id, scenario, target, simulated)
    held = holdings(warehouse, run_id)
    return [
        chart for make, needs in _MAKERS if needs in (None, *held) and (chart := make(warehouse, subject)) is not None
    ]
