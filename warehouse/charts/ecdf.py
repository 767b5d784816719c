"""The distribution of response times, operation by operation."""

from __future__ import annotations

import math

import altair as alt

from warehouse.charts.common import Chart, Subject, line, operation_text
from warehouse.formatting import show_seconds, show_size
from warehouse.sql import query
from warehouse.store import Warehouse

_QUANTILES = 100


def ecdf(warehouse: Warehouse, subject: Subject) -> Chart | None:
    """Where an operation other than create has five attempts or more."""
    records = warehouse.records(query("ecdf"), {"run_id": subject.run_id, "steps": _QUANTILES})
    sizes = {show_size(record) for record in records}
    points = [
        {
            "series": operation_text(record) + (f" ({show_size(record)})" if len(sizes) > 1 else ""),
            "share": record["share"],
            "seconds": record["seconds"],
            "n": record["n"],
        }
        for record in records
        if 0 < record["seconds"] < math.inf
    ]
    if not points:
        return None
    title = "Distribution of response times, boots apart from restores"
    axis = alt.Axis(format="~g", tickCount=6)
    chart = (
        line(points)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X(
                "seconds:Q",
                title="response time (s), logarithmic",
                scale=alt.Scale(type="log", nice=False, padding=10),
                axis=axis,
            ),
            y=alt.Y("share:Q", title="share of attempts", axis=alt.Axis(format="%")),
            color=alt.Color("series:N", title="operation", sort=None),
            strokeDash=alt.StrokeDash("series:N", title="operation", sort=None),
        )
    )
    words = []
    for series in dict.fromkeys(point["series"] for point in points):
        mine = [point for point in points if point["series"] == series]
        middle = min(mine, key=lambda point: abs(point["share"] - 0.5))
        words.append(
            f"{series} (n = {mine[0]['n']}): from {show_seconds(mine[0]['seconds'])} over "
            f"{show_seconds(middle['seconds'])} at half of them to {show_seconds(mine[-1]['seconds'])}."
        )
    return Chart("ecdf", title, " ".join(words), chart.properties(title=subject.title(title)))
