"""What a command finds in a results folder before it asks anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.warehouse.segments import RunMaker, whole_run
from warehouse.results import ask, land_leftovers, newest_run, warehouse_file
from warehouse.store import Warehouse, WarehouseError

CHECKS = [{"of": "resume.failed", "at_most": 0}, {"of": "resume.p50", "at_most": "2s"}]


def answers(results: Path) -> list[tuple[str, int]]:
    return [
        (str(answer), int(n)) for answer, n in ask(results, "SELECT answer, n FROM checks ORDER BY check_number")[1]
    ]


def test_the_checks_of_a_killed_run_are_answered_when_it_is_landed(results: Path) -> None:
    made = RunMaker().run(outcome=None, ended_at=None, checks_spec=CHECKS).trial().step(outcome=None)
    made.attempt().attempt().write(results)
    assert answers(results) == [("pass", 2), ("insufficient", 2), ("insufficient", 1)]


def test_answers_follow_the_rows(results: Path) -> None:
    made = whole_run(checks_spec=CHECKS).attempt()
    made.write(results)
    assert answers(results) == [("pass", 1), ("insufficient", 1), ("pass", 2)]
    made.rows.clear()
    for _ in range(4):
        made.attempt()
    made.attempt(outcome="failed").write(results)
    assert answers(results) == [("fail", 6), ("pass", 5), ("pass", 2)]


def test_a_kill_between_the_rows_and_the_answers_is_made_good(results: Path) -> None:
    run_dir = whole_run(checks_spec=CHECKS).attempt().write(results)
    with Warehouse.open(warehouse_file(results)) as warehouse:
        warehouse.land(run_dir)
        assert warehouse.rows("SELECT * FROM checks") == []
    assert land_leftovers(results) == []
    assert answers(results) == [("pass", 1), ("insufficient", 1), ("pass", 2)]


def test_every_run_is_landed_once_and_the_newest_is_known(results: Path) -> None:
    runs = ["20261130-120000-test-abcd", "20261130-120000-test-ffff"]
    for minute, run_id in enumerate(reversed(runs)):
        RunMaker(run_id).run(started_at=f"2026-11-30T12:0{minute}:00+00:00").write(results)
    assert land_leftovers(results) == runs
    assert land_leftovers(results) == []
    assert newest_run(results) == runs[0]


@pytest.mark.parametrize("ask_for", [newest_run, lambda results: ask(results, "SELECT 1")])
def test_a_folder_without_runs_says_what_makes_one(results: Path, ask_for: object) -> None:
    assert callable(ask_for)
    with pytest.raises(WarehouseError, match="holds no run yet; `sandgauge run"):
        ask_for(results)
    assert not results.exists()
