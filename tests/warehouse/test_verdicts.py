from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.warehouse.published_runs import neighbours_run
from tests.warehouse.segments import RunMaker, whole_run
from warehouse.store import Warehouse
from warehouse.summary import run_verdict


def made(**columns: Any) -> RunMaker:
    return whole_run(**columns).attempt()


def late(seconds: float, of: int = 10) -> RunMaker:
    run = whole_run()
    for number in range(of):
        run.attempt(late=seconds if number == 0 else 0.0)
    return run


def lagging(seconds: float) -> RunMaker:
    return made().sample("loop_lag_s", seconds, 5.0, "generator", unit="s")


def without_counting(moment: str) -> RunMaker:
    run = made()
    run.rows = [row for row in run.rows if getattr(row, "moment", None) != moment]
    return run


CASES: list[tuple[str, str, str, RunMaker]] = [
    ("all well", "valid", "", made()),
    ("refused is a result", "valid", "", whole_run().attempt(outcome="refused")),
    ("until refused", "valid", "", RunMaker().run().trial().step(outcome="refused").inventory("end").attempt()),
    ("killed", "partial", "the run has no end: it was killed, or is still running", made(outcome=None)),
    ("failed", "partial", "the run failed: the lock was lost", made(outcome="failed", error="the lock was lost")),
    ("cancelled", "partial", "the run was cancelled", made(outcome="cancelled", error="cancelled")),
    ("too few trials", "partial", "1 of 3 trials were begun", made(trials_planned=3)),
    ("a trial without an end", "partial", "1 of 1 trials did not finish", made().trial(0, outcome=None)),
    ("a step that failed", "partial", "1 of 2 steps did not finish", made().step(0, 3, outcome="failed")),
    ("no attempts", "partial", "no attempt was made", whole_run()),
    ("not clean", "contaminated", "leftovers: 2 sandboxes at the start", made().inventory("start", 0, 2)),
    ("not counted", "contaminated", "leftovers: unknown sandboxes at the start", made().inventory("start", 0, None)),
    ("left behind", "contaminated", "leftovers: 1 sandboxes at the end", made().inventory("end", None, 1)),
    ("start", "contaminated", "what was there at the start was not counted", without_counting("start")),
    ("end", "contaminated", "what was left at the end was not counted", without_counting("end")),
    ("found is no fault", "valid", "", made().inventory("found", 0, 7)),
    ("late", "generator-limited", "1 in 100 attempts started over 0.3 s late", late(0.3)),
    ("a little late", "valid", "", late(0.09)),
    ("seldom late", "valid", "", late(0.3, of=150)),
    ("lagging", "generator-limited", "the event loop lagged by 0.25 s (p99)", lagging(0.25)),
    ("lagging a little", "valid", "", lagging(0.05)),
    ("a hog ended", "contaminated", "background: 1 of 4 cpu-hogs ended in trial 1", neighbours_run(fate="ended")),
    ("a hog stopped", "contaminated", "background: 1 of 4 cpu-hogs stopped loading in trial 1",
     neighbours_run(fate="stopped")),
    ("hogs went on", "valid", "", neighbours_run()),
    ("a hog never began", "contaminated", "background: 1 of 2 hogs did not start in trial 0", made().group(
        0, "hogs", 2, background=True).attempt(group_name="hogs").attempt(group_name="hogs", outcome="refused")),
    ("after its steps is no leak", "valid", "", made().inventory("after", 0, 7)),
    ("worst first", "partial", "the run was cancelled",
     lagging(9.0).inventory("start", 0, 1).run(outcome="cancelled", error="cancelled")),
    ("worst but one", "contaminated", "leftovers: 1 sandboxes at the start", lagging(9.0).inventory("start", 0, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("verdict", "reason", "run"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_verdict_follows_from_the_rows(
    results: Path, warehouse: Warehouse, verdict: str, reason: str, run: RunMaker
) -> None:
    warehouse.land(run.write(results))
    assert run_verdict(warehouse, run.run_id) == (verdict, reason)
    assert warehouse.one("SELECT usable FROM run_verdicts") == (verdict == "valid",)
