"""A load step: leads a group's sandboxes through operations at the pacing that was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from specs.models import Exec, InFlight, Load, Rate, operation_of
from tasks.engine.attempts import Attempts, Call, Place, Roster, call_of
from tasks.engine.pacing import arrival_offsets
from tasks.platforms.base import Platform, SandboxSpec

Progress = Callable[[str], None]
"""Told the outcome of every attempt."""

# A platform that answers at once would never let the loop breathe, and the sampler would starve.
_BREATHE_EVERY_S = 0.01


@dataclass(slots=True)
class LoadRun:
    """One load step under way.

    Attributes:
        names: the group's sandboxes, in order.
        seed: of the schedule, for open-loop pacing.
    """

    load: Load
    names: Sequence[str]
    spec: SandboxSpec
    trial: int
    step: int
    seed: int
    platform: Platform
    attempts: Attempts
    roster: Roster
    progress: Progress

    async def run(self) -> str:
        """Do the whole step; returns `finished`, or `refused` when `until: refused` ended it."""
        load = self.load
        size = load.batch or len(self.names)
        batch_number = 0
        for round_number in range(load.repeat):
            for start in range(0, len(self.names), size):
                refused = await self._batch(self.names[start : start + size], round_number, batch_number)
                batch_number += 1
                if load.hold:
                    await asyncio.sleep(load.hold)
                if refused and load.until == "refused":
                    return "refused"
        return "finished"

    async def _batch(self, names: Sequence[str], round_number: int, batch_number: int) -> bool:
        """Lead one batch through every operation; returns whether an attempt was refused."""
        load = self.load
        refused_before = self.attempts.outcomes["refused"]
        for action in load.do:
            program = action.program if isinstance(action, Exec) else None
            place = Place(
                self.trial,
                self.step,
                round_number,
                batch_number,
                load.group,
                operation_of(action),
                load.timeout,
                program,
            )
            await self._pace(call_of(self.platform, action, self.spec, self.seed), names, place)
        return self.attempts.outcomes["refused"] > refused_before

    async def _pace(self, call: Call, names: Sequence[str], place: Place) -> None:
        pacing = self.load.pacing
        if isinstance(pacing, InFlight):
            await self._closed_loop(call, names, place, pacing.in_flight)
        elif isinstance(pacing, Rate):
            # One schedule a batch and operation, each with a seed of its own.
            seed = f"{self.seed}/{place.round}/{place.batch}/{place.operation}"
            await self._open_loop(call, names, place, arrival_offsets(pacing, len(names), seed))
        else:
            await self._open_loop(call, names, place, [0.0] * len(names))

    async def _attempt(self, call: Call, name: str, place: Place, intended: float | None = None) -> None:
        self.progress((await self.attempts.make(call, name, place, self.roster, intended)).outcome)

    async def _closed_loop(self, call: Call, names: Sequence[str], place: Place, limit: int) -> None:
        """Keep `limit` attempts in flight: each of so many workers takes the next name when it is free."""
        waiting = iter(names)
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(limit, len(names))):
                workers.create_task(self._worker(call, waiting, place))

    async def _worker(self, call: Call, waiting: Iterator[str], place: Place) -> None:
        clock = asyncio.get_running_loop().time
        breathed = clock()
        for name in waiting:
            await self._attempt(call, name, place)
            if clock() - breathed > _BREATHE_EVERY_S:
                await asyncio.sleep(0)
                breathed = clock()

    async def _open_loop(self, call: Call, names: Sequence[str], place: Place, offsets: Sequence[float]) -> None:
        """Start each attempt at its time from one origin, whatever became of those before it.

        A burst is the case in which all are due at once: its origin is the moment before the
        first starts, so that the skew between the first and the last is part of their lateness.
        """
        loop = asyncio.get_running_loop()
        origin = loop.time()
        async with asyncio.TaskGroup() as started:
            for name, offset in zip(names, offsets, strict=True):
                delay = origin + offset - loop.time()
                if delay > 0:
                    await asyncio.sleep(delay)
                started.create_task(self._attempt(call, name, place, origin - self.attempts.origin + offset))
