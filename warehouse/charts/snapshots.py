"""What happened when to each snapshot of a storm, with the bytes that left below it."""

from __future__ import annotations

from typing import Any

import altair as alt

from warehouse.charts.common import (
    MOST_POINTS,
    NOTE,
    PUBLISHED_COLOUR,
    WIDTH,
    Chart,
    Subject,
    line,
    published_name,
    published_note,
)
from warehouse.formatting import show_seconds
from warehouse.published import Published
from warehouse.sql import query
from warehouse.store import Warehouse

_WAITING, _UPLOADING, _VERIFYING = "suspended, nothing sent", "uploading", "written, not yet verified"
_DURABLE, _OTHER = "durable", "not durable at the end"
_STAGES = [_WAITING, _UPLOADING, _VERIFYING, _DURABLE, _OTHER]
_COLOURS = ["#9aa5b1", "#4c78a8", "#b279a2", "#1a7f37", "#b42318"]
_ALL_DURABLE = Published("snapshot-storm", r"(?P<x>n=20 dirty=100MB)", "all_durable_after")
_DELAY = Published("snapshot-storm", r"(?P<x>n=20 dirty=100MB)", "upload_delay")
_DIRTY = 100 * 10**6


def snapshots(warehouse: Warehouse, subject: Subject) -> Chart | None:
    """One line a snapshot of the first trial that watched any."""
    records = warehouse.records(query("snapshot_timeline"), {"run_id": subject.run_id})
    if not records:
        return None
    ends = [record[name] for record in records for name in ("durable_after_s", "step_ended_after_s") if record[name]]
    last = max(record["durable_after_s"] or record["manifest_after_s"] or 0 for record in records)
    if any(record["state"] != "durable" for record in records) or last <= 0:
        last = max(ends, default=1.0)
    published = _published(warehouse, records, last)
    domain = [0, max([last, 0.001, *published]) * 1.02]
    title = "From suspended to durable, snapshot by snapshot"
    sent = warehouse.records(
        query("uploaded"),
        {
            "run_id": subject.run_id, "trial": records[0]["trial"], "step": records[0]["step"],
            "origin_s": records[0]["first_suspended_s"], "most": MOST_POINTS,
        },
    )  # fmt: skip
    panels = [_timeline(records, domain, published, published_name(warehouse))]
    if any(point["mib"] for point in sent):
        panels.append(_bytes([point for point in sent if point["after_s"] <= domain[1]], domain))
    if not published:
        panels.append(_published_storm(warehouse))
    more = [published_note(warehouse)]
    chart = alt.vconcat(*panels, title=subject.title(title, *more))
    return Chart("snapshots", title, " ".join(_words(records)), chart)


def _published(warehouse: Warehouse, records: list[dict[str, Any]], last: float) -> list[float]:
    """When all were durable in the study, beside as many snapshots of as many bytes, delayed alike."""
    alike = len(records) == 20 and all((record["size_bytes"] or 0) >= _DIRTY for record in records)
    return [value for _, value in _ALL_DURABLE.points(warehouse)] if alike and last > 100 else []


def _published_storm(warehouse: Warehouse) -> Any:
    """The study's own storm on an axis of its own: another number of snapshots, of other sizes, delayed otherwise."""
    [(_, durable)], [(_, delay)] = _ALL_DURABLE.points(warehouse), _DELAY.points(warehouse)
    spans = [{"from": 0, "to": delay, "width": 2}, {"from": delay, "to": durable, "width": 7}]
    x = alt.X("from:Q", title="published storm (seconds)", scale=alt.Scale(domain=[0, durable * 1.02], nice=False))
    base = line(spans, 40)
    bars = base.mark_rule(color=PUBLISHED_COLOUR).encode(
        x=x, x2="to:Q", y=alt.value(28), strokeWidth=alt.StrokeWidth("width:Q", scale=None, legend=None)
    )
    text = f"20 snapshots of 100 MB: upload delay {delay:g} s, all durable after {durable:g} s"
    words = line([{"text": text}], 40).mark_text(align="left", fontSize=11, color=PUBLISHED_COLOUR)
    return alt.layer(bars, words.encode(x=alt.value(4), y=alt.value(12), text="text:N"))


def _timeline(records: list[dict[str, Any]], domain: list[float], published: list[float], name: str) -> Any:
    spans, ends = [], []
    for record in records:
        marks = [record["suspended_after_s"], record["first_byte_after_s"], record["manifest_after_s"],
                 record["durable_after_s"]]  # fmt: skip
        final = record["durable_after_s"] if record["state"] == "durable" else record["step_ended_after_s"]
        for stage, start, end in zip(_STAGES, marks, marks[1:], strict=False):
            stop = final if end is None else end
            if start is not None and stop is not None:
                spans.append({"place": record["place"], "from": start, "to": stop, "stage": stage})
            if end is None:
                break
        if final is not None:
            stage = _DURABLE if record["state"] == "durable" else _OTHER
            ends.append({"place": record["place"], "from": final, "stage": stage})
    height = max(120, min(420, 13 * len(records)))
    x = alt.X(
        "from:Q", title="seconds since the first suspend had returned", scale=alt.Scale(domain=domain, nice=False)
    )
    y = alt.Y("place:O", title="snapshot (by first byte)",
              axis=alt.Axis(values=[1, *range(5, len(records) + 1, 5)], labelAngle=0))  # fmt: skip
    present = [stage for stage in _STAGES if any(mark["stage"] == stage for mark in [*spans, *ends])]
    scale = alt.Scale(domain=present, range=[_COLOURS[_STAGES.index(stage)] for stage in present])
    colour = alt.Color("stage:N", title=None, scale=scale, legend=alt.Legend(orient="bottom"))
    shape = alt.Shape("stage:N", legend=None, scale=alt.Scale(domain=[_DURABLE, _OTHER], range=["circle", "cross"]))
    layers = []
    for stage, thickness in ((_WAITING, 2), (_UPLOADING, 7), (_VERIFYING, 4)):
        mine = [span for span in spans if span["stage"] == stage]
        if mine:
            layers.append(line(mine, height).mark_rule(strokeWidth=thickness).encode(x=x, x2="to:Q", y=y, color=colour))
    if ends:
        layers.append(
            line(ends, height).mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour, shape=shape)
        )
    for value in published:
        rule = line([{"from": value, "text": f"{name}: all durable after {value:g} s"}], height)
        layers.append(rule.mark_rule(color=PUBLISHED_COLOUR, strokeDash=[4, 3], strokeWidth=2).encode(x=x))
        side: dict[str, Any] = {"align": "right", "dx": -6} if value > domain[1] / 2 else {"align": "left", "dx": 6}
        text = rule.mark_text(color=PUBLISHED_COLOUR, fontSize=11, baseline="bottom", **side)
        layers.append(text.encode(x=x, y=alt.value(-4), text="text:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=height)


def _bytes(points: list[dict[str, Any]], domain: list[float]) -> Any:
    return (
        line(points, 120)
        .mark_line(color=NOTE)
        .encode(
            x=alt.X("after_s:Q", title="seconds since the first suspend had returned",
                    scale=alt.Scale(domain=domain, nice=False, clamp=True)),
            y=alt.Y("mib:Q", title="sent to the store (MiB)", scale=alt.Scale(zero=True, nice=True)),
        )
    )  # fmt: skip


def _words(records: list[dict[str, Any]]) -> list[str]:
    durable = sorted(record["durable_after_s"] for record in records if record["durable_after_s"] is not None)
    words = [f"{len(durable)} of {len(records)} snapshots became durable."]
    if durable:
        words.append(f"The first after {show_seconds(durable[0])}, the last after {show_seconds(durable[-1])}.")
    return words
