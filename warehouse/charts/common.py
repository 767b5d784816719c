"""What every chart has in common: titles that say what was tested on what, sizes, colours, series.

Colour never stands alone: it is paired with shape or dash. Aggregation is in SQL; Altair gets a
few hundred rows at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt

from warehouse.published import title_of
from warehouse.store import Warehouse

WIDTH, HEIGHT = 640, 260
MOST_POINTS = 600
NOTE = "#444"
PUBLISHED_COLOUR = "#8a5a00"
"""Of published figures, which are no series of this run."""


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

    def title(self, what: str, *more: str) -> alt.TitleParams:
        """A title with what was tested on what below it, and further lines."""
        note = " · SIMULATED figures" if self.simulated else ""
        lines = [f"{self.scenario} on {self.target}{note} · run {self.run_id}", *more]
        return alt.TitleParams(what, subtitle=lines if more else lines[0], anchor="start")


def line(data: list[dict[str, Any]], height: int = HEIGHT) -> alt.Chart:
    """A chart over rows that are written into it."""
    return alt.Chart(alt.InlineData(values=data), width=WIDTH, height=height)


def series_lines(
    points: list[dict[str, Any]], x: alt.X, y: alt.Y, field: str, title: str, names: list[str], height: int = HEIGHT
) -> Any:
    """Lines with points, in colours and shapes of one field, which has the same `names` in every panel.

    Only scales with the same domain share one legend.
    """
    base, scale = line(points, height).encode(x=x, y=y), alt.Scale(domain=names)
    lines = base.mark_line().encode(color=alt.Color(f"{field}:N", title=title, scale=scale))
    marks = base.mark_point(size=70, filled=True, opacity=1).encode(
        color=alt.Color(f"{field}:N", title=title, scale=scale), shape=alt.Shape(f"{field}:N", title=title, scale=scale)
    )
    return alt.layer(lines, marks)


def names_of(records: list[dict[str, Any]], field: str) -> list[str]:
    """The values of a field, each once, in order."""
    return list(dict.fromkeys(record[field] for record in records))


def operation_text(record: dict[str, Any]) -> str:
    """An operation, with its program or the way of starting."""
    name = f"{record['operation']} {record['program']}" if record["program"] else record["operation"]
    return name if record["how"] is None else f"{name}, {record['how']}"


def published_name(warehouse: Warehouse) -> str:
    """What the series of published figures is called."""
    return f"published: {title_of(warehouse)}"


def published_note(warehouse: Warehouse) -> str:
    """What stands below the title where there are published figures."""
    return f"{published_name(warehouse)} – another machine, compare the shape"


def published_panel(points: list[dict[str, Any]], x: str, y: str) -> Any:
    """Published figures in a panel of their own, with axes of their own, where another machine's would flatten ours.

    Each series has its name at its end, so that it needs no legend beside that of the run's own series.
    """
    layers = []
    for number, name in enumerate(names_of(points, "series")):
        mine = sorted((point for point in points if point["series"] == name), key=lambda point: point["x"])
        base = line(mine, 130).encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(zero=True, nice=True)),
            y=alt.Y("seconds:Q", title=y, scale=alt.Scale(zero=True, nice=True)),
        )
        layers += [
            base.mark_line(color=PUBLISHED_COLOUR, strokeDash=[4, 3] if number % 2 else [1, 0]),
            base.mark_point(filled=True, size=70, opacity=1, color=PUBLISHED_COLOUR, shape="diamond"),
            line([{**mine[-1], "text": name}], 130)
            .mark_text(align="left", dx=9, fontSize=12, color=PUBLISHED_COLOUR)
            .encode(x="x:Q", y="seconds:Q", text="text:N"),
        ]
    return alt.layer(*layers)
