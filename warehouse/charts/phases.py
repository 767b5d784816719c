"""How many calls a second a control plane takes, phase by phase."""

from __future__ import annotations

from typing import Any

import altair as alt

from warehouse.charts.common import PUBLISHED_COLOUR, Chart, Subject, line, names_of, published_name, published_note
from warehouse.formatting import show_number, trial_text
from warehouse.published import Published
from warehouse.sql import query
from warehouse.store import Warehouse

_CONDITION = "cpu=25m n=120 in_flight=20"


def phases(warehouse: Warehouse, subject: Subject) -> Chart | None:
    """Where at least two phases had many more calls than were in flight."""
    records = warehouse.records(query("phases"), {"run_id": subject.run_id})
    if sum(record["steady_per_s"] is not None for record in records) < 2:
        return None
    several = len({record["trial"] for record in records}) > 1
    points = []
    for record in records:
        phase = f"{record['operation']} ({trial_text(record)})" if several else record["operation"]
        for series, field in (("whole phase", "ok_per_s"), ("while the loop was full", "steady_per_s")):
            if record[field]:
                points.append({"phase": phase, "series": series, "per_s": record[field]})
    published = [] if several else _published(warehouse, records)
    points += published
    title = "Operations a second, phase by phase"
    more = [published_note(warehouse)] if published else []
    chart = _panel(points).properties(title=subject.title(title, *more))
    words = [
        f"{record['operation']}: {show_number(record['ok_per_s'])} a second with {record['in_flight_limit']} in flight"
        + (f", {show_number(record['steady_per_s'])} while the loop was full." if record["steady_per_s"] else ".")
        for record in records
        if record["ok_per_s"]
    ]
    return Chart("phases", title, " ".join(words), chart)


def _published(warehouse: Warehouse, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    name = f"{published_name(warehouse)} ({_CONDITION})"
    return [
        {"phase": operation, "series": name, "per_s": value}
        for operation in names_of(records, "operation")
        for _, value in Published("control-plane", f"(?P<x>{_CONDITION})", f"{operation}_rate").points(warehouse)
    ]


def _panel(points: list[dict[str, Any]]) -> Any:
    series = names_of(points, "series")
    colours = [PUBLISHED_COLOUR if name.startswith("published") else colour
               for name, colour in zip(series, ["#4c78a8", "#54a24b", ""], strict=False)]  # fmt: skip
    shapes = ["diamond" if name.startswith("published") else shape
              for name, shape in zip(series, ["circle", "square", ""], strict=False)]  # fmt: skip
    legend = alt.Legend(orient="bottom", labelLimit=600)
    height = 46 * len(names_of(points, "phase")) + 20
    return (
        line(points, height)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            x=alt.X("per_s:Q", title="attempts that worked (per s), logarithmic",
                    scale=alt.Scale(type="log", nice=True, padding=10), axis=alt.Axis(format="~g", tickCount=6)),
            y=alt.Y("phase:N", title=None, sort=names_of(points, "phase"), axis=alt.Axis(grid=True)),
            yOffset=alt.YOffset("series:N", sort=series),
            color=alt.Color("series:N", title=None, scale=alt.Scale(domain=series, range=colours), legend=legend),
            shape=alt.Shape("series:N", title=None, scale=alt.Scale(domain=series, range=shapes), legend=legend),
        )
    )  # fmt: skip
