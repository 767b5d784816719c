"""One attempt: a call of the platform, from its intended start to its row.

Failures are rows as well: whatever comes of the call is recorded, and only a cancelled run
goes on as an exception.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from specs.models import Exec, Operation
from specs.workloads import NONCE
from tasks.engine.recorder import Recorder
from tasks.platforms.base import (
    Acknowledge,
    Failed,
    Platform,
    PlatformError,
    Receipt,
    Refused,
    SandboxSpec,
    TimedOut,
    UnknownOutcome,
    Unsupported,
)
from warehouse.rows import Attempt

Call = Callable[[str, Acknowledge], Awaitable[Receipt]]

OUTCOMES: dict[type[PlatformError], str] = {
    Refused: "refused",
    Failed: "failed",
    TimedOut: "timed_out",
    UnknownOutcome: "unknown",
    Unsupported: "unsupported",
}

# From which phases an operation makes sense, and where it leads. A sandbox whose last operation
# did not work is skipped by those that need it, with a row that says so; one in doubt is tried.
_NEEDS: dict[Operation, frozenset[str]] = {
    "create": frozenset({"absent", "unknown"}),
    "resume": frozenset({"created", "suspended", "unknown"}),
    "wake": frozenset({"created", "suspended", "running", "unknown"}),
    "suspend": frozenset({"running", "unknown"}),
    "exec": frozenset({"running", "unknown"}),
    "delete": frozenset({"absent", "created", "running", "suspended", "unknown"}),
}
_LEADS_TO: dict[Operation, str] = {
    "create": "created",
    "resume": "running",
    "wake": "running",
    "suspend": "suspended",
    "delete": "absent",
}
_IN_DOUBT = frozenset({"timed_out", "unknown", "cancelled"})


class Roster:
    """What the engine knows of the sandboxes of a trial: the phase of each, and how many run."""

    def __init__(self) -> None:
        self._phases: dict[str, str] = {}
        self.running = 0

    def phase(self, sandbox: str) -> str:
        """The phase in which its last attempt left a sandbox; absent when there was none."""
        return self._phases.get(sandbox, "absent")

    def learn(self, sandbox: str, operation: Operation, outcome: str) -> None:
        """Take in what came of an attempt."""
        before = self.phase(sandbox)
        after = before
        if outcome == "ok":
            after = _LEADS_TO.get(operation, before)
        elif outcome in _IN_DOUBT and operation != "exec":
            after = "unknown"
        if after == "absent":
            self._phases.pop(sandbox, None)
        else:
            self._phases[sandbox] = after
        self.running += (after == "running") - (before == "running")


@dataclass(slots=True)
class Place:
    """Where in a run an attempt belongs; its columns are the same for many attempts."""

    trial: int
    step: int
    round: int
    batch: int
    group_name: str
    operation: Operation
    timeout_s: float
    program: str | None = None


class Attempts:
    """Makes attempts on a platform and records them.

    Attributes:
        origin: the event loop's time at which the run's clock was zero, in seconds.
        made: how many attempts there were in the run, which also numbers them.
        outcomes: how many attempts ended how, over the run.
    """

    def __init__(self, run_id: str, recorder: Recorder, loop_time: Callable[[], float]) -> None:
        self._run_id = run_id
        self._record = recorder.write
        self.origin = origin = loop_time()
        self._clock: Callable[[], float] = lambda: loop_time() - origin
        self._in_flight = 0
        self.made = 0
        self.outcomes: Counter[str] = Counter()

    async def make(
        self, call: Call, sandbox: str, place: Place, roster: Roster, intended: float | None = None
    ) -> Attempt:
        """Make one attempt and record it; returns its row.

        Args:
            call: the platform's operation.
            sandbox: the name of the sandbox.
            place: the columns that say where in the run this is.
            roster: what is known of the sandboxes; learns the outcome.
            intended: when it was due, in seconds on the run's clock; now when left out.

        Raises:
            asyncio.CancelledError: the run was cancelled; the attempt is recorded first.
        """
        clock = self._clock
        started = clock()
        attempt = Attempt(
            self._run_id, place.trial, place.step, self.made, place.round, place.batch, place.group_name,
            sandbox, place.operation, 1, roster.running, None, started if intended is None else intended,
            None, None, None, None, place.timeout_s, "ok", None, None, None, None,
            place.program,
        )  # fmt: skip
        self.made += 1
        phase = roster.phase(sandbox)
        if phase not in _NEEDS[place.operation]:
            attempt.outcome = "skipped"
            attempt.error = f"the sandbox is {phase}, so {place.operation} makes no sense"
        else:
            self._in_flight += 1
            attempt.in_flight = self._in_flight
            attempt.started_s = started
            try:
                await self._perform(call, attempt, place)
            finally:
                self._in_flight -= 1
                self._finish(attempt, roster)
            return attempt
        self._finish(attempt, roster)
        return attempt

    async def _perform(self, call: Call, attempt: Attempt, place: Place) -> None:
        """Call the platform and fill in what came of it."""
        clock = self._clock

        def acknowledged() -> None:
            if attempt.acknowledged_s is None:
                attempt.acknowledged_s = clock()

        bound = asyncio.timeout(attempt.timeout_s)
        try:
            async with bound:
                receipt = await call(attempt.sandbox, acknowledged)
                attempt.ready_s = attempt.ended_s = clock()
                if attempt.acknowledged_s is None:
                    attempt.acknowledged_s = attempt.ready_s
                attempt.how = receipt.how
                attempt.detail = receipt.detail  # type: ignore[assignment]
                attempt.inside_s = _inside(receipt.detail) if place.program is not None else None
        except PlatformError as error:
            attempt.ended_s = clock()
            attempt.outcome = OUTCOMES.get(type(error), "failed")
            attempt.error = str(error)
            attempt.resource = getattr(error, "resource", None)
        except TimeoutError as error:
            attempt.ended_s = clock()
            attempt.outcome = "timed_out" if bound.expired() else "failed"
            attempt.error = f"no answer within {attempt.timeout_s:g} s" if bound.expired() else repr(error)
        except asyncio.CancelledError:
            attempt.ended_s = clock()
            attempt.outcome = "cancelled"
            attempt.error = "the run was cancelled"
            raise
        except Exception as error:  # noqa: BLE001 - a driver's bug must not cost the rows of a run
            attempt.ended_s = clock()
            attempt.outcome = "failed"
            attempt.error = f"{type(error).__name__}: {error}"
        if attempt.outcome != "ok":
            attempt.ready_s = None

    def _finish(self, attempt: Attempt, roster: Roster) -> None:
        if attempt.outcome != "skipped":
            roster.learn(attempt.sandbox, attempt.operation, attempt.outcome)  # type: ignore[arg-type]
        self.outcomes[attempt.outcome] += 1
        self._record(attempt)


def call_of(platform: Platform, action: str | Exec, spec: SandboxSpec, seed: int) -> Call:
    """The platform's method for an entry of `do`, with what it needs beside the sandbox's name.

    Each sandbox's nonce, where the program takes one, is drawn from the trial's seed.
    """
    if isinstance(action, Exec):
        program = action.argv
        if NONCE not in program:
            return lambda name, acknowledged: platform.exec(name, program, acknowledged)
        return lambda name, acknowledged: platform.exec(name, _with_nonce(program, seed, name), acknowledged)
    if action == "create":
        return lambda name, acknowledged: platform.create(name, spec, acknowledged)
    method: Call = getattr(platform, action)
    return method


def nonce_of(seed: int, sandbox: str) -> str:
    """The nonce of a sandbox: 32 hexadecimal digits, drawn from the trial's seed and its name."""
    return hashlib.sha256(f"{seed}/{sandbox}".encode()).hexdigest()[:32]


def _with_nonce(program: Sequence[str], seed: int, sandbox: str) -> list[str]:
    return [nonce_of(seed, sandbox) if part == NONCE else part for part in program]


def last_report(detail: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a program inside said of itself: the JSON object on the last line of its output, or nothing."""
    lines = str((detail or {}).get("stdout", "")).strip().splitlines()
    with suppress(ValueError):
        report = json.loads(lines[-1]) if lines else None
        if isinstance(report, dict):
            return report
    return {}


def _inside(detail: Mapping[str, Any] | None) -> float | None:
    """The seconds that a program took by its own clock, where it says so."""
    seconds = last_report(detail).get("seconds")
    return float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None
