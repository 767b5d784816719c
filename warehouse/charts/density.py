"""Resume latency and node memory, batch by batch, as a host fills."""

from __future__ import annotations

from typing import Any

import altair as alt

from warehouse.charts.common import (
    HEIGHT,
    NOTE,
    Chart,
    Subject,
    line,
    names_of,
    published_note,
    published_panel,
    series_lines,
)
from warehouse.formatting import show_seconds, show_size
from warehouse.published import Published
from warehouse.sql import query
from warehouse.store import Warehouse

_PUBLISHED = Published("density", r"cpu=50m memory=64Mi running=(?P<x>\d+)", "resume_p50")
_PUBLISHED_SHAPE = (50, 64 * 2**20)


def density(warehouse: Warehouse, subject: Subject) -> Chart | None:
    """Where a load added sandboxes batch by batch."""
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
    shape = {(record["cpu_millicores"], record["memory_bytes"]) for record in records}
    published = _PUBLISHED.points(warehouse) if _PUBLISHED_SHAPE in shape else []
    if published:
        points = [{"x": int(x), "seconds": value, "series": "50m CPU, 64 MiB"} for x, value in published]
        panels.append(published_panel(points, "sandboxes running", "published resume p50 (s)"))
    more = [published_note(warehouse)] if published else []
    chart = alt.vconcat(*filter(None, panels), title=subject.title(title, *more))
    return Chart("density", title, " ".join(_density_words(records)), chart)


def _density_panel(records: list[dict[str, Any]], field: str, title: str, scale: alt.Scale, *, labelled: bool) -> Any:
    known = [record for record in records if record[field] is not None]
    if not known:
        return None
    x = alt.X("running:Q", title="sandboxes running", scale=alt.Scale(zero=True, nice=True))
    y = alt.Y(f"{field}:Q", title=title, scale=scale)
    return alt.layer(
        series_lines(known, x, y, "size", "sandbox size", names_of(records, "size")), *_refusals(records, labelled)
    )


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
        base = line([{"running": running, "text": text}]).encode(x="running:Q")
        layers.append(base.mark_rule(strokeDash=[2, 3], size=1.5, color=NOTE))
        if labelled:
            left = running > widest / 2
            side: dict[str, Any] = {"align": "right", "dx": -5} if left else {"align": "left", "dx": 5}
            note = base.mark_text(fontSize=11, color=NOTE, baseline="bottom", **side)
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
