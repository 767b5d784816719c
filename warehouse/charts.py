"""Charts of a run: which ones depends on what its rows hold, not on the scenario's name.

Every chart says what was tested on what, has units on its axes, and pairs colour with shape or
dash. Aggregation is in SQL; Altair gets a few hundred rows at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair as alt

from warehouse.formatting import show_bytes, show_cpu, show_seconds
from warehouse.store import Warehouse
from warehouse.summary import matrix_text

WIDTH, HEIGHT = 640, 260
_QUANTILES = 100


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
    return alt.Chart(alt.Data(values=data), width=WIDTH, height=HEIGHT)


def _density(warehouse: Warehouse, subject: Subject) -> Chart | None:
    records = warehouse.records("SELECT * FROM density WHERE run_id = ? ORDER BY trial, batch", [subject.run_id])
    if not records:
        return None
    for record in records:
        record["size"] = f"{show_cpu(record['cpu_millicores'])} CPU, {show_bytes(record['memory_bytes'])}"
        memory = record["node_memory_bytes"]
        record["memory_gib"] = None if memory is None else memory / 2**30
    resumed = [record for record in records if record["resume_p50_s"] is not None]
    refusals = _refusals(records)
    x = alt.X(
        "running:Q", title="sandboxes running", scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickMinStep=1)
    )
    encoding = {
        "color": alt.Color("size:N", title="sandbox size"), "shape": alt.Shape("size:N", title="sandbox size"),
        "strokeDash": alt.StrokeDash("size:N", title="sandbox size"),
    }  # fmt: skip
    latency = _line(resumed).mark_line(point={"size": 60}).encode(
        x=x, y=alt.Y("resume_p50_s:Q", title="resume p50 of the batch (s)", scale=alt.Scale(zero=True)), **encoding
    )  # fmt: skip
    sampled = [record for record in records if record["memory_gib"] is not None]
    memory_chart = _line(sampled).mark_line(point={"size": 60}).encode(
        x=x, y=alt.Y("memory_gib:Q", title="node memory in use (GiB)", scale=alt.Scale(zero=False)), **encoding
    )  # fmt: skip
    panels = [_with_refusals(latency, refusals)] + ([_with_refusals(memory_chart, refusals)] if sampled else [])
    title = "Resume latency and node memory as the host fills"
    return Chart("density", title, " ".join(_density_words(records)), alt.vconcat(*panels, title=subject.title(title)))


def _refusals(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    last: dict[int, dict[str, Any]] = {}
    for record in records:
        if record["refused"]:
            full = f": {record['resource']} bookings full" if record["resource"] else ""
            last[record["trial"]] = {
                "running": record["running"], "size": record["size"], "text": f"refused at {record['running']}{full}",
            }  # fmt: skip
    return list(last.values())


def _with_refusals(chart: alt.Chart, refusals: list[dict[str, Any]]) -> Any:
    if not refusals:
        return chart
    base = _line(refusals).encode(x="running:Q", color="size:N")
    rule = base.mark_rule(strokeDash=[2, 3], size=1.5)
    # Upright labels along their rules: two rules that lie close together would hide each other's.
    text = base.mark_text(angle=270, align="right", baseline="bottom", dx=-4, dy=-3, fontSize=11).encode(
        text="text:N", y=alt.value(0)
    )
    return chart + rule + text


def _density_words(records: list[dict[str, Any]]) -> list[str]:
    words = []
    for trial in dict.fromkeys(record["trial"] for record in records):
        mine = [record for record in records if record["trial"] == trial]
        known = [record for record in mine if record["resume_p50_s"] is not None]
        text = f"{mine[0]['size']}: up to {mine[-1]['running']} running"
        if known:
            text += (
                f"; resume p50 from {show_seconds(known[0]['resume_p50_s'])} at {known[0]['running']} "
                f"to {show_seconds(known[-1]['resume_p50_s'])} at {known[-1]['running']}"
            )
        if mine[-1]["refused"]:
            text += f"; then {mine[-1]['refused']} refused"
        words.append(f"{text}.")
    return words


def _latency(warehouse: Warehouse, subject: Subject) -> Chart | None:
    records = warehouse.records(
        "SELECT * FROM concurrency WHERE run_id = ? AND operation <> 'create' ORDER BY in_flight_limit",
        [subject.run_id],
    )
    if len({record["in_flight_limit"] for record in records}) < 2:
        return None
    points = []
    for record in records:
        series = record["operation"] if record["how"] is None else f"{record['operation']}, {record['how']}"
        for figure in ("p50", "p95"):
            if record[f"{figure}_s"] is not None:
                points.append(
                    {
                        "in_flight": record["in_flight_limit"], "series": series, "figure": figure,
                        "seconds": record[f"{figure}_s"], "n": record["n"],
                    }
                )  # fmt: skip
    if not points:
        return None
    title = "Latency by calls in flight"
    ticks = sorted({record["in_flight_limit"] for record in records})
    chart = _line(points).mark_line(point={"size": 60}).encode(
        x=alt.X("in_flight:Q", title="calls in flight", scale=alt.Scale(zero=True), axis=alt.Axis(values=ticks)),
        y=alt.Y("seconds:Q", title="response time (s)", scale=alt.Scale(zero=True)),
        color=alt.Color("series:N", title="operation"), shape=alt.Shape("series:N", title="operation"),
        strokeDash=alt.StrokeDash("figure:N", title="figure"),
    )  # fmt: skip
    words = [
        f"{point['series']} {point['figure']} at {point['in_flight']} in flight: {show_seconds(point['seconds'])}."
        for point in points
    ]
    withheld = [record for record in records if record["withheld_reason"]]
    if withheld:
        words.append("Percentiles of too few attempts are left out (p50 needs 5, p95 needs 20).")
    return Chart("latency", title, " ".join(words), chart.properties(title=subject.title(title)))


_ECDF = """
    WITH series AS (
        SELECT
            CASE WHEN how IS NULL THEN operation ELSE operation || ', ' || how END AS series,
            count(*) AS n, list_sort(list(rank_s)) AS ordered
        FROM latencies WHERE run_id = $run_id AND operation <> 'create' GROUP BY 1 HAVING count(*) >= 5
    ),
    shares AS (SELECT unnest(range(1, $steps + 1)) / $steps::DOUBLE AS share)
    SELECT series, n, share, ordered[greatest(1, ceil(share * n)::BIGINT)] AS seconds
    FROM series, shares ORDER BY series, share
"""


def _ecdf(warehouse: Warehouse, subject: Subject) -> Chart | None:
    records = warehouse.records(_ECDF, {"run_id": subject.run_id, "steps": _QUANTILES})
    points = [record for record in records if record["seconds"] not in (float("inf"), None) and record["seconds"] > 0]
    if not points:
        return None
    title = "Distribution of response times, all trials"
    chart = _line(points).mark_line(interpolate="step-after").encode(
        x=alt.X("seconds:Q", title="response time (s), logarithmic", scale=alt.Scale(type="log", nice=True),
                axis=alt.Axis(format="~g", tickCount=6)),
        y=alt.Y("share:Q", title="share of attempts", axis=alt.Axis(format="%")),
        color=alt.Color("series:N", title="operation"), strokeDash=alt.StrokeDash("series:N", title="operation"),
    )  # fmt: skip
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
    records = warehouse.records(
        """SELECT n.at_s, n.cpu_cores, n.memory_bytes / 1073741824.0 AS memory_gib, t.matrix
           FROM node_use AS n JOIN trials AS t ON t.run_id = n.run_id AND t.trial = n.trial
           WHERE n.run_id = ? ORDER BY n.at_s""",
        [subject.run_id],
    )
    if len(records) < 5:
        return None
    every = max(1, len(records) // 600)
    points = [{**record, "trial": matrix_text(record["matrix"])} for record in records[::every]]
    title = "The node, second by second"
    x = alt.X("at_s:Q", title="seconds since the run began")
    color = alt.Color("trial:N", title="trial", sort=None)
    shape = alt.Shape("trial:N", title="trial", sort=None)
    cpu = _line([point for point in points if point["cpu_cores"] is not None]).mark_point(size=22, filled=True).encode(
        x=x, y=alt.Y("cpu_cores:Q", title="CPU in use (cores)"), color=color, shape=shape
    )  # fmt: skip
    memory = _line([point for point in points if point["memory_gib"] is not None]).mark_point(size=22, filled=True).encode(
        x=x, y=alt.Y("memory_gib:Q", title="memory in use (GiB)", scale=alt.Scale(zero=False)), color=color, shape=shape
    )  # fmt: skip
    chart = alt.vconcat(cpu.properties(height=150), memory.properties(height=150), title=subject.title(title))
    highest = max((point["cpu_cores"] or 0.0 for point in points), default=0.0)
    most = max((point["memory_gib"] or 0.0 for point in points), default=0.0)
    words = (
        f"CPU in use reached {highest:.2f} cores, memory in use {most:.2f} GiB over {points[-1]['at_s']:.0f} seconds."
    )
    return Chart("node", title, words, chart)
