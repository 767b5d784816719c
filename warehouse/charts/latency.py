"""Latencies by attempts in flight, with single attempts behind them."""

from __future__ import annotations

from typing import Any

import altair as alt

from warehouse.charts.common import (
    MOST_POINTS,
    Chart,
    Subject,
    line,
    names_of,
    operation_text,
    published_note,
    published_panel,
    series_lines,
)
from warehouse.formatting import show_seconds, show_size
from warehouse.published import Published
from warehouse.sql import query
from warehouse.store import Warehouse

_PUBLISHED_CONDITION = r"cpu=100m memory=128Mi in_flight=(?P<x>\d+)"
_PUBLISHED_SHAPE = (100, 128 * 2**20)


def latency(warehouse: Warehouse, subject: Subject) -> Chart | None:
    """Where loads differ in how many attempts were in flight."""
    records = warehouse.records(query("concurrency"), {"run_id": subject.run_id})
    singles = warehouse.records(query("attempts_by_concurrency"), {"run_id": subject.run_id, "most": MOST_POINTS})
    sizes = {show_size(record) for record in records}
    for record in [*records, *singles]:
        record["series"] = operation_text(record) + (f" ({show_size(record)})" if len(sizes) > 1 else "")
    limits = sorted({record["in_flight_limit"] for record in records})
    known = {(record["series"], record["in_flight_limit"]) for record in records if record["p50_s"] is not None}
    if len(known) == len({series for series, _ in known}):  # none has two limits to compare
        return None
    panels = [_latency_panel(records, "p50", limits, singles), _latency_panel(records, "p95", limits, [])]
    if not any(panels):
        return None
    title = "Latency by calls in flight"
    words = [*_latency_words(records), "Small dots are single attempts."]
    published = _published(warehouse, records)
    if published:
        panels.append(published_panel(published, "calls in flight", "published p50 (s)"))
    more = [published_note(warehouse)] if published else []
    chart = alt.vconcat(*filter(None, panels), title=subject.title(title, *more))
    return Chart("latency", title, " ".join(words), chart)


def _published(warehouse: Warehouse, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians of the operations that are here as well, of sandboxes of the same size."""
    operations = {
        record["operation"]
        for record in records
        if (record["cpu_millicores"], record["memory_bytes"]) == _PUBLISHED_SHAPE
    }
    return [
        {"x": int(x), "seconds": value, "series": operation}
        for operation in sorted(operations)
        for x, value in Published("latency", _PUBLISHED_CONDITION, f"{operation}_p50").points(warehouse)
    ]


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
