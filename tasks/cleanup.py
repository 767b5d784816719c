"""Start from zero, end at zero: delete until nothing is listed, and prove it with an inventory."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from prefect import task
from prefect.cache_policies import NO_CACHE

from specs.plan import PlannedTrial
from tasks.engine.attempts import Roster
from tasks.platforms.base import Platform, PlatformError
from tasks.session import Session
from warehouse.rows import Inventory

AT_ONCE = 16
DELETE_BOUND_S = 60.0
PATIENCE_ROUNDS = 5
PATIENCE_S = 60.0
"""Longer than a system takes that gives a sandbox half a minute to end by itself."""


class NotClean(Exception):
    """Something of ours is left, although it was deleted; says what."""


@dataclass(frozen=True, slots=True)
class CleanUp:
    """What a clean-up found, and what it left: names by kind."""

    found: dict[str, list[str]]
    left: dict[str, list[str]]

    @property
    def clean(self) -> bool:
        """Whether nothing is left."""
        return not any(self.left.values())


class _Patience:
    """Goes on as long as rounds make progress, and a little longer.

    A round is futile when as much is left after it as before, or more. Futile rounds are forgotten
    when less is left than ever before: so what appears late, a thousand of them even, is removed
    however many rounds that takes, and what comes back as fast as it goes ends the clean-up.
    """

    def __init__(self, total: int) -> None:
        self._clock = asyncio.get_running_loop().time
        self._lowest = self._before = total
        self._lowest_at = self._clock()
        self.futile = 0

    def is_worn_out(self, total: int) -> bool:
        """Take note of what a round left; whether there is no use in another."""
        if total < self._lowest:
            self._lowest, self._lowest_at, self.futile = total, self._clock(), 0
        elif total >= self._before:
            self.futile += 1
        self._before = total
        return self.futile >= PATIENCE_ROUNDS and self._clock() - self._lowest_at >= PATIENCE_S

    async def pause(self) -> None:
        """Wait for what takes effect late; the longer, the less the rounds before it achieved."""
        await asyncio.sleep(min(0.1 * 2**self.futile, 2.0))


async def clean_up(platform: Platform) -> CleanUp:
    """Delete every sandbox of ours, round after round until none is left, then sweep what they left.

    Once is not enough where listing comes in pages or deleting takes effect late: what counts is
    the inventory, and not the listing. It goes on while rounds make progress, so that a listing of
    50 at most empties a platform of thousands. A sandbox that cannot be deleted does not keep
    others from being deleted.
    """
    found = await platform.inventory()
    patience = _Patience(_total(found))
    hung: Counter[str] = Counter()
    while True:
        names = [listed.name for listed in await platform.list()]
        hung.update(await _delete(platform, sorted(names, key=hung.__getitem__)))
        await platform.sweep()
        left = await platform.inventory()
        if not _total(left) or patience.is_worn_out(_total(left)):
            return CleanUp(found, left)
        await patience.pause()


def _total(kinds: dict[str, list[str]]) -> int:
    return sum(len(names) for names in kinds.values())


async def _delete(platform: Platform, names: Iterable[str]) -> list[str]:
    """Delete, and return the names of those whose delete did not end.

    Whoever waited in vain while no other delete was answered either stops, and leaves the rest to
    the next round, which begins with what was not tried: else a platform that answers nothing
    would take its bound for every one of thousands.
    """
    waiting = iter(names)
    hung: list[str] = []
    answered = 0

    async def work() -> None:
        nonlocal answered
        for name in waiting:
            before = answered
            bound = asyncio.timeout(DELETE_BOUND_S)
            try:
                async with bound:
                    await platform.delete(name, _nothing)
            except Exception:  # noqa: BLE001 - the next round lists it again, and the inventory names what stays
                pass
            if not bound.expired():
                answered += 1
                continue
            hung.append(name)
            if answered == before:
                return

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return hung


def _nothing() -> None:
    return None


async def clean_session(session: Session, trial: int | None, *, end: bool = False) -> CleanUp:
    """Clean up for a run, and record what was found and what is left."""
    result = await clean_up(session.platform)
    session.roster = Roster()
    moments = [("end", result.left)] if end else [("found", result.found), ("start", result.left)]
    for moment, kinds in moments:
        _record(session, trial, moment, kinds)
    return result


async def take_stock(session: Session, trial: int) -> None:
    """Record what of ours exists when a trial's steps have ended, before anything of it is removed.

    An inventory that cannot be taken is a row with a reason: it says nothing against what was measured.
    """
    try:
        kinds = await session.platform.inventory()
    except (PlatformError, OSError) as error:
        reason = f"the inventory could not be taken: {error}"
        session.recorder.write(Inventory(session.run_id, trial, session.now(), "after", "sandboxes", None, [], reason))
    else:
        _record(session, trial, "after", kinds)


def _record(session: Session, trial: int | None, moment: str, kinds: dict[str, list[str]]) -> None:
    for kind, names in kinds.items():
        session.recorder.write(Inventory(session.run_id, trial, session.now(), moment, kind, len(names), names[:100]))


async def _clean_step(session: Session, trial: PlannedTrial, index: int) -> None:
    session.observer.step_started(trial.index, "cleanup", 0)
    async with session.step(trial, index, "cleanup", "cleanup"):
        result = await clean_session(session, trial.index)
        if not result.clean:
            raise NotClean(describe_left(result.left))


def describe_left(left: dict[str, list[str]]) -> str:
    """What is left, by kind, with a few names."""
    parts = [f"{len(names)} {kind} ({', '.join(names[:3])})" for kind, names in left.items() if names]
    return f"still there, and deleting makes no more progress: {'; '.join(parts)}"


@task(name="cleanup", task_run_name="trial {number}: cleanup", cache_policy=NO_CACHE, persist_result=False)
async def cleanup_step(session: Session, trial: PlannedTrial, index: int, number: int) -> None:
    """The step `cleanup`.

    Raises:
        NotClean: something of ours could not be removed; no load is put beside it.
    """
    await session.engine.call(_clean_step(session, trial, index))


@task(name="end at zero", cache_policy=NO_CACHE, persist_result=False)
async def final_cleanup(session: Session) -> bool:
    """Clean up after the last trial; returns whether nothing is left."""
    return (await session.engine.call(clean_session(session, None, end=True))).clean
