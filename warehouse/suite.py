"""The page of a suite: the table of a published study, filled on another machine.

Figures of the study stand beside those of this machine, with the conditions of both. They are
there to compare shapes with: none is a target, and none is divided by another.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from altair.utils.schemapi import debug_mode

from warehouse.charts import charts_of
from warehouse.figures import Evidence, figure, matching_trials, unit_of
from warehouse.formatting import show_bytes, show_cpu, show_in, show_seconds
from warehouse.pages import VERDICTS, described, kept_pictures, pictures, render
from warehouse.published import conditions_of, in_base
from warehouse.sql import query
from warehouse.store import Warehouse, WarehouseError
from warehouse.summary import run_verdict, summary_headline

_IN_REPORTS_ONLY = frozenset({"ecdf", "node"})
_FACTS = {
    "hardware": ("node.cpu_count", "node.cpu_model", "node.memory_bytes"),
    "versions": ("node.kernel", "runsc.version", "runsc.platform"),
}


def write_suite(
    warehouse: Warehouse, suite_run: str, spec: dict[str, Any], directory: Path
) -> tuple[Path, list[dict[str, str]]]:
    """Write the page of one pass through a suite; returns it, and the rows of its table as text with units.

    Args:
        warehouse: where its runs are landed.
        suite_run: what the runs share.
        spec: name, title, description, reference and figures of the suite.
        directory: where the page goes; links lead to the runs' own reports from there.

    Raises:
        WarehouseError: the page cannot be written.
    """
    runs = [_told(warehouse, run, directory) for run in _runs(warehouse, suite_run)]
    with debug_mode(False):
        for number, run in enumerate(runs):
            drawn = kept_pictures(_folder(warehouse, run["run_id"])) or pictures(charts_of(warehouse, run["run_id"]))
            # What components use belongs to a test whose steps are phases; elsewhere it is in the run's own report.
            phased = any(chart.name == "phases" for chart, _ in drawn)
            left_out = _IN_REPORTS_ONLY if phased else _IN_REPORTS_ONLY | {"components"}
            run["charts"] = [
                {"chart": chart, "svg": described(chart, svg, f"{number}-")}
                for chart, svg in drawn
                if chart.name not in left_out
            ]
    rows = _rows(warehouse, spec, {run["scenario"]: run for run in runs})
    page = render(
        "suite.html.j2",
        spec=spec,
        suite_run=suite_run,
        runs=runs,
        missing=sorted({row["scenario"] for row in spec["figures"]} - {run["scenario"] for run in runs}),
        rows=rows,
        conditions=_conditions(warehouse, spec, runs),
        reference=_title(warehouse, spec["reference"]),
    )
    path = directory / "suite.html"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise WarehouseError(f"{directory}: the page cannot be written: {error.strerror}") from error
    return path, [
        {
            "test": row["test"],
            "what": row["what"],
            "this machine": row["shown"],
            "measured under": row["under"],
            "n": row["n"],
            "95% interval": row["interval"],
            "published": row["published"],
            "published under": row["condition"],
        }
        for row in rows
    ]


def _runs(warehouse: Warehouse, suite_run: str) -> list[dict[str, Any]]:
    """The newest run of each scenario of the pass, in the order in which they started."""
    return warehouse.records(
        "SELECT * FROM runs WHERE suite_run = ? "
        "QUALIFY row_number() OVER (PARTITION BY scenario ORDER BY started_at DESC) = 1 ORDER BY started_at",
        [suite_run],
    )


def _folder(warehouse: Warehouse, run_id: str) -> Path:
    return warehouse.path.parent / "runs" / run_id


def _told(warehouse: Warehouse, run: dict[str, Any], directory: Path) -> dict[str, Any]:
    """A run with what the page says of it."""
    run_id = run["run_id"]
    verdict, reason = run_verdict(warehouse, run_id)
    answers = warehouse.rows("SELECT answer, count(*) FROM checks WHERE run_id = ? GROUP BY ALL ORDER BY 1", [run_id])
    report = _folder(warehouse, run_id) / "report.html"
    return run | {
        "verdict": verdict,
        "reason": reason,
        "meaning": VERDICTS[verdict],
        "headline": summary_headline(warehouse, run_id),
        "checks": ", ".join(f"{count} {answer}" for answer, count in answers) or "none answered",
        "report": os.path.relpath(report.resolve(), directory.resolve()),
    }


def _rows(warehouse: Warehouse, spec: dict[str, Any], runs: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    return [_row(warehouse, spec["reference"], asked, runs.get(asked["scenario"])) for asked in spec["figures"]]


def _row(warehouse: Warehouse, source: str, asked: dict[str, Any], run: dict[str, Any] | None) -> dict[str, str]:
    published, condition = _published(warehouse, source, asked.get("reference"))
    row = {"test": asked["test"], "what": asked["what"], "published": published, "condition": condition}
    if run is None:
        return row | {"shown": f"no run of {asked['scenario']}", "under": "–", "n": "–", "interval": "–"}
    where = asked.get("where") or {}
    evidence = figure(warehouse, run["run_id"], asked["of"], where)
    unit = unit_of(asked["of"])
    beside = [f"the run is {run['verdict']}"] if run["verdict"] != "valid" else []
    if evidence.figure is not None and evidence.reason:
        beside.append(evidence.reason)
    shown = _shown(evidence, unit)
    return row | {
        "shown": f"{shown} ({'; '.join(beside)})" if beside else shown,
        "under": _under(warehouse, run["run_id"], asked["of"], where),
        "n": f"{evidence.n:,}",
        "interval": _interval(evidence, unit),
    }


def _under(warehouse: Warehouse, run_id: str, of: str, where: dict[str, Any]) -> str:
    """Sizes, number and concurrency of the sandboxes that a figure rests on, in the words of published conditions."""
    subject = of.split(".")[0]
    operation = {"density": "resume", "durability": "suspend", "component": where.get("operation"), "neighbours": None}
    values = {
        "run_id": run_id, "trials": matching_trials(warehouse, run_id, where),
        "operation": operation.get(subject, subject), "group_name": where.get("group"),
    }  # fmt: skip
    records = warehouse.records(query("measured_under"), values)
    told = {
        "cpu": [show_cpu(record["cpu_millicores"]) for record in records],
        "memory": [show_bytes(record["memory_bytes"]).replace(" ", "").removesuffix("B") for record in records],
        "n": [str(record["sandboxes"]) for record in records],
        "in_flight": [str(record["in_flight"]) for record in records if record["in_flight"] is not None],
    }
    return " ".join(f"{name}={'|'.join(dict.fromkeys(values))}" for name, values in told.items() if values) or "–"


def _shown(evidence: Evidence, unit: str) -> str:
    if evidence.figure is not None:
        return show_in(unit, evidence.figure)
    if evidence.above is not None and unit == "seconds":
        return f"> {show_in(unit, evidence.above)}: it fell on a time-out"
    return f"withheld: {evidence.reason}"


def _interval(evidence: Evidence, unit: str) -> str:
    if evidence.low is None and evidence.high is None:
        return "–"
    return " to ".join("?" if end is None else show_in(unit, end) for end in (evidence.low, evidence.high))


def _published(warehouse: Warehouse, source: str, asked: dict[str, Any] | None) -> tuple[str, str]:
    """The published figure with its unit, and under which condition it was taken."""
    if not asked:
        return "–", "–"
    rows = warehouse.rows(
        "SELECT condition, value, unit FROM reference WHERE source = ? AND test = ? AND metric = ?",
        [source, asked["test"], asked["metric"]],
    )
    published = {condition: in_base(value, unit) for condition, value, unit in rows}
    condition = next((one for one in asked["conditions"] if one in published), None)
    if condition is None:
        return "not published", asked["conditions"][0]
    value, unit = published[condition]
    if unit == "s":
        return show_seconds(value), condition
    if unit == "bytes":
        return show_bytes(value), condition
    plain = {"per_s": "per s", "count": ""}.get(unit, unit)
    return f"{value:,g} {plain}".strip(), condition


def _title(warehouse: Warehouse, source: str) -> str:
    rows = warehouse.rows("SELECT title FROM reference WHERE source = ? LIMIT 1", [source])
    return str(rows[0][0]) if rows else source


def _conditions(warehouse: Warehouse, spec: dict[str, Any], runs: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """What is true of this machine and of the published one: rows of a name and both."""
    published = conditions_of(warehouse, spec["reference"])
    mine: dict[str, list[str]] = {"hardware": [], "versions": [], "vantage": [], "method": []}
    for run in runs:
        facts = {
            key: (value, unit)
            for key, value, unit in warehouse.rows(
                "SELECT key, value, unit FROM facts WHERE run_id = ? AND value IS NOT NULL", [run["run_id"]]
            )
        }
        for name, keys in _FACTS.items():
            mine[name].append(", ".join(_fact(key, *facts[key]) for key in keys if key in facts))
        mine["versions"][-1] += f"{', ' if mine['versions'][-1] else ''}Sandgauge {run['sandgauge_version']}"
        mine["vantage"].append(run["vantage"].split(",")[0])
        mine["method"].append(f"size {run['size']} of the scenarios, on an otherwise empty target {run['target']}")
    return [
        (name, "; ".join(dict.fromkeys(filter(None, told))) or "not known", published.get(name, "not published"))
        for name, told in mine.items()
    ]


def _fact(key: str, value: str, unit: str | None) -> str:
    shown = show_bytes(float(value)) if unit == "bytes" else value
    if key == "node.cpu_count":
        return f"{shown} CPUs"
    return f"{key.split('.')[0]} {shown}" if key.startswith("runsc.version") else shown
