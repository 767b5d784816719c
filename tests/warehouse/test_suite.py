from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.warehouse.published_runs import control_plane_run, neighbours_run, storm_run, wake_run
from tests.warehouse.segments import RunMaker
from tests.warehouse.test_report import Page
from warehouse.checks import answer_checks
from warehouse.store import Warehouse
from warehouse.suite import write_suite


def asked(scenario: str, of: str, reference: dict[str, str] | None = None, **where: Any) -> dict[str, Any]:
    return {"test": scenario, "what": f"{of} {where}", "scenario": scenario, "of": of, "where": where,
            "reference": reference}  # fmt: skip


def published(test: str, condition: str, metric: str) -> dict[str, object]:
    return {"test": test, "conditions": [condition], "metric": metric}


SPEC: dict[str, Any] = {
    "name": "published-ax", "title": "The six tests", "description": "On a target of one's own.",
    "reference": "ax-eks-two-nodes",
    "figures": [
        asked("wake", "wake.p50", published("wake", "cpu=250m memory=256Mi n=5", "wake_p50"), cpu="250m"),
        asked("wake", "wake.p95", published("wake", "cpu=250m memory=256Mi n=5", "wake_p95"), cpu="250m"),
        asked("wake", "wake.lost_state"),
        asked("control-plane", "create.rate", published("control-plane", "cpu=25m n=120 in_flight=20", "create_rate")),
        asked("control-plane", "component.cpu_peak",
              published("control-plane", "phase=resume component=ate-api-server", "peak_cpu"), operation="resume"),
        asked("noisy-neighbours", "exec.inside_p50", published("noisy", "neighbours=cpu", "cpu_benchmark_p50"),
              neighbours="cpu", program="cpu-benchmark"),
        asked("snapshot-storm", "durability.lost"),
        asked("snapshot-storm", "durability.all_durable_after",
              published("snapshot-storm", "n=20 dirty=100MB", "all_durable_after")),
        asked("density", "density.running", published("density", "cpu=50m memory=64Mi", "max_running"), cpu="50m"),
        asked("density", "density.memory_per_sandbox", published("density", "no such", "memory"), cpu="50m"),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """A pass without density, in which a hog ended; beside it an older wake run of another pass."""
    results = tmp_path_factory.mktemp("results")
    with Warehouse.open(results / "warehouse.duckdb") as warehouse:
        runs = [wake_run(), control_plane_run(), neighbours_run(fate="ended"), storm_run()]
        for made in [*runs, wake_run("20261130-090000-wake-zz99", lose=True)]:
            made.rows[0].suite = "published-ax"
            made.rows[0].suite_run = "pass-1" if made in runs else "pass-0"
            made.fact("node.cpu_count", "2", "cores").fact("node.cpu_model", "<AMD> EPYC")
            made.fact("runsc.version", "release-20250319.0").fact("node.memory_bytes", str(8 * 2**30), "bytes")
            warehouse.land(made.write(results))
            answer_checks(warehouse, made.run_id)
        yield warehouse


def test_rows_have_values_with_units_or_the_reason_why_there_is_none(landed: Warehouse, tmp_path: Path) -> None:
    _, rows = write_suite(landed, "pass-1", SPEC, tmp_path)
    assert [(row["this machine"], row["n"], row["published"]) for row in rows] == [
        ("360 ms", "5", "291 ms"),
        ("withheld: n = 5: p95 needs 20", "5", "415 ms"),
        ("0", "12", "–"),
        ("200 per s", "120", "26.4 per s"),
        ("1,800 millicores", "36", "190 millicores"),
        ("792 ms (the run is contaminated)", "30", "722 ms"),
        ("0 (0 of 20: at most 13.9% at 95% confidence)", "20", "–"),
        ("324 s", "20", "325 s"),
        ("no run of density", "–", "151 sandboxes"),
        ("no run of density", "–", "not published"),
    ]
    assert rows[5]["95% interval"] == "752 ms to 840 ms"
    assert rows[0]["published under"] == "cpu=250m memory=256Mi n=5"
    assert {len(row) for row in rows} == {8}
    assert rows[0]["measured under"] == "cpu=250m memory=256Mi n=1 in_flight=1"


def test_a_page_needs_nothing_but_links_to_the_reports_of_its_runs(landed: Warehouse) -> None:
    directory = landed.path.parent / "suites" / "pass-1"
    path, _ = write_suite(landed, "pass-1", SPEC, directory)
    text = path.read_text()
    page = Page(text)
    assert path.parent == directory
    assert set(page.addresses) == {
        f"../../runs/{run}/report.html"
        for (run,) in landed.rows("SELECT run_id FROM runs WHERE suite_run = 'pass-1'")
    }  # fmt: skip
    assert not {"script", "link", "iframe", "img"} & set(page.tags)
    assert len(page.ids) == len(set(page.ids)), "charts of several runs must not share clip paths"
    assert page.pictures == 1 + 2 + 1 + 1
    for wanted in (
        "noisy-neighbours: contaminated.", "background: 1 of 4 cpu-hogs ended in trial 1", "density: missing.",
        "no run of density", "two m7i.xlarge nodes", "2 CPUs, &lt;AMD&gt; EPYC, 8 GiB", "release-20250319.0",
        "another machine, compare the shape", "no target",
    ):  # fmt: skip
        assert wanted in text, wanted
    assert "zz99" not in text


def test_a_pass_without_runs_says_so(results: Path, warehouse: Warehouse) -> None:
    path, rows = write_suite(warehouse, "nothing", SPEC, results / "suites" / "nothing")
    assert {row["this machine"] for row in rows} == {f"no run of {row['test']}" for row in rows}
    text = path.read_text()
    assert "No run of this suite is in the warehouse." in text
    assert "wake: missing." in text


def test_a_simulated_pass_says_so(results: Path, warehouse: Warehouse) -> None:
    made: RunMaker = wake_run()
    made.rows[0].simulated, made.rows[0].suite_run = True, "pass"
    warehouse.land(made.write(results))
    assert "SIMULATED" in write_suite(warehouse, "pass", SPEC, results / "suites")[0].read_text()
