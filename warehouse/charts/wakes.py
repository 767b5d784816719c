"""How long requests waited for suspended sandboxes: single wakes, and the median of each condition."""

from __future__ import annotations

import json
from typing import Any

import altair as alt

from warehouse.charts.common import (
    MOST_POINTS,
    NOTE,
    PUBLISHED_COLOUR,
    Chart,
    Subject,
    line,
    names_of,
    published_name,
    published_note,
)
from warehouse.formatting import matrix_text, show_cpu, show_seconds
from warehouse.published import Published
from warehouse.sql import query
from warehouse.store import Warehouse

_BY_CPU = Published("wake", r"cpu=(?P<x>\S+) memory=256Mi n=5", "wake_p50")
_BY_BURST = Published("wake", r"cpu=250m burst=(?P<x>\d+)", "wake_p50")
_MIB = 2**20


def wakes(warehouse: Warehouse, subject: Subject) -> Chart | None:
    """By CPU limit where that differs, else by requests at once, else by trial."""
    records = warehouse.records(query("wake_latency"), {"run_id": subject.run_id})
    singles = warehouse.records(query("wakes"), {"run_id": subject.run_id, "most": MOST_POINTS})
    if not singles:
        return None
    axis, place = _axis(records)
    for record in [*records, *singles]:
        record["x"], record["series"] = place(record), record["how"] or "ran already"
    refused = _refused(records)
    title = "How long a request waited for its sandbox"
    published = _published(warehouse, records, axis)
    more = [published_note(warehouse)] if published else []
    chart = _panel(records, singles, axis, published, published_name(warehouse), refused)
    return Chart("wakes", title, " ".join(_words(records)), chart.properties(title=subject.title(title, *more)))


def _axis(records: list[dict[str, Any]]) -> tuple[str, Any]:
    if len({record["cpu_millicores"] for record in records}) > 1:
        return "CPU limit of the sandbox (cores, m: thousandths)", lambda record: show_cpu(record["cpu_millicores"])
    if len({record["in_flight_limit"] for record in records}) > 1:
        return "requests at once (number)", lambda record: str(record["in_flight_limit"])
    return "trial (matrix values)", lambda record: matrix_text(record["matrix"])


def _published(warehouse: Warehouse, records: list[dict[str, Any]], axis: str) -> list[dict[str, Any]]:
    if axis.startswith("CPU") and all(record["memory_bytes"] == 256 * _MIB for record in records):
        points = _BY_CPU.points(warehouse)
    elif axis.startswith("requests") and all(record["cpu_millicores"] == 250 for record in records):
        points = _BY_BURST.points(warehouse)
    else:
        return []
    places = {record["x"] for record in records}
    return [{"x": x, "seconds": value} for x, value in points if x in places]


def _refused(records: list[dict[str, Any]]) -> dict[str, str]:
    """What stands below places on the axis at which requests were refused."""
    texts = {}
    for place in names_of(records, "x"):
        mine = [record for record in records if record["x"] == place]
        refused, attempts = (sum(record[name] for record in mine) for name in ("refused", "attempts"))
        if refused:
            texts[place] = f"{place} ({refused} of {attempts} refused)"
    return texts


def _panel(
    records: list[dict[str, Any]],
    singles: list[dict[str, Any]],
    axis: str,
    published: list[dict[str, Any]],
    name: str,
    refused: dict[str, str],
) -> Any:
    places = names_of(records, "x")
    x = alt.X("x:N", title=axis, sort=places, axis=alt.Axis(labelAngle=0, labelExpr=_labels(refused)))
    values = [*(single["response_s"] for single in singles), *(point["seconds"] for point in published)]
    positive = [value for value in values if value > 0]
    wide = len(positive) == len(values) and max(positive) > 20 * min(positive)
    scale = alt.Scale(type="log", nice=False, padding=12) if wide else alt.Scale(zero=True, nice=True)
    y = alt.Y(
        "seconds:Q",
        title="response time (s), logarithmic" if wide else "response time (s)",
        scale=scale,
        axis=alt.Axis(format="~g", tickCount=6),
    )
    series = [f"wake, {name}" for name in names_of(singles, "series")]
    lost = "wake that lost its state"
    domain = [*series, *([lost] if any(single["state"] == "lost" for single in singles) else [])]
    domain += [f"{name}: p50"] if published else []
    colours = ["#4c78a8", "#e45756", "#72b7b2"][: len(series)]
    shapes = ["circle", "square", "triangle-up"][: len(series)]
    if lost in domain:
        colours, shapes = [*colours, "#b42318"], [*shapes, "cross"]
    if published:
        colours, shapes = [*colours, PUBLISHED_COLOUR], [*shapes, "diamond"]
    legend = alt.Legend(orient="bottom", labelLimit=420, columns=2)
    colour = alt.Color("series:N", title=None, legend=legend, scale=alt.Scale(domain=domain, range=colours))
    shape = alt.Shape("series:N", title=None, legend=legend, scale=alt.Scale(domain=domain, range=shapes))
    dots = [
        {
            "x": single["x"],
            "seconds": single["response_s"],
            "series": lost if single["state"] == "lost" else f"wake, {single['series']}",
            "offset": number % 9 - min(8, len(mine) - 1) / 2,
        }
        for mine in ([single for single in singles if single["x"] == place] for place in places)
        for number, single in enumerate(mine)
    ]
    offset = alt.XOffset("offset:Q", scale=alt.Scale(domain=[-9, 9]))
    layers = [
        line(dots)
        .mark_point(filled=True, size=36, opacity=0.6)
        .encode(x=x, y=y, color=colour, shape=shape, xOffset=offset)
    ]
    medians = [
        {"x": record["x"], "seconds": record["p50_s"], "series": f"wake, {record['series']}",
         "text": f"p50 {show_seconds(record['p50_s'])}"}
        for record in records if record["p50_s"] is not None and not record["p50_censored"]
    ]  # fmt: skip
    if medians:
        base = line(medians).encode(x=x, y=y)
        layers.append(base.mark_tick(thickness=3, width=70).encode(color=colour))
        layers.append(base.mark_text(dx=40, align="left", fontSize=11, color=NOTE).encode(text="text:N"))
    if published:
        marks = [{**point, "series": f"{name}: p50"} for point in published]
        marked = line(marks).mark_point(filled=True, size=110, opacity=1, xOffset=-50)
        layers.append(marked.encode(x=x, y=y, color=colour, shape=shape))
    return alt.layer(*layers)


def _labels(refused: dict[str, str]) -> str:
    """A Vega expression that writes each place of an axis with what is said of it."""
    return f"({json.dumps(refused)})[datum.value] || datum.value"


def _words(records: list[dict[str, Any]]) -> list[str]:
    words = []
    for record in records:
        text = f"{record['x']}, {record['series']}: n = {record['n']}, "
        if not record["n"]:
            text = f"{record['x']}: none worked"
        elif record["p50_s"] is None:
            text += f"p50 withheld ({record['withheld_reason']})"
        else:
            text += f"p50 {show_seconds(record['p50_s'], censored=record['p50_censored'])}"
        text += "".join(f", {record[what]} {what}" for what in ("refused", "failed", "lost") if record[what])
        words.append(f"{text}.")
    return words
