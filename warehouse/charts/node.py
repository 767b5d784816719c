"""CPU and memory of the node over the run."""

from __future__ import annotations

from typing import Any

import altair as alt

from warehouse.charts.common import MOST_POINTS, Chart, Subject, line
from warehouse.formatting import matrix_text
from warehouse.sql import query
from warehouse.store import Warehouse


def node(warehouse: Warehouse, subject: Subject) -> Chart | None:
    """Where the node was sampled five times or more."""
    records = warehouse.records(query("node"), {"run_id": subject.run_id, "most": MOST_POINTS})
    if len(records) < 5:
        return None
    again = {record["repetition"] for record in records} != {1}
    points = [
        {
            "at_s": record["at_s"],
            "cpu_cores": record["cpu_cores"],
            "memory_gib": record["memory_gib"],
            "trial": matrix_text(record["matrix"]) + (f", repetition {record['repetition']}" if again else ""),
        }
        for record in records
    ]
    title = "The node, second by second"
    panels = [
        _node_panel(points, "cpu_cores", "CPU in use (cores)", alt.Scale(zero=True)),
        _node_panel(points, "memory_gib", "memory in use (GiB)", alt.Scale(zero=False, padding=12)),
    ]
    highest = max((point["cpu_cores"] or 0.0 for point in points), default=0.0)
    most = max((point["memory_gib"] or 0.0 for point in points), default=0.0)
    words = (
        f"CPU in use reached {highest:.2f} cores, memory in use {most:.2f} GiB, over {points[-1]['at_s']:.0f} seconds."
    )
    return Chart("node", title, words, alt.vconcat(*filter(None, panels), title=subject.title(title)))


def _node_panel(points: list[dict[str, Any]], field: str, title: str, scale: alt.Scale) -> Any:
    known = [point for point in points if point[field] is not None]
    if not known:
        return None
    return (
        line(known)
        .mark_point(size=24, filled=True, opacity=0.9)
        .encode(
            x=alt.X("at_s:Q", title="seconds since the run began"),
            y=alt.Y(f"{field}:Q", title=title, scale=scale),
            color=alt.Color("trial:N", title="trial", sort=None),
            shape=alt.Shape("trial:N", title="trial", sort=None),
        )
        .properties(height=150)
    )
