"""The report of a run: one page that needs nothing beside it, and its charts as PNG files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import vl_convert
from altair.utils.schemapi import debug_mode

from warehouse.charts import charts_of
from warehouse.figures import LEFT
from warehouse.pages import VERDICTS, described, draw, keep_pictures, pictures, render
from warehouse.sql import holdings, query
from warehouse.store import Warehouse, WarehouseError
from warehouse.summary import run_verdict, summary_headline, summary_rows

_PNGS_AT_ONCE = 2
__all__ = ["draw", "write_report"]


def write_report(warehouse: Warehouse, run_id: str, directory: Path) -> Path:
    """Write `report.html` and one PNG a chart into a directory; returns the page.

    Raises:
        WarehouseError: there is no such run, or the files cannot be written.
    """
    # Altair would check every part against Vega-Lite's schema, which takes longer than drawing; tests have it check.
    with debug_mode(False):
        drawn = pictures(charts_of(warehouse, run_id))
    page = _page(warehouse, run_id, [{"chart": chart, "svg": described(chart, svg)} for chart, svg in drawn])
    try:
        directory.mkdir(parents=True, exist_ok=True)
        keep_pictures(drawn, directory)
        with ThreadPoolExecutor(_PNGS_AT_ONCE) as threads:
            pngs = threads.map(lambda drawing: vl_convert.svg_to_png(drawing[1], scale=1.5), drawn)
            for (chart, _), png in zip(drawn, pngs, strict=True):
                (directory / f"{chart.name}.png").write_bytes(png)
        path = directory / "report.html"
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise WarehouseError(f"{directory}: the report cannot be written: {error.strerror}") from error
    return path


def _page(warehouse: Warehouse, run_id: str, charts: list[dict[str, Any]]) -> str:
    run = warehouse.records("SELECT * FROM runs WHERE run_id = ?", [run_id])
    if not run:
        raise WarehouseError(f"{warehouse.path}: no run is called {run_id}")

    def records(sql: str) -> list[dict[str, Any]]:
        return warehouse.records(sql, [run_id])

    held = holdings(warehouse, run_id)

    def asked(name: str, needs: str | None = None) -> list[dict[str, Any]]:
        return warehouse.records(query(name), {"run_id": run_id}) if needs in (None, *held) else []

    verdict, reason = run_verdict(warehouse, run_id)
    facts = records("SELECT key, value, unit, source, reason FROM facts WHERE run_id = ? ORDER BY key")
    phases = asked("phases")
    long_phases = sum(phase["steady_per_s"] is not None for phase in phases)
    return render(
        "report.html.j2",
        run=run[0],
        verdict=verdict,
        verdict_reason=reason,
        verdict_meaning=VERDICTS[verdict],
        headline=summary_headline(warehouse, run_id),
        facts=facts,
        fact={fact["key"]: fact["value"] for fact in facts},
        sizes=records(
            "SELECT DISTINCT group_name, cpu_millicores, memory_bytes FROM groups WHERE run_id = ? ORDER BY 1, 2"
        ),
        checks=records("SELECT * FROM checks WHERE run_id = ? ORDER BY check_number"),
        summary=summary_rows(warehouse, run_id),
        withheld=records("SELECT count(*) AS n FROM latency WHERE run_id = ? AND withheld_reason IS NOT NULL")[0]["n"],
        left=LEFT,
        density=asked("density", "resume"),
        wakes=asked("wake_latency", "wake"),
        phases=phases if long_phases > 1 else [],
        components=asked("component_peaks", "components"),
        programs=asked("programs", "programs"),
        slowdown=asked("slowdown", "background"),
        durability=asked("durability", "snapshots"),
        snapshot_states=asked("snapshot_states", "snapshots"),
        failures=asked("failures"),
        inventory=asked("inventory"),
        charts=charts,
    )
