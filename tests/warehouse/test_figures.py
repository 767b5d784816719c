from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specs.figures import FIGURES, FILTERS
from tests.warehouse.published_runs import (
    control_plane_run,
    neighbours_run,
    storm_run,
    wake_burst_run,
    wake_run,
)
from tests.warehouse.segments import density_run, whole_run
from warehouse.checks import answer_checks
from warehouse.figures import Evidence, figure, unit_of
from warehouse.store import Warehouse

RUNS = {
    "wake": wake_run(lose=True),
    "burst": wake_burst_run(),
    "phases": control_plane_run(),
    "neighbours": neighbours_run(fate="stopped"),
    "storm": storm_run(),
    "incomplete": storm_run("20261201-105000-storm-ee11", fates={3: "stuck", 5: "lost"}),
    "unlost": storm_run("20261201-106000-storm-ee22", fates={4: "stuck"}),
    "density": density_run(),
    "plain": whole_run(),
}


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    results = tmp_path_factory.mktemp("results")
    with Warehouse.open(results / "warehouse.duckdb") as warehouse:
        for made in RUNS.values():
            warehouse.land(made.write(results))
        yield warehouse


def ask(warehouse: Warehouse, run: str, of: str, **where: Any) -> Evidence:
    return figure(warehouse, RUNS[run].run_id, of, where)


@pytest.mark.parametrize(
    ("run", "of", "where", "value", "n"),
    [
        ("phases", "create.rate", {}, 200.0, 120),
        ("phases", "resume.rate", {"how": "booted"}, 10.0, 120),
        ("phases", "component.cpu_peak", {"component": "runsc", "operation": "resume"}, 1800.0, 12),
        ("phases", "component.cpu_peak", {"component": "sandgauge", "operation": "suspend"}, 280.0, 3),
        ("phases", "component.cpu_peak", {"operation": "delete"}, 300.0, 6),
        ("wake", "wake.lost_state", {}, 1.0, 12),
        ("wake", "wake.lost_state", {"cpu": "250m"}, 0.0, 4),
        ("burst", "wake.refused", {"burst": 30}, 2.0, 90),
        ("neighbours", "exec.inside_p50", {"neighbours": "cpu", "program": "cpu-benchmark"}, 0.792, 30),
        ("neighbours", "exec.inside_p95", {"neighbours": "none", "program": "write-benchmark"}, 0.113, 30),
        ("neighbours", "exec.p50", {"neighbours": "none", "program": "cpu-benchmark", "group": "victims"}, 0.446, 30),
        ("neighbours", "exec.ok", {"program": "write-benchmark"}, 120.0, 120),
        ("neighbours", "neighbours.stopped", {}, 1.0, 12),
        ("neighbours", "neighbours.stopped", {"neighbours": "disk"}, 0.0, 4),
        ("storm", "durability.snapshots", {}, 20.0, 20),
        ("storm", "durability.durable", {"group": "tasks"}, 20.0, 20),
        ("storm", "durability.all_durable_after", {}, 324.0, 20),
        ("storm", "durability.restored", {}, 3.0, 20),
        ("storm", "durability.restored_wrong", {}, 0.0, 3),
        ("incomplete", "durability.not_durable", {}, 2.0, 20),
        ("density", "density.running", {"cpu": "50m"}, 40.0, 1),
    ],
)
def test_a_figure_is_worked_out_from_the_rows_that_match(
    landed: Warehouse, run: str, of: str, where: dict[str, Any], value: float, n: int
) -> None:
    evidence = ask(landed, run, of, **where)
    assert (evidence.figure, evidence.n) == (pytest.approx(value), n)


@pytest.mark.parametrize(
    ("run", "of", "where", "reason"),
    [
        ("plain", "durability.lost", {}, "no snapshot was watched"),
        ("plain", "durability.not_durable", {}, "no snapshot was watched"),
        ("plain", "durability.snapshots", {}, "no snapshot was watched"),
        ("plain", "durability.restored_wrong", {}, "no snapshot was watched"),
        ("plain", "wake.lost_state", {}, "of 0 wakes none tells whether the state was kept"),
        ("plain", "neighbours.stopped", {}, "no background sandbox ran beside others"),
        ("plain", "component.cpu_peak", {"component": "router"}, "no such component was sampled"),
        ("plain", "exec.inside_p50", {}, "no program told its own time"),
        ("plain", "resume.rate", {}, "no resume was attempted"),
        ("plain", "density.memory_per_sandbox", {}, "no trial added sandboxes batch by batch"),
        ("density", "density.memory_per_sandbox", {"cpu": 1}, "needs samples after at least three batches"),
        ("wake", "wake.p95", {"cpu": "50m"}, "n = 5: p95 needs 20"),
        ("incomplete", "durability.all_durable_after", {}, "2 of 20 are not durable (lost, stuck)"),
        ("storm", "durability.lost", {"cpu": 9}, "no trial matches"),
        ("storm", "durability.lost", {"component": "runsc"}, "durability.lost cannot be narrowed by component"),
        ("phases", "create.p50", {"operation": "create"}, "create.p50 cannot be narrowed by operation"),
    ],
)
def test_a_figure_that_is_missing_says_why(
    landed: Warehouse, run: str, of: str, where: dict[str, Any], reason: str
) -> None:
    evidence = ask(landed, run, of, **where)
    assert (evidence.figure, evidence.reason) == (None, reason)
    assert evidence.answer("at_most", 1e9) == evidence.answer("at_least", 0) == "insufficient"


def test_none_lost_says_how_little_that_is(landed: Warehouse) -> None:
    evidence = ask(landed, "storm", "durability.lost")
    assert (evidence.figure, evidence.n) == (0.0, 20)
    assert evidence.reason == "0 of 20: at most 13.9% at 95% confidence"


def test_while_a_fate_is_not_known_none_lost_is_no_answer_and_one_lost_fails(landed: Warehouse) -> None:
    evidence = ask(landed, "unlost", "durability.lost")
    assert (evidence.figure, evidence.answer("at_most", 0)) == (None, "insufficient")
    assert evidence.reason == "0 of 19: at most 14.6% at 95% confidence; 1 of 20 are neither durable nor lost"
    lost = ask(landed, "incomplete", "durability.lost")
    assert (lost.answer("at_most", 0), lost.answer("at_most", 1), lost.answer("at_least", 1)) == (
        "fail", "insufficient", "insufficient",
    )  # fmt: skip


def test_a_restored_snapshot_that_was_not_looked_at_is_no_right_one(results: Path, warehouse: Warehouse) -> None:
    made = storm_run()
    for row in made.rows:
        if getattr(row, "restored_s", None) is not None and row.sandbox == "sg-3":
            row.files_ok = row.memory_ok = None
    warehouse.land(made.write(results))
    evidence = figure(warehouse, made.run_id, "durability.restored_wrong", {})
    assert evidence.answer("at_most", 0) == "insufficient"
    assert evidence.reason == "0 of 2: at most 77.6% at 95% confidence; 1 of 3 restored ones were not looked at"


def test_medians_and_slopes_carry_their_intervals(landed: Warehouse) -> None:
    median = ask(landed, "neighbours", "exec.inside_p50", neighbours="none", program="cpu-benchmark")
    assert (median.low, median.high) == (pytest.approx(0.376), pytest.approx(0.42))
    slope = ask(landed, "density", "density.memory_per_sandbox", cpu="50m")
    assert slope.low and slope.high and slope.figure
    assert slope.low < slope.figure < slope.high


def test_every_figure_that_may_be_asked_for_is_answered(landed: Warehouse) -> None:
    for of, unit in FIGURES.items():
        assert unit_of(of) == unit, of
        evidence = ask(landed, "plain", of)
        assert evidence.figure is not None or evidence.reason, of


def test_every_filter_is_known_and_narrows_some_figure(landed: Warehouse) -> None:
    for name in FILTERS:
        reasons = [ask(landed, "plain", of, **{name: "x"}).reason or "" for of in ("exec.p50", "component.cpu_peak")]
        assert not all("cannot be narrowed" in reason for reason in reasons), name
        assert "no trial matches" not in reasons, name


@pytest.mark.parametrize(
    ("run", "check", "answer", "bound"),
    [
        ("density", {"of": "density.memory_per_sandbox", "where": {"cpu": "50m"}, "at_most": "20Mi"}, "pass", "20 MiB"),
        ("density", {"of": "density.memory_per_sandbox", "where": {"cpu": "50m"}, "at_most": "8Mi"}, "fail", "8 MiB"),
        ("phases", {"of": "component.cpu_peak", "where": {"component": "runsc"}, "at_most": "2"}, "pass",
         "2,000 millicores"),
        ("phases", {"of": "component.cpu_peak", "where": {"component": "runsc"}, "at_most": 1}, "fail",
         "1,000 millicores"),
        ("phases", {"of": "component.cpu_peak", "where": {"component": "router"}, "at_most": "500m"}, "pass",
         "500 millicores"),
        ("phases", {"of": "create.rate", "at_most": 199.5}, "fail", "200 per s"),
        ("storm", {"of": "durability.all_durable_after", "at_most": "5m"}, "fail", "300 s"),
        ("neighbours", {"of": "exec.inside_p50", "where": {"program": "cpu-benchmark"}, "at_most": "500ms"}, "pass",
         "500 ms"),
    ],
)  # fmt: skip
def test_bounds_have_the_unit_of_their_figure(
    landed: Warehouse, run: str, check: dict[str, Any], answer: str, bound: str
) -> None:
    run_id = RUNS[run].run_id
    landed.change("UPDATE runs SET checks_spec = ? WHERE run_id = ?", [[json.dumps([check]), run_id]])
    answer_checks(landed, run_id)
    found = landed.one("SELECT answer, bound FROM checks WHERE run_id = ? ORDER BY check_number", [run_id])
    assert found == (answer, f"at most {bound}")


def test_a_neighbour_of_whom_nobody_can_tell_does_not_pass(results: Path, warehouse: Warehouse) -> None:
    made = neighbours_run()
    made.rows = [row for row in made.rows if getattr(row, "scope", None) != "sandbox"]
    warehouse.land(made.write(results))
    evidence = figure(warehouse, made.run_id, "neighbours.stopped", {})
    assert evidence.answer("at_most", 0) == "insufficient"
    assert evidence.reason == "of 12 background sandboxes nobody can tell: the platform samples no single sandbox"
