"""What neighbours cost: medians beside them as multiples of the medians without, with intervals."""

from __future__ import annotations

from typing import Any

import altair as alt

from warehouse.charts.common import (
    NOTE,
    PUBLISHED_COLOUR,
    Chart,
    Subject,
    line,
    names_of,
    published_name,
    published_note,
)
from warehouse.published import Published
from warehouse.sql import query
from warehouse.store import Warehouse

_METRICS = {"cpu-benchmark": "cpu_benchmark_p50", "write-benchmark": "write_fsync_p50", "suspend": "suspend_p50"}
"""Which published medians a measure is read against, where the matrix key is `neighbours`."""
_CLOCKS = {"inside": "by the program's own clock", "outside": "from outside"}


def slowdown(warehouse: Warehouse, subject: Subject) -> Chart | None:
    """One panel a program or operation, one row a kind of neighbour."""
    records = [
        record
        for record in warehouse.records(query("slowdown"), {"run_id": subject.run_id})
        if record["ratio"] is not None
    ]
    if not records:
        return None
    points = [
        {
            "measure": record["measure"],
            "neighbours": f"{record['matrix_key']} {record['matrix_value']}",
            "series": _CLOCKS[record["clock"]],
            "ratio": record["ratio"],
            "low": record["ratio_low"],
            "high": record["ratio_high"],
        }
        for record in records
    ]
    published = _published(warehouse, records)
    points += published
    title = "What busy neighbours cost"
    kinds = names_of(points, "neighbours")
    series = names_of(points, "series")
    highest = max(point["high"] or point["ratio"] for point in points)
    lowest = min(point["low"] or point["ratio"] for point in points)
    domain = [min(0.9, lowest), max(1.1, highest)]
    measures = names_of(points, "measure")
    panels = [
        _panel([point for point in points if point["measure"] == measure], measure, kinds, series, domain)
        for measure in measures
    ]
    more = [published_note(warehouse)] if published else []
    chart = alt.vconcat(*panels, title=subject.title(title, *more)).resolve_scale(color="shared", shape="shared")
    return Chart("slowdown", title, " ".join(_words(records)), chart)


def _published(warehouse: Warehouse, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    points = []
    for measure, metric in _METRICS.items():
        published = dict(Published("noisy", r"neighbours=(?P<x>\w+)", metric).points(warehouse))
        mine = {
            record["matrix_value"]
            for record in records
            if record["measure"] == measure and record["matrix_key"] == "neighbours" and record["base_value"] == "none"
        }
        points += [
            {
                "measure": measure, "neighbours": f"neighbours {kind}", "series": published_name(warehouse),
                "ratio": published[kind] / published["none"], "low": None, "high": None,
            }
            for kind in published if kind in mine
        ]  # fmt: skip
    return points


def _panel(points: list[dict[str, Any]], measure: str, kinds: list[str], series: list[str], domain: list[float]) -> Any:
    colours = [PUBLISHED_COLOUR if name.startswith("published") else ["#4c78a8", "#54a24b"][number]
               for number, name in enumerate(series)]  # fmt: skip
    shapes = ["diamond" if name.startswith("published") else ["circle", "square"][number]
              for number, name in enumerate(series)]  # fmt: skip
    height = 14 * len(series) * len(kinds) + 10
    base = line(points, height).encode(
        y=alt.Y("neighbours:N", title=None, sort=kinds),
        yOffset=alt.YOffset("series:N", sort=series),
        color=alt.Color("series:N", title=None, scale=alt.Scale(domain=series, range=colours),
                        legend=alt.Legend(orient="bottom", labelLimit=400)),
    )  # fmt: skip
    x = alt.X("ratio:Q", title=f"{measure}: p50 as a multiple of that without neighbours (times)",
              scale=alt.Scale(domain=domain, nice=True, zero=False))  # fmt: skip
    alone = line([{"ratio": 1}], height).mark_rule(color=NOTE, strokeDash=[2, 3]).encode(x=x)
    known = [point for point in points if point["low"] is not None and point["high"] is not None]
    layers = [alone]
    if known:
        layers.append(
            base.mark_rule(strokeWidth=2)
            .encode(x=alt.X("low:Q"), x2="high:Q")
            .transform_filter("datum.low != null && datum.high != null")
        )
    marks = base.mark_point(filled=True, size=70, opacity=1)
    layers.append(
        marks.encode(
            x=x,
            shape=alt.Shape("series:N", title=None, scale=alt.Scale(domain=series, range=shapes),
                            legend=alt.Legend(orient="bottom", labelLimit=400)),
        )
    )  # fmt: skip
    return alt.layer(*layers)


def _words(records: list[dict[str, Any]]) -> list[str]:
    words = []
    for record in records:
        text = f"{record['measure']} {_CLOCKS[record['clock']]}, {record['matrix_key']} {record['matrix_value']}: "
        text += f"{record['ratio']:.2f} times"
        if record["ratio_low"] is not None and record["ratio_high"] is not None:
            text += f" ({record['ratio_low']:.2f} to {record['ratio_high']:.2f})"
        words.append(f"{text}.")
    return [*words, "Intervals are from both medians' 95% intervals, so that they rather are too wide."]
