"""Charts of a run: which ones depends on what its rows hold, not on the scenario's name.

Every chart says what was tested on what, has units on its axes, and pairs colour with shape or
dash. Aggregation is in SQL; Altair gets a few hundred rows at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair as alt

from warehouse.formatting import show_seconds, show_size
from warehouse.sql import query
from warehouse.store import Warehouse
from warehouse.summary import matrix_text

WIDTH, HEIGHT = 640, 260
_QUANTILES = 100
_MOST_POINTS = 600
_NOTE = "#444"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, with what it shows in words for those who cannot see it."""

    name: str
    title: str
    description: str
    chart: Any


@dataclass(frozen=True, slots=True)
class Subject:
    """What a run tested, for titles."""

    run_id: str
    scenario: str
    target: str
    simulated: bool

    def title(self, what: str) -> alt.TitleParams:
        """A title with what was tested on what below it."""
        note = " · SIMULATED figures" if self.simulated else ""
        return alt.TitleParams(
            what, subtitle=f"{self.scenario} on {self.target}{note} · run {self.run_id}", anchor="start"
        )


def charts_of(warehouse: Warehouse, run_id: str) -> list[Chart]:
    """Every chart for which a run has rows, the most telling first."""
    scenario, target, simulated = warehouse.one(
        "SELECT scenario, target, simulated FROM runs WHERE run_id = ?", [run_id]
    )
    subject = Subject(run_id, scenario, target, simulated)
    makers: list[Callable[[Warehouse, Subject], Chart | None]] = [_density, _latency, _ecdf, _node]
    return [chart for make in makers if (chart := make(warehouse, subject)) is not None]


def _line(data: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=data), width=WIDTH, height=HEIGHT)


def _series_lines(points: list[dict[str, Any]], x: alt.X, y: alt.Y, field: str, title: str, names: list[str]) -> Any:
    """Lines with points, in colours and shapes of one field, which has the same `names` in every panel.

    Only scales with the same domain share one legend.
    """
    base, scale = _line(points).encode(x=x, y=y), alt.Scale(domain=names)
    lines = base.mark_line().encode(color=alt.Color(f"{field}:N", title=title, scale=scale))
    marks = base.mark_point(size=70, filled=True, opacity=1).encode(
        color=alt.Color(f"{field}:N", title=title, scale=scale), shape=alt.Shape(f"{field}:N", title=title, scale=scale)
    )
    return alt.layer(lines, marks)


def _density(warehouse: Warehouse, subject: Subject) -> Chart | None:
    records = warehouse.records(query("density"), {"run_id": subject.run_id})
    if not records:
        return None
    for record in records:
        record["size"] = show_size(record)
        if record["repetitions"] > 1:
            record["size"] += f", repetition {record['repetition']}"
        memory = record["node_memory_bytes"]
        record["memory_gib"] = None if memory is None else memory / 2**30
    title = "Resume latency and node memory as the host fills"
    panels = [
        _density_panel(records, "resume_p50_s", "resume p50 of the batch (s)", alt.Scale(zero=True), labelled=True),
        _density_panel(
            records, "memory_gib", "node memory in use (GiB)", alt.Scale(zero=False, padding=12), labelled=False
        ),
    ]
    chart = alt.vconcat(*filter(None, panels), title=subject.title(title))
    return Chart("density", title, " ".join(_density_words(records)), chart)


def _density_panel(records: list[dict[str, Any]], field: str, title: str, scale: alt.Scale, *, labelled: bool) -> Any:
    known = [record for record in records if record[field] is not None]
    if not known:
        return None
    x = alt.X("running:Q", title="sandboxes running", scale=alt.Scale(zero=True, nice=True))
    y = alt.Y(f"{field}:Q", title=title, scale=scale)
    return alt.layer(
        _series_lines(known, x, y, "size", "sandbox size", _names(records, "size")), *_refusals(records, labelled)
    )


def _names(records: list[dict[str, Any]], field: str) -> list[str]:
    return list(dict.fromkeys(record[field] for record in records))


def _refusals(records: list[dict[str, Any]], labelled: bool) -> list[alt.Chart]:
    """A rule where trials were refused more, with which booking was full; labels stand one above the other."""
    widest = max(record["running"] for record in records)
    refused: dict[str, int] = {}
    for record in records:
        if record["refused"]:
            full = f": {record['resource']} bookings full" if record["resource"] else ""
            refused[f"{show_size(record)}: more than {record['running']} refused{full}"] = record["running"]
    layers = []
    for row, (text, running) in enumerate(refused.items()):
        base = _line([{"running": running, "text": text}]).encode(x="running:Q")
        layers.append(base.mark_rule(strokeDash=[2, 3], size=1.5, color=_NOTE))
        if labelled:
            left = running > widest / 2
            side: dict[str, Any] = {"align": "right", "dx": -5} if left else {"align": "left", "dx": 5}
            note = base.mark_text(fontSize=11, color=_NOTE, baseline="bottom", **side)
            layers.append(note.encode(text="text:N", y=alt.value(HEIGHT - 6 - 16 * row)))
    return layers


def _density_words(records: list[dict[str, Any]]) -> list[str]:
    words = []
    for trial in dict.fromkeys(record["trial"] for record in records):
        mine = [record for record in records if record["trial"] == trial]
        known = [record for record in mine if record["resume_p50_s"] is not None]
        text = f"{mine[0]['size']}: up to {mine[-1]['running']} running"
        if known:
            text += f"; resume p50 {show_seconds(known[0]['resume_p50_s'])} at {known[0]['running']}"
        if len(known) > 1:
            text += f" and {show_seconds(known[-1]['resume_p50_s'])} at {known[-1]['running']}"
        if mine[-1]["refused"]:
            text += f"; then {mine[-1]['refused']} refused"
        words.append(f"{text}.")
    return words


def _latency(warehouse: Warehouse, subject: Subject) -> Chart | None:
    records = warehouse.records(query("concurrency"), {"run_id": subject.run_id})
    singles = warehouse.records(query("attempts_by_concurrency"), {"run_id": subject.run_id, "most": _MOST_POINTS})
    sizes = {show_size(record) for record in records}
    for record in [*records, *singles]:
        record["series"] = _series(record) + (f" ({show_size(record)})" if len(sizes) > 1 else "")
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


def _series(record: dict[str, Any]) -> str:
    return record["operation"] if record["how"] is None else f"{record['operation']}, {record['how']}"


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
    names = _names(records, "series")
    dots = [
        {"in_flight": single["in_flight_limit"], "series": single["series"], "seconds": single["response_s"]}
        for single in singles
    ]
    behind = (
        _line(dots)
        .mark_circle(size=14, opacity=0.35)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "series:N", title="operation", scale=alt.Scale(domain=names), legend=alt.Legend(symbolOpacity=1)
            ),
        )
    )
    lines = _series_lines(points, x, y, "series", "operation", names)
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


def _ecdf(warehouse: Warehouse, subject: Subject) -> Chart | None:
    records = warehouse.records(query("ecdf"), {"run_id": subject.run_id, "steps": _QUANTILES})
    sizes = {show_size(record) for record in records}
    points = [
        {
            "series": _series(record) + (f" ({show_size(record)})" if len(sizes) > 1 else ""),
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
        _line(points)
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


def _node(warehouse: Warehouse, subject: Subject) -> Chart | None:
    records = warehouse.records(query("node"), {"run_id": subject.run_id, "most": _MOST_POINTS})
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
        _line(known)
        .mark_point(size=24, filled=True, opacity=0.9)
        .encode(
            x=alt.X("at_s:Q", title="seconds since the run began"),
            y=alt.Y(f"{field}:Q", title=title, scale=scale),
            color=alt.Color("trial:N", title="trial", sort=None),
            shape=alt.Shape("trial:N", title="trial", sort=None),
        )
        .properties(height=150)
    )
