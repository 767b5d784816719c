"""A run under way: what its steps share.

A session opens the platform in the engine's own thread, and gives every step the recorder, the
attempts and the clock. The steps are in `tasks.cleanup`, `tasks.provisioning` and `tasks.load`;
who calls them in which order is in `flows.run_scenario`.
"""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeVar

from specs.plan import Plan, PlannedTrial
from specs.targets import SimulatedTarget
from tasks.engine.attempts import Attempts, Roster
from tasks.engine.loops import EngineLoop
from tasks.engine.recorder import Recorder, RecordingError
from tasks.platforms.base import Fact, Unavailable
from tasks.platforms.registry import make_platform
from warehouse.rows import FactRow, Group, Run, Step, Trial

T = TypeVar("T")
_GENERATOR_PACKAGES = ("prefect", "duckdb")
_UNOWNED_RUN = "a run needs a plan with at least one trial"


class Observer(Protocol):
    """Watches a run, to show its progress. Its methods are called from the engine's thread."""

    def step_started(self, trial: int, label: str, attempts: int) -> None: ...
    def attempt_ended(self, outcome: str) -> None: ...
    def step_ended(self, outcome: str) -> None: ...


class Unwatched:
    """The observer of a run that nobody watches."""

    def step_started(self, trial: int, label: str, attempts: int) -> None:
        """Say nothing."""

    def attempt_ended(self, outcome: str) -> None:
        """Say nothing."""

    def step_ended(self, outcome: str) -> None:
        """Say nothing."""


def new_run_id(scenario: str, now: datetime | None = None) -> str:
    """A name for a run that sorts by time: `20261130-235901-density-1f3a`."""
    now = now or datetime.now(UTC)
    return f"{now:%Y%m%d-%H%M%S}-{scenario}-{secrets.token_hex(2)}"


class Session:
    """One run: its plan, platform, recorder, clock and place on disk.

    Attributes:
        run: the run's row; written at the start and again at the end.
        run_dir: where its segments, charts and report are.
        failure: why the run did not finish, in one message; None while all is well.
    """

    def __init__(self, plan: Plan, results: Path, observer: Observer | None = None) -> None:
        if not plan.trials:
            raise ValueError(_UNOWNED_RUN)
        self.plan = plan
        self.observer: Observer = observer or Unwatched()
        self.results = results
        document = plan.document
        self.run_id = new_run_id(document.name)
        self.run_dir = results / "runs" / self.run_id
        self.recorder = Recorder(self.run_dir)
        self.platform = make_platform(plan.target)
        virtual = isinstance(plan.target, SimulatedTarget) and plan.target.time == "virtual"
        self.engine = EngineLoop(virtual=virtual)
        self.attempts: Attempts
        self.roster = Roster()
        self.failure: str | None = None
        self._closed = False
        self.run = Run(
            run_id=self.run_id,
            scenario=document.name,
            title=document.title,
            size=document.size,
            target=plan.target.name,
            platform=plan.target.platform,
            simulated=self.platform.simulated,
            started_at=datetime.now(UTC).isoformat(),
            seed=document.seed,
            trials_planned=len(plan.trials),
            attempts_planned=plan.estimates.attempts_at_most,
            vantage=f"{socket.gethostname()}, process {os.getpid()}",
            scenario_sha256=document.sha256,
            scenario_yaml=document.text,
            overrides=dict(document.overrides),
            target_spec=plan.target.model_dump(mode="json"),
            checks_spec=[check.model_dump(mode="json", exclude_none=True) for check in plan.trials[0].scenario.checks],
            sandgauge_version=version("sandgauge"),
        )

    def open(self) -> None:
        """Open the platform, and only then leave anything on disk.

        Raises:
            tasks.platforms.base.Unavailable: the platform cannot run here, another run uses it, or
                results cannot be written.
        """
        self.engine.__enter__()
        try:
            self.in_engine(self._open())
        except BaseException:
            self.engine.close()
            raise

    async def _open(self) -> None:
        await self.platform.open()
        try:
            try:
                self.recorder.open()
            except RecordingError as error:
                raise Unavailable(str(error)) from error
            self.attempts = Attempts(self.run_id, self.recorder, asyncio.get_running_loop().time)
            self.run.started_at = datetime.now(UTC).isoformat()
            self.recorder.write(self.run)
            for fact in [*await self.platform.facts(), *_generator_facts()]:
                self.recorder.write(FactRow(self.run_id, fact.key, fact.value, fact.unit, fact.source, fact.reason))
            self.recorder.flush()
        except BaseException:
            await self.platform.close()
            raise

    def now(self) -> float:
        """Seconds on the run's clock; to be asked in the engine's thread."""
        return asyncio.get_running_loop().time() - self.attempts.origin

    def in_engine(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the engine's thread and wait for it, deaf to cancellation."""
        return self.engine.submit(work).result()

    @asynccontextmanager
    async def step(self, trial: PlannedTrial, index: int, kind: str, label: str, **columns: Any) -> AsyncIterator[Step]:
        """Record a step: its row is written when it begins and again when it has ended."""
        row = Step(self.run_id, trial.index, index, kind, label, started_s=self.now(), **columns)
        self.recorder.write(row)
        try:
            yield row
            row.outcome = row.outcome or "finished"
        except asyncio.CancelledError:
            row.outcome = "cancelled"
            raise
        except Exception as error:
            row.outcome, row.error = "failed", str(error)
            raise
        finally:
            row.ended_s = self.now()
            self.recorder.write(row)
            self.observer.step_ended(row.outcome or "failed")

    @asynccontextmanager
    async def trial(self, planned: PlannedTrial) -> AsyncIterator[None]:
        """Record a trial and the size of its sandboxes in the same way; to be entered outside the engine's thread."""
        row = Trial(self.run_id, planned.index, planned.repetition, planned.seed, dict(planned.matrix))
        clock = self._clock_outside
        row.started_s = clock()
        self.recorder.write(row)
        for name, group in planned.scenario.groups.items():
            self.recorder.write(
                Group(
                    self.run_id,
                    planned.index,
                    name,
                    group.count,
                    group.cpu,
                    group.memory,
                    group.command if group.workload is None else [],
                    group.workload,
                    group.background,
                )
            )
        self.roster = Roster()
        try:
            yield
            row.outcome = "finished"
        except asyncio.CancelledError:
            row.outcome = "cancelled"
            raise
        except BaseException as error:
            row.outcome, row.error = "failed", str(error)
            raise
        finally:
            row.ended_s = clock()
            self.recorder.write(row)

    @property
    def _clock_outside(self) -> Callable[[], float]:
        return lambda: self.engine.loop.time() - self.attempts.origin

    def end(self, outcome: str, error: str | None = None) -> None:
        """Record how the run ended; what is said first stays."""
        if self.run.outcome is not None:
            return
        self.run.ended_at = datetime.now(UTC).isoformat()
        self.run.outcome, self.run.error = outcome, error
        self.recorder.write(self.run)
        self.recorder.flush()

    def close(self) -> None:
        """Let go of the platform, the recorder and the engine; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        try:
            self.in_engine(self.platform.close())
        finally:
            try:
                self.recorder.close()
            finally:
                self.engine.close()


def _generator_facts() -> list[Fact]:
    """What is true of the process that makes the load."""
    return [
        Fact("generator.cpu_count", str(os.cpu_count()), source="os.cpu_count"),
        Fact("generator.python", platform.python_version(), source="platform"),
        *(Fact(f"generator.{name}", version(name), source="installed package") for name in _GENERATOR_PACKAGES),
    ]
