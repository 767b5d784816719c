"""The report of a run: one page that needs nothing beside it, and its charts as PNG files."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

import vl_convert
from altair.utils.schemapi import debug_mode
from jinja2 import Environment, PackageLoader, StrictUndefined

from warehouse.charts import Chart, charts_of
from warehouse.formatting import show_bytes, show_cpu, show_seconds
from warehouse.sql import query
from warehouse.store import Warehouse, WarehouseError
from warehouse.summary import matrix_text, run_verdict, summary_headline, summary_rows, trial_text

_CONFIG = {
    "background": "white",
    "font": "DejaVu Sans, Helvetica, Arial, sans-serif",
    "axis": {"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "titlePadding": 8},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 300},
    "title": {"fontSize": 16, "subtitleFontSize": 12, "subtitleColor": "#555", "offset": 12},
    "view": {"stroke": "#ddd"},
    "line": {"strokeWidth": 2},
}
_VERDICTS = {
    "valid": "The figures may be used.",
    "generator-limited": "The generator itself was late: the figures are at best lower bounds.",
    "contaminated": "Something that was no part of the test was there: do not use the figures.",
    "partial": "The run did not finish: what is here happened, but it is not the whole.",
}


def write_report(warehouse: Warehouse, run_id: str, directory: Path) -> Path:
    """Write `report.html` and one PNG a chart into a directory; returns the page.

    Raises:
        WarehouseError: there is no such run, or the files cannot be written.
    """
    # Altair would check every part against Vega-Lite's schema, which takes longer than drawing; tests have it check.
    with debug_mode(False):
        drawn = [(chart, draw(_specification(chart))) for chart in charts_of(warehouse, run_id)]
    page = _page(warehouse, run_id, [{"chart": chart, "svg": _described(chart, svg)} for chart, svg in drawn])
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for chart, svg in drawn:
            (directory / f"{chart.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=2))
        path = directory / "report.html"
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise WarehouseError(f"{directory}: the report cannot be written: {error.strerror}") from error
    return path


def _specification(chart: Chart) -> dict[str, Any]:
    specification: dict[str, Any] = chart.chart.to_dict(validate=False)
    specification["config"] = {**specification.get("config", {}), **_CONFIG}
    specification["description"] = chart.description
    return specification


def draw(specification: dict[str, Any]) -> str:
    """A Vega-Lite specification as SVG. The first call takes half a second more: it starts the renderer."""
    svg: str = vl_convert.vegalite_to_svg(specification)
    return svg


def _described(chart: Chart, svg: str) -> str:
    """The chart with a title and a description, which Vega leaves out of what it exports."""
    ids = f'role="img" aria-labelledby="{chart.name}-title {chart.name}-desc"'
    words = (
        f'<title id="{chart.name}-title">{escape(chart.title)}</title>'
        f'<desc id="{chart.name}-desc">{escape(chart.description)}</desc>'
    )
    width = re.search(r'<svg[^>]* width="([\d.]+)"', svg)
    style = f'style="max-width:{width[1]}px;width:100%;height:auto"' if width else ""
    svg = re.sub(r'(<svg[^>]*?) width="[\d.]+" height="[\d.]+"', r"\1", svg, count=1)
    # Vega counts its clip paths from 0 in every chart; in one page they would be each other's.
    svg = re.sub(r'(id="|url\(#)(clip|gradient)', rf"\1{chart.name}-\2", svg)
    return re.sub(r"<svg([^>]*)>", lambda found: f"<svg{found[1]} {ids} {style}>{words}", svg, count=1)


def _page(warehouse: Warehouse, run_id: str, charts: list[dict[str, Any]]) -> str:
    environment = Environment(
        loader=PackageLoader("warehouse"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        seconds=show_seconds, bytes=show_bytes, cpu=show_cpu, matrix=matrix_text, trial=trial_text
    )
    run = warehouse.records("SELECT * FROM runs WHERE run_id = ?", [run_id])
    if not run:
        raise WarehouseError(f"{warehouse.path}: no run is called {run_id}")

    def records(sql: str) -> list[dict[str, Any]]:
        return warehouse.records(sql, [run_id])

    def asked(name: str) -> list[dict[str, Any]]:
        return warehouse.records(query(name), {"run_id": run_id})

    verdict, reason = run_verdict(warehouse, run_id)
    facts = records("SELECT key, value, unit, source, reason FROM facts WHERE run_id = ? ORDER BY key")
    return environment.get_template("report.html.j2").render(
        run=run[0],
        verdict=verdict,
        verdict_reason=reason,
        verdict_meaning=_VERDICTS[verdict],
        headline=summary_headline(warehouse, run_id),
        facts=facts,
        fact={fact["key"]: fact["value"] for fact in facts},
        sizes=records(
            "SELECT DISTINCT group_name, cpu_millicores, memory_bytes FROM groups WHERE run_id = ? ORDER BY 1, 2"
        ),
        checks=records("SELECT * FROM checks WHERE run_id = ? ORDER BY check_number"),
        summary=summary_rows(warehouse, run_id),
        withheld=records("SELECT count(*) AS n FROM latency WHERE run_id = ? AND withheld_reason IS NOT NULL")[0]["n"],
        density=asked("density"),
        failures=asked("failures"),
        inventory=asked("inventory"),
        charts=charts,
    )
