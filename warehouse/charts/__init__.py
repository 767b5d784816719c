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
from warehouse.store import Warehouse

__all__ = ["Chart", "Subject", "charts_of"]
_MAKERS: tuple[Callable[[Warehouse, Subject], Chart | None], ...] = (
    density, wakes, slowdown, snapshots, phases, components, latency, ecdf, node,
)  # fmt: skip


def charts_of(warehouse: Warehouse, run_id: str) -> list[Chart]:
    """Every chart for which a run has rows, the most telling first."""
    scenario, target, simulated = warehouse.one(
        "SELECT scenario, target, simulated FROM runs WHERE run_id = ?", [run_id]
    )
    subject = Subject(run_id, scenario, target, simulated)
    return [chart for make in _MAKERS if (chart := make(warehouse, subject)) is not None]
