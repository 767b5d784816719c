"""CPU of the platform's components and of the generator, second by second, under the steps that they served."""

from __future__ import annotations

from typing import Any

import altair as alt

from warehouse.charts.common import MOST_POINTS, NOTE, WIDTH, Chart, Subject, line, names_of
from warehouse.sql import query
from warehouse.store import Warehouse

_MOST_LABELS = 8
_CHARACTER = 6  # about as many pixels as one takes


def components(warehouse: Warehouse, subject: Subject) -> Chart | None:
    """Where components were sampled at least five times."""
    records = warehouse.records(query("components"), {"run_id": subject.run_id, "most": MOST_POINTS})
    if sum(record["scope"] == "component" for record in records) < 5:
        return None
    for record in records:
        record["name"] = (
            f"{record['component']} (the generator)" if record["scope"] == "generator" else record["component"]
        )
    steps = warehouse.records(query("load_steps"), {"run_id": subject.run_id})
    title = "CPU of components, second by second"
    names = names_of(records, "name")
    scale = alt.Scale(domain=names)
    x = alt.X("at_s:Q", title="seconds since the run began", scale=alt.Scale(nice=False))
    base = line([{key: record[key] for key in ("at_s", "name", "cpu_millicores")} for record in records])
    lines = base.mark_line(point=alt.OverlayMarkDef(size=20)).encode(
        x=x,
        y=alt.Y("cpu_millicores:Q", title="CPU in use (millicores)", scale=alt.Scale(zero=True, nice=True)),
        color=alt.Color("name:N", title="component", scale=scale, sort=None),
        strokeDash=alt.StrokeDash("name:N", title="component", scale=scale, sort=None),
    )
    chart = alt.layer(*_shades(steps), lines)
    peaks = {name: max(record["cpu_millicores"] for record in records if record["name"] == name) for name in names}
    words = " ".join(f"{name}: at most {peak:.0f} millicores." for name, peak in peaks.items())
    return Chart("components", title, words, chart.properties(title=subject.title(title)))


def _shades(steps: list[dict[str, Any]]) -> list[alt.Chart]:
    """Which operations were performed when: shades, with their names where there is room for them."""
    if not steps:
        return []
    spans = [
        {"from": step["started_s"], "to": step["ended_s"], "text": step["operations"], "row": number % 2}
        for number, step in enumerate(steps)
    ]
    base = line(spans)
    shades = base.mark_rect(opacity=0.5, color="#eef1f5", stroke="#cfd6df").encode(
        x=alt.X("from:Q", title="seconds since the run began"), x2="to:Q"
    )
    if len(steps) > _MOST_LABELS:
        return [shades]
    # Names in two rows, so that those of short neighbours do not lie over each other; and only where they fit.
    whole = steps[-1]["ended_s"] - steps[0]["started_s"]
    fitting = [span for span in spans if WIDTH * (span["to"] - span["from"]) / whole >= _CHARACTER * len(span["text"])]
    names = [
        alt.Chart(alt.InlineData(values=[span for span in fitting if span["row"] == row]))
        .mark_text(align="left", baseline="top", dx=3, fontSize=11, color=NOTE)
        .encode(x="from:Q", y=alt.value(4 + 14 * row), text="text:N")
        for row in {span["row"] for span in fitting}
    ]
    return [shades, *names]
