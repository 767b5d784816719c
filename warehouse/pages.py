"""What pages are made of: charts as pictures with words, and templates that share one look."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from warehouse.charts import Chart
from warehouse.figures import unit_of
from warehouse.formatting import matrix_text, show_bytes, show_cpu, show_in, show_seconds, show_share, trial_text

_KEPT = "charts.json"
_CONFIG = {
    "background": "white",
    "font": "DejaVu Sans, Helvetica, Arial, sans-serif",
    "axis": {"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "titlePadding": 8},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 300},
    "title": {"fontSize": 16, "subtitleFontSize": 12, "subtitleColor": "#555", "offset": 12},
    "view": {"stroke": "#ddd"},
    "line": {"strokeWidth": 2},
}
VERDICTS = {
    "valid": "The figures may be used.",
    "generator-limited": "The generator itself was late: the figures are at best lower bounds.",
    "contaminated": "What was there was not what the test asks for: do not use the figures.",
    "partial": "The run did not finish: what is here happened, but it is not the whole.",
}
"""What each verdict means for who reads the figures."""


def render(template: str, **values: Any) -> str:
    """A page from `templates/NAME`; whatever is put into it is escaped."""
    environment = Environment(
        loader=PackageLoader("warehouse"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        seconds=show_seconds, bytes=show_bytes, cpu=show_cpu, share=show_share, matrix=matrix_text, trial=trial_text,
        figure=lambda value, of: show_in(unit_of(of), value),
    )  # fmt: skip
    environment.globals["interval"] = _interval
    return environment.get_template(template).render(**values)


def _interval(low: float | None, high: float | None) -> str:
    """An interval of seconds; an end that is not known is a question mark."""
    if low is None and high is None:
        return "–"
    return " to ".join("?" if end is None else show_seconds(end) for end in (low, high))


def pictures(charts: Sequence[Chart]) -> list[tuple[Chart, str]]:
    """Every chart as SVG."""
    return [(chart, draw(specification(chart))) for chart in charts]


def keep_pictures(drawn: Sequence[tuple[Chart, str]], directory: Path) -> None:
    """Keep a run's pictures beside its report, for pages that show them as well: drawing is what takes time.

    Raises:
        OSError: they cannot be written.
    """
    kept = [{"name": c.name, "title": c.title, "description": c.description, "svg": svg} for c, svg in drawn]
    (directory / _KEPT).write_text(json.dumps(kept), encoding="utf-8")


def kept_pictures(directory: Path) -> list[tuple[Chart, str]] | None:
    """The pictures that a run's report shows; None where it has none yet."""
    try:
        kept = json.loads((directory / _KEPT).read_text(encoding="utf-8"))
        return [(Chart(each["name"], each["title"], each["description"], None), each["svg"]) for each in kept]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def specification(chart: Chart) -> dict[str, Any]:
    """A chart as a Vega-Lite specification, in the look of all charts."""
    vega: dict[str, Any] = chart.chart.to_dict(validate=False)
    vega["config"] = {**vega.get("config", {}), **_CONFIG}
    vega["description"] = chart.description
    return vega


def draw(specification: dict[str, Any]) -> str:
    """A Vega-Lite specification as SVG. The first call takes half a second more: it starts the renderer."""
    svg: str = vl_convert.vegalite_to_svg(specification)
    return svg


def described(chart: Chart, svg: str, prefix: str = "") -> str:
    """The chart with a title and a description, which Vega leaves out of what it exports.

    `prefix` sets it apart from charts of the same name on one page.
    """
    name = f"{prefix}{chart.name}"
    ids = f'role="img" aria-labelledby="{name}-title {name}-desc"'
    words = (
        f'<title id="{name}-title">{escape(chart.title)}</title>'
        f'<desc id="{name}-desc">{escape(chart.description)}</desc>'
    )
    width = re.search(r'<svg[^>]* width="([\d.]+)"', svg)
    style = f'style="max-width:{width[1]}px;width:100%;height:auto"' if width else ""
    svg = re.sub(r'(<svg[^>]*?) width="[\d.]+" height="[\d.]+"', r"\1", svg, count=1)
    # Vega counts its clip paths from 0 in every chart; in one page they would be each other's.
    svg = re.sub(r'(id="|url\(#)(clip|gradient)', rf"\g<1>{name}-\g<2>", svg)
    return re.sub(r"<svg([^>]*)>", lambda found: f"<svg{found[1]} {ids} {style}>{words}", svg, count=1)
