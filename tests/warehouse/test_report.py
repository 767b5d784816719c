from __future__ import annotations

import html.parser
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.warehouse.published_runs import control_plane_run, neighbours_run, storm_run, wake_burst_run, wake_run
from tests.warehouse.segments import RunMaker, density_run, latency_run, whole_run
from warehouse.charts import charts_of
from warehouse.checks import answer_checks
from warehouse.report import write_report
from warehouse.store import Warehouse, WarehouseError
from warehouse.summary import summary_headline, summary_rows

PNG = b"\x89PNG\r\n\x1a\n"


class Page(html.parser.HTMLParser):
    """What a page refers to, and the labels of its pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.pictures = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attributes)
        self.addresses += [values[name] or "" for name in ("src", "href", "xlink:href", "action") if name in values]
        self.ids += [values["id"] or ""] if "id" in values else []
        if tag == "svg":
            assert values["role"] == "img"
            assert set((values["aria-labelledby"] or "").split())
            self.pictures += 1


def written(results: Path, warehouse: Warehouse, made: RunMaker) -> str:
    warehouse.land(made.write(results))
    answer_checks(warehouse, made.run_id)
    return write_report(warehouse, made.run_id, results / "runs" / made.run_id).read_text()


@pytest.mark.parametrize(
    ("made", "charts"),
    [
        (density_run(), ["density", "ecdf", "node"]),
        (latency_run(), ["latency", "ecdf", "node"]),
        (wake_run(), ["wakes", "ecdf"]),
        (wake_burst_run(), ["wakes", "latency", "ecdf"]),
        (control_plane_run(), ["phases", "components", "ecdf", "node"]),
        (neighbours_run(), ["slowdown", "ecdf", "node"]),
        (storm_run(), ["snapshots", "components", "ecdf"]),
        (whole_run(), []),
    ],
    ids=["density", "latency", "wake", "wake-burst", "control-plane", "neighbours", "storm", "nothing"],
)
def test_a_page_needs_nothing_beside_it(results: Path, warehouse: Warehouse, made: RunMaker, charts: list[str]) -> None:
    text = written(results, warehouse, made)
    page = Page(text)
    assert page.addresses == []
    assert not {"script", "link", "iframe", "img"} & set(page.tags)
    assert "@import" not in text
    assert page.pictures == len(charts)
    assert len(page.ids) == len(set(page.ids)), "a chart must not use a clip path of another"
    pictures = sorted((results / "runs" / made.run_id).glob("*.png"))
    assert [file.stem for file in pictures] == sorted(charts)
    assert all(file.read_bytes().startswith(PNG) for file in pictures)


def test_a_page_opens_with_what_was_tested_the_verdict_and_the_answer(results: Path, warehouse: Warehouse) -> None:
    text = written(results, warehouse, density_run())
    for earlier, later in (
        ("How many idle sandboxes fit", "on target <b>here</b>"),
        ("on target <b>here</b>", "AMD EPYC 7B13"),
        ("AMD EPYC 7B13", "gVisor release-20250319.0"),
        ("gVisor release-20250319.0", "50m CPU"),
        ("50m CPU", "Verdict: valid."),
        ("Verdict: valid.", "the 41st was refused: cpu bookings full"),
        ("the 41st was refused", "<svg"),
        ("<svg", "<h2>Checks"),
    ):
        assert text.index(earlier) < text.index(later)
    assert "SIMULATED" not in text


def test_a_simulated_run_says_so_everywhere(results: Path, warehouse: Warehouse) -> None:
    made = latency_run(simulated=True)
    text = written(results, warehouse, made)
    assert "SIMULATED: these figures come from a model" in text
    assert summary_headline(warehouse, made.run_id).startswith("SIMULATED.")
    for chart in charts_of(warehouse, made.run_id):
        assert "SIMULATED" in json.dumps(chart.chart.to_dict()["title"])


def test_nothing_that_a_platform_or_user_wrote_becomes_markup(results: Path, warehouse: Warehouse) -> None:
    evil = '<script>alert(1)</script>\\1 & "quoted"'
    made = whole_run(title=evil, target=evil, scenario_yaml=evil, scenario=evil).fact("evil", evil, source=evil)
    for _ in range(6):
        made.attempt("exec", 1.0).attempt("exec", 1.0, outcome="failed", error=evil)
    text = written(results, warehouse, made)
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_a_page_says_what_is_withheld_or_not_measured(results: Path, warehouse: Warehouse) -> None:
    text = written(results, warehouse, density_run())
    assert "withheld: n = 2, and it needs 5" in text
    assert "not known: the kernel does not say" in text
    assert "insufficient</b>: n = 2: p95 needs 20" in text


def test_a_spoiled_run_says_that_its_figures_may_not_be_used(results: Path, warehouse: Warehouse) -> None:
    text = written(results, warehouse, whole_run(outcome=None, ended_at=None).attempt())
    assert "Verdict: partial." in text
    assert "it was killed, or is still running" in text


def test_axes_have_titles_and_units_and_published_figures_their_name(results: Path, warehouse: Warehouse) -> None:
    ends = (")", "running", "in flight", "began", "attempts", "logarithmic", "had returned")
    makers = (density_run, latency_run, wake_run, wake_burst_run, control_plane_run, neighbours_run, storm_run)
    compared = set()
    for made in (make() for make in makers):
        warehouse.land(made.write(results))
        for chart in charts_of(warehouse, made.run_id):
            if "another machine, compare the shape" in json.dumps(chart.chart.to_dict(), ensure_ascii=False):
                compared.add(chart.name)
            titles = [title for title in axis_titles(chart.chart.to_dict()) if title is not None]
            assert titles
            assert all(title.endswith(ends) for title in titles), titles
            assert len(chart.description) > 20
    assert compared == {"density", "latency", "wakes", "phases", "slowdown", "snapshots"}


def test_published_figures_stay_away_from_other_shapes(results: Path, warehouse: Warehouse) -> None:
    made = wake_burst_run()
    for row in made.rows:
        if hasattr(row, "cpu_millicores"):
            row.cpu_millicores = 500
    warehouse.land(made.write(results))
    for chart in charts_of(warehouse, made.run_id):
        assert "published" not in json.dumps(chart.chart.to_dict())


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (wake_run(), "cpu 250m 360 ms, cpu 1 108 ms. State was lost in 0 of 12 wakes that can tell."),
        (wake_burst_run(), "burst 1 withheld (n = 3, and it needs 5)"),
        (wake_burst_run(), "2 of 123 requests were refused."),
        (control_plane_run(), "A second, with 20 in flight: create 200, resume 10, suspend 40, delete 80."),
        (control_plane_run(), "The busiest component was runsc during resume: 1,800 millicores."),
        (neighbours_run(), "With neighbours cpu, cpu-benchmark took 2 times as long (1.79 to 2.23)"),
        (storm_run(), "20 of 20 snapshots became durable, the last 324 s after the first suspend."),
        (storm_run(), "Lost: 0 of 20, so at most 13.9% at 95% confidence."),
        (storm_run(fates={4: "stuck"}), "19 of 20 snapshots became durable; 1 of 20 are not durable (stuck)."),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else value.scenario,
)
def test_the_headline_answers_the_question(results: Path, warehouse: Warehouse, made: RunMaker, sentence: str) -> None:
    warehouse.land(made.write(results))
    assert sentence in summary_headline(warehouse, made.run_id)


@pytest.mark.parametrize(
    ("made", "texts"),
    [
        (wake_run(lose=True), ["<h2>Wakes</h2>", "p50 needs 5"]),
        (control_plane_run(), ["<h2>Phases</h2>", "1800 millicores", "sandgauge (the generator)"]),
        (neighbours_run(fate="ended"), ["<h2>Programs inside</h2>", "<h2>What neighbours cost</h2>", "1.79 to 2.23",
                                        "background: 1 of 4 cpu-hogs ended in trial 1"]),
        (storm_run(fates={4: "stuck"}), ["<h2>Durability</h2>", "never: 1 of 20 are not durable (stuck)", "19 of 20",
                                         "14.6%"]),
        (storm_run(), ["inventory.left (of every run)", "after its steps", "13.9%", "324 s"]),
    ],
    ids=["wake", "control-plane", "neighbours", "stuck", "storm"],
)  # fmt: skip
def test_a_page_has_the_sections_for_which_there_are_rows(
    results: Path, warehouse: Warehouse, made: RunMaker, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.report.charts_of", lambda *_: [])
    text = written(results, warehouse, made)
    assert [wanted for wanted in texts if wanted not in text] == []
    for section, needs in (("Wakes", "wake"), ("Durability", "snapshot-storm"), ("Density", "density")):
        assert (f"<h2>{section}</h2>" in text) == (needs == made.scenario)


def test_the_summary_names_the_program_of_an_exec(results: Path, warehouse: Warehouse) -> None:
    made = whole_run().attempt("exec", program="cpu-benchmark").attempt("exec", program="true").attempt("exec")
    warehouse.land(made.write(results))
    operations = [row["operation"] for row in summary_rows(warehouse, made.run_id)]
    assert operations == ["exec cpu-benchmark", "exec true", "exec"]


def axis_titles(node: Any) -> Any:
    if isinstance(node, dict):
        yield from (
            node["encoding"][axis].get("title", "")
            for axis in ("x", "y")
            if "field" in node.get("encoding", {}).get(axis, {}) and "title" in node["encoding"][axis]
        )
        for value in node.values():
            yield from axis_titles(value)
    elif isinstance(node, list):
        for value in node:
            yield from axis_titles(value)


def test_the_summary_has_a_row_for_each_way_of_starting(results: Path, warehouse: Warehouse) -> None:
    made = latency_run()
    warehouse.land(made.write(results))
    rows = {(row["trial"], row["operation"]): row for row in summary_rows(warehouse, made.run_id)}
    row = rows["n 40", "resume (restored)"]
    assert (row["n"], row["ok"], row["timed out"], row["failed"]) == ("80", "79", "1", "0")
    assert row["least to most"].endswith("to > 15 s")
    assert rows["n 20", "suspend"]["failed"] == "1"
    assert rows["n 1", "resume (booted)"]["p50"] == "–"
    assert ("n 40", "resume") not in rows


def test_the_headline_tells_repetitions_together(results: Path, warehouse: Warehouse) -> None:
    made = density_run(repetitions=2)
    warehouse.land(made.write(results))
    headline = summary_headline(warehouse, made.run_id)
    assert headline.startswith(
        "40 sandboxes of 50m CPU, 64 MiB ran at once in 2 trials; the 41st was refused: cpu bookings full. Resume p50"
    )
    assert headline.endswith("the 3rd was refused: cpu bookings full. Resume p50 is withheld: n = 2, and it needs 5.")


def test_a_run_that_is_not_there_is_an_error(results: Path, warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match="nothing"):
        write_report(warehouse, "nothing", results)


def test_the_store_is_imported_without_charts() -> None:
    heavy = ("altair", "vl_convert", "jinja2", "pyarrow", "pandas")
    program = f"""
import sys, warehouse.store, warehouse.checks, warehouse.summary
print([name for name in {heavy} if name in sys.modules])
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert run.stdout == "[]\n"
