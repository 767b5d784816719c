"""Start from zero, end at zero: delete until nothing is listed, and prove it with an inventory."""

from __future__ import annotations

import asyncio
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
ROUNDS = 20
DELETE_BOUND_S = 60.0


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


async def clean_up(platform: Platform) -> CleanUp:
    """Delete every sandbox of ours, round after round until none is listed, then sweep what they left.

    Once is not enough where listing comes in pages or deleting takes effect late. Bounded by
    `ROUNDS`; a sandbox that cannot be deleted does not keep others from being deleted.
    """
    found = await platform.inventory()
    for round_number in range(ROUNDS):
        names = [listed.name for listed in await platform.list()]
        if names:
            await _delete(platform, names)
        await platform.sweep()
        left = await platform.inventory()
        if not any(left.values()):
            break
        await asyncio.sleep(min(0.1 * 2**round_number, 2.0))
    return CleanUp(found, left)


async def _delete(platform: Platform, names: Iterable[str]) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def delete(name: str) -> None:
        async with gate:
            try:
                async with asyncio.timeout(DELETE_BOUND_S):
                    await platform.delete(name, _nothing)
            except (PlatformError, TimeoutError):
                return  # the next round lists it again, and the inventory names what stays

    await asyncio.gather(*(delete(name) for name in names))


def _nothing() -> None:
    return None


async def clean_session(session: Session, trial: int | None, *, end: bool = False) -> CleanUp:
    """Clean up for a run, and record what was found and what is left."""
    result = await clean_up(session.platform)
    session.roster = Roster()
    moments = [("end", result.left)] if end else [("found", result.found), ("start", result.left)]
    for moment, kinds in moments:
        for kind, names in kinds.items():
            session.recorder.write(
                Inventory(session.run_id, trial, session.now(), moment, kind, len(names), names[:100])
            )
    return result


async def _clean_step(session: Session, trial: PlannedTrial, index: int) -> None:
    session.observer.step_started(trial.index, "cleanup", 0)
    async with session.step(trial, index, "cleanup", "cleanup"):
        result = await clean_session(session, trial.index)
        if not result.clean:
            raise NotClean(describe_left(result.left))


def describe_left(left: dict[str, list[str]]) -> str:
    """What is left, by kind, with a few names."""
    parts = [f"{len(names)} {kind} ({', '.join(names[:3])})" for kind, names in left.items() if names]
    return f"still there after {ROUNDS} rounds of deleting: {'; '.join(parts)}"


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
