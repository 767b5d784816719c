"""Latencies by attempts in flight, with single attempts behind them."""

from __future__ import annotations

from typing import Any

import altair as alt

from warehouse.charts.common import MOST_POINTS, Chart, Subject, line, names_of, operation_text, series_lines
from warehouse.formatting import show_seconds, show_size
from warehouse.sql import query
from warehouse.store import Warehouse


def latency(warehouse: Warehouse, subject: Subject) -> Chart | None:
    records = warehouse.records(query("concurrency"), {"run_id": subject.run_id})
    singles = warehouse.records(query("attempts_by_concurrency"), {"run_id": subject.run_id, "most": MOST_POINTS})
    sizes = {show_size(record) for record in records}
    for record in [*records, *singles]:
        record["series"] = operation_text(record) + (f" ({show_size(record)})" if len(sizes) > 1 else "")
    limits = sorted({record["in_flight_limit"] for record in records})
    if len(limits) < 2:
        return None
    panels = [_latency_panel(records, "p50", limits, singles), _latency_panel(records, "p95", limits, [])]
    if not any(panels):
        return None
    title = "Latency by calls in flight"
    words = [*_latency_words(records), "Small dots are single attempts."]
    chart = alt.vconcat(*filter(None, panels), title=subject.title(title))
    return Chart("latency", title, " ".join(words), chart)


def _latency_panel(records: list[dict[str, Any]], figure: str, limits: list[int], singles: list[dict[str, Any]]) -> Any:
    """One figure by calls in flight, or None where fewer than two limits have it; `singles` are dots behind it."""
    points = [
        {"in_flight": record["in_flight_limit"], "series": record["series"], "seconds": record[f"{figure}_s"]}
        for record in records
        if record[f"{figure}_s"] is not None
    ]
    if len({point["in_flight"] for point in points}) < 2:
        return None
    axis = alt.Axis(values=limits, labelFlush=False)
    x = alt.X(
        "in_flight:Q",
        title="calls in flight",
        scale=alt.Scale(domain=[0, limits[-1]], nice=False, padding=8),
        axis=axis,
    )
    y = alt.Y("seconds:Q", title=f"{figure} response time (s)", scale=alt.Scale(zero=True, nice=True))
    names = names_of(records, "series")
    dots = [
        {"in_flight": single["in_flight_limit"], "series": single["series"], "seconds": single["response_s"]}
        for single in singles
    ]
    behind = (
        line(dots)
        .mark_circle(size=14, opacity=0.35)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "series:N", title="operation", scale=alt.Scale(domain=names), legend=alt.Legend(symbolOpacity=1)
            ),
        )
    )
    lines = series_lines(points, x, y, "series", "operation", names)
    return alt.layer(behind, lines) if dots else lines


def _latency_words(records: list[dict[str, Any]]) -> list[str]:
    words = []
    for series in dict.fromkeys(record["series"] for record in records):
        values = [
            f"{figure} {show_seconds(record[f'{figure}_s'], censored=record[f'{figure}_censored'])} "
            f"at {record['in_flight_limit']}"
            for figure in ("p50", "p95")
            for record in records
            if record["series"] == series and record[f"{figure}_s"] is not None
        ]
        if values:
            words.append(f"{series}: {', '.join(values)} in flight.")
    if any(record["withheld_reason"] for record in records):
        words.append("Percentiles of too few attempts are left out: p50 needs 5, p95 needs 20.")
    return words
