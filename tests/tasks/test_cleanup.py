"""Ending at zero on a platform that makes it hard: pages, stragglers, deletes that fail or hang."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specs.plan import PlannedTrial
from specs.targets import SimulatedTarget
from tasks.cleanup import (
    AT_ONCE,
    DELETE_BOUND_S,
    PATIENCE_ROUNDS,
    PATIENCE_S,
    CleanUp,
    NotClean,
    clean_session,
    clean_up,
    cleanup_step,
    describe_left,
    take_stock,
)
from tasks.engine.loops import EngineLoop
from tasks.platforms.base import SandboxSpec
from tasks.platforms.simulated import SimulatedPlatform
from tasks.session import Session
from tests.engine.helpers import segment
from tests.specs.base import BASE, plan_of

SPEC = SandboxSpec(1, 2**20, ["sleep"])
ALL_PAGES = {"page_size": 50}
FIRST_PAGE = {"page_size": 50, "listing": "first_page"}


class Watched(SimulatedPlatform):
    """Notes what a clean-up does, and lets it be made harder.

    Attributes:
        rounds: sandboxes listed in each round.
        on_sweep: called at the end of each round, before its inventory.
    """

    def __init__(self, target: SimulatedTarget) -> None:
        super().__init__(target)
        self.rounds: list[int] = []
        self.deletes: list[str] = []
        self.on_sweep: Callable[[Watched], None] = lambda platform: None

    async def delete(self, name, acknowledged):
        self.deletes.append(name)
        return await super().delete(name, acknowledged)

    async def sweep(self):
        self.on_sweep(self)

    async def list(self):
        listed = await super().list()
        self.rounds.append(len(listed))
        return listed


def clean(
    count: int, on_sweep: Callable[[Watched], None] | None = None, **settings: Any
) -> tuple[CleanUp, Watched, float]:
    """Clean up so many sandboxes in virtual time; what came of it, and how long it took."""
    platform = Watched(
        SimulatedTarget.model_validate(
            {"name": "model", "platform": "simulated", "latencies": {"delete": {"median": "20ms"}}, **settings}
        )
    )
    if on_sweep:
        platform.on_sweep = on_sweep

    async def go() -> tuple[CleanUp, float]:
        for number in range(count):
            await platform.create(f"s{number:04d}", SPEC, lambda: None)
        began = asyncio.get_running_loop().time()
        result = await clean_up(platform)
        return result, asyncio.get_running_loop().time() - began

    with EngineLoop(virtual=True) as engine:
        result, took = engine.submit(go()).result(timeout=60)
    return result, platform, took


def left_sandboxes(result: CleanUp) -> list[str]:
    assert result.clean is (not any(result.left.values()))
    return result.left["sandboxes"]


# Listing


@pytest.mark.parametrize(
    ("settings", "rounds"), [({}, [130]), (ALL_PAGES, [130]), (FIRST_PAGE, [50, 50, 30])], ids=["all", "pages", "cut"]
)
def test_it_reaches_zero_however_the_listing_comes(settings: dict[str, Any], rounds: list[int]) -> None:
    result, platform, _ = clean(130, **settings)
    assert left_sandboxes(result) == []
    assert len(result.found["sandboxes"]) == 130
    assert platform.rounds == rounds


def test_a_thousand_at_fifty_a_page_are_not_too_many_rounds() -> None:
    result, platform, took = clean(1000, **FIRST_PAGE)
    assert left_sandboxes(result) == []
    assert platform.rounds == [50] * 20
    assert took < 60


def test_nothing_to_do_is_done_at_once() -> None:
    result, platform, took = clean(0)
    assert result.clean
    assert (platform.rounds, took) == ([0], 0)


# What appears meanwhile


@pytest.mark.parametrize("settings", [ALL_PAGES, FIRST_PAGE], ids=["pages", "cut"])
@pytest.mark.parametrize(("after", "times"), [(1, 70), (30, 70), (130, 20)])
def test_creates_that_land_late_are_deleted_too(after: int, times: int, settings: dict[str, Any]) -> None:
    late = {"kind": "late", "operation": "delete", "after": after, "times": times}
    result, platform, _ = clean(130, faults=[late], **settings)
    assert left_sandboxes(result) == []
    assert {name for name in platform.deletes if name.startswith("late-")} == {
        f"late-{number:05d}" for number in range(131, 131 + times)
    }


def test_a_flood_that_lands_late_is_deleted_however_many_rounds_that_takes() -> None:
    def flood(platform: Watched) -> None:
        if len(platform.rounds) == 2:
            for number in range(2000):
                platform._add(f"flood-{number:04d}", SPEC)

    result, platform, _ = clean(110, flood, **FIRST_PAGE)
    assert left_sandboxes(result) == []
    assert len(platform.rounds) == 43


def test_what_comes_back_as_fast_as_it_goes_ends_the_clean_up() -> None:
    late = {"kind": "late", "operation": "delete"}
    result, _, took = clean(20, faults=[late])
    assert len(left_sandboxes(result)) == 20
    assert PATIENCE_S <= took < 2 * PATIENCE_S


def test_what_comes_back_every_other_round_ends_the_clean_up() -> None:
    def come_back(platform: Watched) -> None:
        if len(platform.rounds) % 2:
            for number in range(3):
                platform._add(f"back-{len(platform.rounds)}-{number}", SPEC)

    # One stays, so that the total never gets to zero: it goes up to 4 and down to 1.
    stuck = {"kind": "fail", "operation": "delete", "sandbox": "s0000"}
    result, platform, took = clean(5, come_back, faults=[stuck])
    assert "s0000" in left_sandboxes(result)
    assert platform.rounds[:6] == [5, 4, 1, 4, 1, 4]
    assert PATIENCE_S <= took < 2 * PATIENCE_S


# Deletes that do not work


@pytest.mark.parametrize("kind", ["fail", "refuse", "time-out"])
def test_deletes_that_fail_at_first_are_tried_again(kind: str) -> None:
    result, platform, _ = clean(130, faults=[{"kind": kind, "operation": "delete", "times": 200}], **ALL_PAGES)
    assert left_sandboxes(result) == []
    assert len(platform.deletes) == 330


@pytest.mark.parametrize("settings", [{}, FIRST_PAGE], ids=["all", "cut"])
def test_what_cannot_be_deleted_is_named_and_does_not_keep_the_others(settings: dict[str, Any]) -> None:
    stuck = {"kind": "fail", "operation": "delete", "sandbox": "s000[0-2]"}
    result, _, took = clean(130, faults=[stuck], **settings)
    assert left_sandboxes(result) == ["s0000", "s0001", "s0002"]
    assert PATIENCE_S <= took < 2 * PATIENCE_S
    assert describe_left(result.left) == (
        "still there, and deleting makes no more progress: 3 sandboxes (s0000, s0001, s0002)"
    )


def test_deletes_that_take_effect_late_are_waited_for() -> None:
    """A system that answers at once and takes half a minute to do it, as Kubernetes may."""
    ends_at: dict[str, float] = {}

    class Slow(Watched):
        async def delete(self, name, acknowledged):
            now = asyncio.get_running_loop().time()
            if now >= ends_at.setdefault(name, now + 30):
                await super().delete(name, acknowledged)

    platform = Slow(SimulatedTarget.model_validate({"name": "model", "platform": "simulated"}))

    async def go() -> CleanUp:
        for number in range(20):
            await platform.create(f"s{number}", SPEC, lambda: None)
        return await clean_up(platform)

    with EngineLoop(virtual=True) as engine:
        assert left_sandboxes(engine.submit(go()).result(timeout=60)) == []


def test_an_error_that_no_platform_should_raise_does_not_keep_others_from_being_deleted() -> None:
    class Broken(Watched):
        async def delete(self, name, acknowledged):
            if name == "s0":
                raise KeyError(name)
            await super().delete(name, acknowledged)

    platform = Broken(SimulatedTarget.model_validate({"name": "model", "platform": "simulated"}))

    async def go() -> CleanUp:
        for number in range(20):
            await platform.create(f"s{number}", SPEC, lambda: None)
        return await clean_up(platform)

    with EngineLoop(virtual=True) as engine:
        assert left_sandboxes(engine.submit(go()).result(timeout=60)) == ["s0"]


def test_deletes_that_hang_at_first_are_bounded_and_tried_again() -> None:
    result, _, took = clean(40, faults=[{"kind": "hang", "operation": "delete", "times": 10}])
    assert left_sandboxes(result) == []
    assert DELETE_BOUND_S <= took < DELETE_BOUND_S + 2


@pytest.mark.parametrize("count", [3, 1000])
def test_a_platform_that_answers_no_delete_is_given_up_in_minutes(count: int) -> None:
    result, platform, took = clean(count, faults=[{"kind": "hang", "operation": "delete"}])
    assert len(left_sandboxes(result)) == count
    assert took < PATIENCE_ROUNDS * (DELETE_BOUND_S + 2)
    assert len(set(platform.deletes)) == min(count, PATIENCE_ROUNDS * AT_ONCE)  # not the same ones over and over


def test_those_that_hang_come_last() -> None:
    hang = {"kind": "hang", "operation": "delete", "sandbox": "s00[0-3]?"}
    result, _, _ = clean(1000, faults=[hang])
    assert left_sandboxes(result) == [f"s{number:04d}" for number in range(40)]


# Rows


@pytest.fixture
def session(tmp_path: Path):
    """A run of two trials on the model, opened."""
    made = Session(plan_of(BASE, tmp_path), tmp_path / "results")
    made.open()
    yield made
    made.close()


def stock(session: Session) -> list[tuple[Any, ...]]:
    session.recorder.flush()
    rows = segment(session.run_dir, "inventory")
    return [(row["trial"], row["moment"], row["kind"], row["count"], row["names"]) for row in rows]


async def with_two(session: Session) -> None:
    for name in ("a", "b"):
        await session.platform.create(name, SPEC, lambda: None)
    await session.platform.resume("a", lambda: None)
    await session.platform.suspend("a", lambda: None)


def test_a_clean_up_step_records_what_it_found_and_what_the_trial_starts_with(session: Session) -> None:
    session.in_engine(with_two(session))
    session.in_engine(clean_session(session, 0))
    assert stock(session) == [
        (0, "found", "sandboxes", 2, ["a", "b"]),
        (0, "found", "snapshots", 1, ["a/1"]),
        (0, "start", "sandboxes", 0, []),
        (0, "start", "snapshots", 0, []),
    ]


def test_the_last_clean_up_records_what_is_left(session: Session) -> None:
    session.in_engine(with_two(session))
    session.in_engine(clean_session(session, None, end=True))
    assert stock(session) == [(None, "end", "sandboxes", 0, []), (None, "end", "snapshots", 0, [])]


def test_taking_stock_records_what_a_trial_leaves_and_removes_nothing(session: Session) -> None:
    session.in_engine(with_two(session))
    for trial in (0, 1):
        session.in_engine(take_stock(session, trial))
    assert stock(session) == [
        (trial, "after", kind, count, names)
        for trial in (0, 1)
        for kind, count, names in (("sandboxes", 2, ["a", "b"]), ("snapshots", 1, ["a/1"]))
    ]


def test_stock_that_cannot_be_taken_is_a_row_with_a_reason(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken() -> dict[str, list[str]]:
        raise OSError("no such place")

    monkeypatch.setattr(session.platform, "inventory", broken)
    session.in_engine(take_stock(session, 0))
    monkeypatch.undo()
    assert stock(session) == [(0, "after", "sandboxes", None, [])]
    (row,) = segment(session.run_dir, "inventory")
    assert row["reason"] == "the inventory could not be taken: no such place"


def test_a_clean_up_step_that_does_not_reach_zero_fails_and_says_what_is_left(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(name: str, acknowledged: Callable[[], None]) -> None:
        """Answer, and do nothing."""

    monkeypatch.setattr(session.platform, "delete", never)
    session.in_engine(with_two(session))
    trial: PlannedTrial = session.plan.trials[0]
    with pytest.raises(NotClean, match=r"2 sandboxes \(a, b\); 1 snapshots \(a/1\)$"):
        asyncio.run(cleanup_step.fn(session, trial, 0, 1))
    assert [row[:4] for row in stock(session) if row[1] == "start"] == [
        (0, "start", "sandboxes", 2),
        (0, "start", "snapshots", 1),
    ]
    (step,) = [row for row in segment(session.run_dir, "steps") if row["outcome"]]
    assert step["outcome"] == "failed"
    assert "still there" in step["error"]
