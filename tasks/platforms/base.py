"""The platform interface: what a system under test must do to be measured.

A platform does; it never times itself, retries or records. The engine (`tasks.engine`) calls it,
stamps the clocks and writes the rows. Adding a platform is one module with this protocol and one
entry in `tasks.platforms.registry`; `tests/platforms/test_conformance.py` runs over every one.

Errors, each with a message that names the place and the mend:

    PlatformError
      Refused         there is no room; nothing was started
      Failed          the platform says that it did not work
      TimedOut        the platform's own bound ran out, and what it had begun was ended
      UnknownOutcome  it may or may not have worked
      Unsupported     this platform cannot do it at all
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from specs.models import Need as Need
from specs.models import Operation

Acknowledge = Callable[[], None]
"""Called by a platform at the moment when the system has accepted an operation, before it is ready."""

How = Literal["booted", "restored"]
Phase = Literal["created", "running", "suspended", "unknown"]


class PlatformError(Exception):
    """The base of what a platform raises about an operation."""


class Refused(PlatformError):
    """There is no room.

    Attributes:
        resource: the booking that was full (`cpu`, `memory`), where the platform says so.
    """

    def __init__(self, message: str, resource: str | None = None) -> None:
        super().__init__(message)
        self.resource = resource


class Failed(PlatformError):
    """The operation did not work."""


class TimedOut(PlatformError):
    """A bound of the platform's own ran out."""


class UnknownOutcome(PlatformError):
    """The operation may or may not have worked, such as when a connection broke."""


class Unsupported(PlatformError):
    """The platform has no such operation."""


class Unavailable(Exception):
    """The platform cannot run here at all; the message says why and how to mend it."""


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What a sandbox is: limits in millicores and bytes, its program and environment."""

    cpu_millicores: int
    memory_bytes: int
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an operation that worked has to say, beside the times that the engine keeps.

    Attributes:
        how: for a resume or wake, whether the sandbox booted or was restored.
        detail: small facts worth a column of JSON: exit code, output, bytes of a checkpoint.
    """

    how: How | None = None
    detail: Mapping[str, Any] | None = None


DONE = Receipt()


@dataclass(frozen=True, slots=True)
class Listed:
    """One sandbox as the platform lists it."""

    name: str
    phase: Phase


@dataclass(frozen=True, slots=True)
class Booking:
    """How much of one resource is booked, in `unit`, of what the target allows."""

    resource: str
    booked: float
    allocatable: float
    unit: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One sampled value. A value that could not be read is None, and `reason` says why.

    Attributes:
        scope: `node`, `sandbox` or `component`.
        subject: the node's, sandbox's or component's name.
        source: where the value came from, such as a file's path.
    """

    scope: str
    subject: str
    metric: str
    value: float | None
    unit: str
    source: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is true of the system throughout a run, such as a version."""

    key: str
    value: str | None
    unit: str | None = None
    source: str | None = None
    reason: str | None = None


SnapshotState = Literal["local_only", "uploading", "written", "lost", "stale", "partial"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot of a suspended sandbox, and how far it is on its way to the store.

    Times are on the event loop's clock, in seconds, as the platform itself saw them happen; None
    for what has not happened, or where it cannot be seen.

    Attributes:
        state: `local_only` (nothing sent yet), `uploading`, `written` (the platform says that all of
            it is in the store; `Platform.verify_snapshot` proves it), `lost` (whole in no place),
            `stale` (a newer one came before it was written), `partial` (some of it is in the store, and
            nobody is sending the rest).
        store: endpoint, bucket and prefix; None where there is no store.
        tries: failed tries of its parts, plus 1; None before the first byte.
    """

    sandbox: str
    generation: int
    size_bytes: int
    state: SnapshotState = "local_only"
    store: str | None = None
    suspended_at: float | None = None
    first_byte_at: float | None = None
    written_at: float | None = None
    uploaded_bytes: int | None = None
    tries: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """What a look at the store itself found of one snapshot.

    Attributes:
        whole: the manifest and every object that it lists are there, with size and checksum.
        checksum: SHA-256 of the manifest.
        problem: what is missing or wrong.
    """

    whole: bool
    objects: int | None = None
    size_bytes: int | None = None
    checksum: str | None = None
    problem: str | None = None


class Platform(Protocol):
    """One system under test.

    An operation returns when the sandbox is ready and calls `acknowledged` when the system has
    accepted it; a platform in which both are one moment need not call it. Cancelling an operation
    ends what it started. `delete` may be called twice, and for a sandbox that never was.
    """

    name: str
    simulated: bool
    operations: frozenset[Operation]
    provides: frozenset[Need]

    async def open(self) -> None:
        """Make ready to work; raises Unavailable where the platform cannot run."""

    async def close(self) -> None:
        """Wait for work in the background to end and let go of everything; safe to call twice."""

    async def facts(self) -> list[Fact]: ...
    async def create(self, name: str, spec: SandboxSpec, acknowledged: Acknowledge) -> Receipt: ...
    async def resume(self, name: str, acknowledged: Acknowledge) -> Receipt: ...
    async def suspend(self, name: str, acknowledged: Acknowledge) -> Receipt: ...
    async def wake(self, name: str, acknowledged: Acknowledge) -> Receipt: ...
    async def exec(self, name: str, program: Sequence[str], acknowledged: Acknowledge) -> Receipt: ...
    async def delete(self, name: str, acknowledged: Acknowledge) -> Receipt: ...

    async def inventory(self) -> dict[str, list[str]]:
        """Names of everything of ours that exists, by kind; a kind that is at zero has an empty list."""

    async def sweep(self) -> None:
        """Remove what `delete` of every listed sandbox leaves behind (stray processes, cgroups, mounts)."""

    async def bookings(self) -> list[Booking]: ...
    async def samples(self) -> list[Reading]: ...

    async def provision(self, needs: frozenset[Need], upload_delay: float | None = None) -> None:
        """Start what a trial's steps need; what runs already goes on.

        Args:
            needs: of what the platform `provides`.
            upload_delay: seconds from a suspend until its snapshot is uploaded, where it can be chosen.

        Raises:
            Unavailable: it cannot be started; the message says why and how to mend it.
        """

    async def snapshots(self) -> list[Snapshot]: ...

    async def verify_snapshot(self, sandbox: str, generation: int) -> Verified:
        """Look in the store, apart from whoever uploads, whether a snapshot is whole there."""

    async def evict(self, sandbox: str) -> None:
        """Remove the local copy of a suspended sandbox's snapshot, so that its next resume must fetch it.

        Raises:
            Failed: it is not whole in the store, or the sandbox is not suspended; nothing is removed.
        """

    # Last in the class, because below it `list` is this method to type checkers.
    async def list(self) -> list[Listed]:
        """Every sandbox that carries this project's mark, however many pages that takes."""
