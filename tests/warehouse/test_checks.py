from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.warehouse.segments import RunMaker, density_run, whole_run
from warehouse.checks import answer_checks
from warehouse.store import Warehouse


def run_with_every_case() -> RunMaker:
    """Cpu 1 is quick, cpu 2 slow, cpu 3 only times out and cpu 4 has five boots and five restores."""
    made = RunMaker().run(trials_planned=4).inventory("end")
    for trial in range(4):
        made.trial(trial, {"cpu": trial + 1, "kind": "a" if trial < 2 else "b"}).step(trial)
    for number in range(100):
        made.attempt(seconds=1.0 + number / 100, trial=0)
        made.attempt(seconds=5.0 + number / 100, trial=1)
    for _ in range(20):
        made.attempt(seconds=15.0, trial=2, outcome="timed_out")
    for number in range(5):
        made.attempt(seconds=4.0, trial=3, how="booted", sandbox=f"x{number}")
        made.attempt(seconds=1.0, trial=3, how="restored", sandbox=f"x{number}")
    made.attempt("suspend", 0.1, trial=0).attempt("suspend", 0.1, trial=0, outcome="failed")
    made.attempt("exec", 0.1, trial=0, outcome="skipped")
    for _ in range(95):
        made.attempt("wake", 1.0, trial=0)
    for _ in range(5):
        made.attempt("wake", 15.0, trial=0, outcome="timed_out")
    return made


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    results = tmp_path_factory.mktemp("results")
    with Warehouse.open(results / "warehouse.duckdb") as warehouse:
        warehouse.land(run_with_every_case().write(results))
        yield warehouse


def answer(warehouse: Warehouse, check: dict[str, Any]) -> dict[str, Any]:
    warehouse.change("UPDATE runs SET checks_spec = ?", [[json.dumps([check])]])
    answer_checks(warehouse, RunMaker().run_id)
    record, _ = warehouse.records("SELECT * FROM checks ORDER BY check_number")
    return record


def cpu(number: int, **more: Any) -> dict[str, Any]:
    return {"cpu": number, **more}


@pytest.mark.parametrize(
    ("check", "expected", "observed", "n"),
    [
        ({"of": "resume.p50", "where": cpu(1), "at_most": "1495ms"}, "pass", 1.49, 100),
        ({"of": "resume.p50", "where": cpu(1), "at_most": "1480ms"}, "fail", 1.49, 100),
        ({"of": "resume.p50", "where": cpu(1), "at_least": "1s"}, "pass", 1.49, 100),
        ({"of": "resume.p95", "where": cpu(2), "at_most": "1m"}, "pass", 5.94, 100),
        ({"of": "resume.p50", "where": {"kind": "a"}, "at_most": "2s"}, "pass", 1.99, 200),
        ({"of": "resume.p99", "where": {"kind": "a"}, "at_most": "2s"}, "fail", 5.97, 200),
        ({"of": "resume.p99", "where": cpu(3), "at_most": "1h"}, "insufficient", None, 20),
        ({"of": "resume.p50", "where": cpu(3), "at_most": "1h"}, "insufficient", None, 20),
        ({"of": "resume.p50", "where": cpu(4, how="booted"), "at_most": "3s"}, "fail", 4.0, 5),
        ({"of": "resume.p50", "where": cpu(4, how="restored"), "at_most": "3s"}, "pass", 1.0, 5),
        ({"of": "resume.p95", "where": cpu(4), "at_most": "1h"}, "insufficient", None, 10),
        ({"of": "resume.max", "where": cpu(4), "at_most": "4s"}, "pass", 4.0, 10),
        ({"of": "resume.p50", "where": cpu(9), "at_most": "1h"}, "insufficient", None, 0),
        ({"of": "resume.p50", "where": {"group": "others"}, "at_most": "1h"}, "insufficient", None, 0),
        ({"of": "wake.p95", "at_most": "2s"}, "pass", 1.0, 100),
        ({"of": "wake.p99", "at_most": "2s"}, "fail", None, 100),
        ({"of": "wake.p99", "at_most": "15s"}, "fail", None, 100),
        ({"of": "wake.p99", "at_most": "16s"}, "insufficient", None, 100),
        ({"of": "wake.p99", "at_least": "10s"}, "pass", None, 100),
        ({"of": "wake.timed_out", "at_most": 4}, "fail", 5.0, 100),
        ({"of": "suspend.failed", "at_most": 0}, "fail", 1.0, 2),
        ({"of": "suspend.failed", "at_most": 1}, "pass", 1.0, 2),
        ({"of": "suspend.ok", "at_least": 1}, "pass", 1.0, 2),
        ({"of": "suspend.attempts", "at_least": 3}, "fail", 2.0, 2),
        ({"of": "delete.failed", "at_most": 0}, "insufficient", None, 0),
        ({"of": "exec.failed", "at_most": 0}, "insufficient", None, 0),
        ({"of": "exec.ok", "at_least": 0}, "insufficient", None, 0),
        ({"of": "density.running", "at_least": 1}, "insufficient", None, 0),
    ],
    ids=lambda value: f"{value['of']}-{value.get('where', '')}" if isinstance(value, dict) else "",
)
def test_a_check_is_answered_from_the_rows(
    landed: Warehouse, check: dict[str, Any], expected: str, observed: float | None, n: int
) -> None:
    record = answer(landed, check)
    assert (record["answer"], record["n"]) == (expected, n)
    assert record["observed"] == (None if observed is None else pytest.approx(observed))
    assert (record["reason"] is not None) == (observed is None)


def test_density_is_the_least_of_the_ceilings(results: Path, warehouse: Warehouse) -> None:
    made = density_run(repetitions=2)
    made.rows[0].checks_spec = [
        {"of": "density.running", "where": {"cpu": "50m"}, "at_least": 40},
        {"of": "density.running", "at_least": 3},
    ]
    warehouse.land(made.write(results))
    answer_checks(warehouse, made.run_id)
    rows = warehouse.rows("SELECT answer, observed, n FROM checks ORDER BY check_number")
    assert rows == [("pass", 40.0, 2), ("fail", 2.0, 6), ("pass", 0.0, 7)]


def test_answering_twice_leaves_one_answer(landed: Warehouse) -> None:
    first = answer(landed, {"of": "resume.ok", "at_least": 1})
    answer_checks(landed, RunMaker().run_id)
    assert landed.records("SELECT * FROM checks")[:-1] == [first]


def left(warehouse: Warehouse, made: RunMaker, results: Path) -> tuple[Any, ...]:
    warehouse.land(made.write(results))
    answer_checks(warehouse, made.run_id)
    [row] = warehouse.rows("SELECT answer, observed, reason, bound FROM checks WHERE of_figure = 'inventory.left'")
    return row


@pytest.mark.parametrize(
    ("made", "answer", "observed", "reason"),
    [
        (whole_run(), "pass", 0.0, None),
        (whole_run().inventory("found", 0, 9).inventory("after", 0, 9), "pass", 0.0, None),
        (whole_run().inventory("start", 0, 2), "fail", 2.0, "2 sandboxes at the start of trial 0"),
        (whole_run().inventory("end", None, 3), "fail", 3.0, "3 sandboxes at the end"),
        (whole_run().inventory("end", None, None), "insufficient", None, "1 kinds could not be counted"),
        (whole_run().inventory("start", 0, None).inventory("end", None, 3), "fail", None,
         "3 sandboxes at the end; 1 kinds could not be counted"),
        (RunMaker().run().trial(), "insufficient", None, "what was left at the end was not counted"),
        (RunMaker().run().inventory("end"), "pass", 0.0, None),
        (RunMaker().run(), "insufficient", None, "what was left at the end was not counted"),
    ],
)  # fmt: skip
def test_every_run_is_asked_whether_anything_was_left(
    results: Path, warehouse: Warehouse, made: RunMaker, answer: str, observed: float | None, reason: str | None
) -> None:
    assert left(warehouse, made, results) == (answer, observed, reason, "at most 0")
