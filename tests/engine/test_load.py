"""What a load step does, exactly, on a platform whose latencies are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import exact, play

LIFE = ["create", "resume", "suspend", "delete"]


def test_every_operation_ends_before_the_next_begins(tmp_path: Path) -> None:
    played = play(tmp_path, {"do": LIFE}, 5, latencies=exact(create="10ms", resume="1s", suspend="2s", delete="1s"))
    assert [row["operation"] for row in played.attempts] == [operation for operation in LIFE for _ in range(5)]
    assert played.took_s == pytest.approx(4.01)
    for operation, seconds in {"resume": 1.0, "suspend": 2.0}.items():
        for row in played.of(operation):
            assert row["ready_s"] - row["started_s"] == pytest.approx(seconds)


def test_a_closed_loop_keeps_no_more_in_flight_than_asked(tmp_path: Path) -> None:
    played = play(tmp_path, {"do": ["create", "resume"], "pacing": {"in_flight": 3}}, 10, latencies=exact(resume="1s"))
    resumes = played.of("resume")
    assert max(row["in_flight"] for row in resumes) == 3
    assert played.took_s == pytest.approx(4.0)  # ten at three a second
    assert all(row["intended_s"] == row["started_s"] for row in resumes)


def test_a_burst_is_due_at_one_moment(tmp_path: Path) -> None:
    played = play(tmp_path, {"do": ["create", "resume"]}, 8, latencies=exact(resume="1s"))
    assert len({row["intended_s"] for row in played.of("resume")}) == 1
    assert max(row["in_flight"] for row in played.of("resume")) == 8


def test_an_open_loop_does_not_wait_for_the_system(tmp_path: Path) -> None:
    load = {"do": ["create"], "pacing": {"rate": 10}}
    played = play(tmp_path, load, 20, latencies=exact(create="5s"))
    assert [row["intended_s"] for row in played.of("create")] == pytest.approx([n / 10 for n in range(20)])
    assert played.took_s == pytest.approx(1.9 + 5)


def test_until_refused_ends_after_the_batch_in_which_it_happened(tmp_path: Path) -> None:
    load = {"do": ["create", "resume"], "pacing": {"in_flight": 4}, "batch": 4, "until": "refused"}
    played = play(tmp_path, load, 100, allocatable={"cpu": "1", "memory": "1Gi"}, latencies=exact(resume="1s"))
    assert played.outcome == "refused"
    assert len(played.of("resume", "ok")) == 10
    refused = [row for row in played.attempts if row["outcome"] == "refused"]
    assert {row["resource"] for row in refused} == {"cpu"}
    assert all("no worker has room" in row["error"] for row in refused)
    assert {row["batch"] for row in played.attempts} == {0, 1, 2}


def test_the_first_resume_boots_and_later_ones_restore(tmp_path: Path) -> None:
    load = {"do": ["resume", "suspend"], "repeat": 3}
    played = play(tmp_path, {"do": ["create", *load["do"]], "repeat": 1}, 2)
    assert {row["how"] for row in played.of("resume")} == {"booted"}
    played = play(tmp_path / "b", {"do": ["create", "resume", "suspend", "resume"]}, 2)
    assert [row["how"] for row in played.of("resume")] == ["booted", "booted", "restored", "restored"]


def test_what_needs_a_sandbox_that_never_ran_is_skipped_with_the_reason(tmp_path: Path) -> None:
    faults = [{"kind": "fail", "operation": "resume", "after": 1, "times": 1}]
    played = play(tmp_path, {"do": ["create", "resume", "suspend"], "pacing": {"in_flight": 1}}, 3, faults=faults)
    assert [row["outcome"] for row in played.of("resume")] == ["failed", "ok", "ok"]
    assert [row["outcome"] for row in played.of("suspend")] == ["skipped", "ok", "ok"]
    skipped = played.of("suspend", "skipped")[0]
    assert skipped["started_s"] is None and skipped["ended_s"] is None
    assert "created" in skipped["error"]


def test_a_hang_becomes_a_timed_out_row_and_the_run_goes_on(tmp_path: Path) -> None:
    faults = [{"kind": "hang", "operation": "resume", "after": 2, "times": 1}]
    load = {"do": ["create", "resume"], "pacing": {"in_flight": 1}, "timeout": "15s"}
    played = play(tmp_path, load, 3, faults=faults, latencies=exact(resume="1s"))
    assert [row["outcome"] for row in played.of("resume")] == ["ok", "timed_out", "ok"]
    hung = played.of("resume", "timed_out")[0]
    assert hung["ready_s"] is None
    assert hung["ended_s"] - hung["started_s"] == pytest.approx(15.0)


def test_a_stall_is_seen_by_every_call_due_during_it(tmp_path: Path) -> None:
    """Open loop: what arrives while the system stalls waits, and its response time says so."""
    faults = [{"kind": "stall", "operation": "create", "after": 11, "times": 1, "lasting": "10s"}]
    load = {"do": ["create"], "pacing": {"rate": 10}}
    played = play(tmp_path, load, 200, faults=faults, latencies=exact(create="1ms"))
    responses = [row["ready_s"] - row["intended_s"] for row in played.of("create")]
    assert responses[9] == pytest.approx(0.001)
    assert responses[10] == pytest.approx(10.0)
    assert responses[60] == pytest.approx(5.0)
    assert responses[150] == pytest.approx(0.001)


def test_bookings_are_given_back_by_what_did_not_work(tmp_path: Path) -> None:
    faults = [{"kind": "hang", "operation": "resume", "after": 1, "times": 10}]
    load = {"do": ["create", "resume"], "timeout": "1s", "repeat": 1}
    played = play(tmp_path, load, 10, faults=faults, allocatable={"cpu": "1", "memory": "1Gi"})
    assert {row["outcome"] for row in played.of("resume")} == {"timed_out"}
    assert not played.of("resume", "refused")


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 40), limit=st.integers(1, 50), batch=st.integers(1, 50), repeat=st.integers(1, 3))
def test_every_planned_attempt_is_a_row(
    tmp_path_factory: pytest.TempPathFactory, count: int, limit: int, batch: int, repeat: int
) -> None:
    load = {"do": LIFE, "pacing": {"in_flight": limit}, "batch": batch, "repeat": repeat}
    played = play(tmp_path_factory.mktemp("run"), load, count, allocatable={"cpu": "100", "memory": "100Gi"})
    assert [row["attempt"] for row in sorted(played.attempts, key=lambda row: row["attempt"])] == list(
        range(count * len(LIFE) * repeat)
    )
    assert {row["outcome"] for row in played.attempts} == {"ok"}
    assert max(row["in_flight"] for row in played.attempts) <= limit


def test_the_same_seed_plays_the_same(tmp_path: Path) -> None:
    load = {"do": ["create", "resume"], "pacing": {"rate": 50, "arrivals": "poisson"}}
    latencies = {"resume": {"median": "150ms", "spread": 0.5}}
    one, two, other = (
        play(tmp_path / name, load, 20, seed=seed, latencies=latencies)
        for name, seed in {"a": 1, "b": 1, "c": 2}.items()
    )
    assert one.attempts == two.attempts
    assert [row["intended_s"] for row in one.attempts] != [row["intended_s"] for row in other.attempts]
