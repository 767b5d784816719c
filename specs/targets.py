"""Targets: one configured system each, by platform."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from specs.models import OPERATIONS, Count, Model, Name, Operation
from specs.quantities import Bytes, Millicores, PositiveSeconds, Seconds


class Allocatable(Model):
    """What running sandboxes may book; what is left out is what the machine has."""

    cpu: Millicores | None = None
    memory: Bytes | None = None


class BaseTarget(Model):
    version: Literal[1] = 1
    name: Name
    title: str = ""


class SnapshotStore(Model):
    """An S3 store for snapshots. Credentials come through boto3's standard chain, and never from here."""

    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://.+",
        description="URL of the S3 server; left out, a SeaweedFS is started on loopback for the length of the run",
    )
    bucket: str = Field(default="sandgauge", pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
    prefix: str = Field(
        default="snapshots",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_./-]{0,199}$",
        description="keys begin with it; below it, only what carries this target's mark is touched",
    )
    region: str = "us-east-1"
    upload_delay: Seconds = Field(default=300.0, description="time from a suspend until its snapshot is uploaded")
    parallel_uploads: Count = Field(default=4, description="parts on their way at once, over all snapshots")
    part: Bytes = Field(default=8 * 2**20, description="most bytes of one object")


class LocalTarget(BaseTarget):
    """gVisor sandboxes on this machine, through `runsc`."""

    platform: Literal["local"]
    allocatable: Allocatable = Allocatable()
    runsc: str = Field(default="runsc", description="the runsc program, by name or path")
    runsc_platform: Literal["auto", "systrap", "ptrace", "kvm"] = Field(
        default="auto", description="how gVisor intercepts system calls; auto probes for the best that works"
    )
    state_dir: str = Field(
        default="/var/lib/sandgauge/local", pattern=r"^/.+", description="where sandboxes and checkpoints are kept"
    )
    call_timeout: PositiveSeconds = Field(default=60.0, description="bound on each runsc call outside attempts")
    parking: Seconds = Field(default=5.0, description="how long the router holds a request that finds no room")
    snapshots: SnapshotStore = SnapshotStore()


class LatencyModel(Model):
    """A seeded log-normal latency: half of all calls take longer than `median`.

    `spread` is the standard deviation of the logarithm; 0 makes every call take the median.
    """

    median: Seconds
    spread: Annotated[float, Field(ge=0, le=5)] = 0.25


FaultKind = Literal["refuse", "fail", "time-out", "hang", "stall", "late", "lose", "corrupt", "forget"]
BEFALLS: dict[str, tuple[str, ...]] = {
    "lose": ("suspend",),
    "corrupt": ("suspend",),
    "forget": ("resume", "wake"),
}
"""Operations that a fault can befall, where these are not all."""


class Fault(Model):
    """Something that goes wrong on purpose.

    Befalls the calls of `operation` (of every operation that it can befall, when left out) for
    sandboxes whose name matches `sandbox`, from the `after`-th of these calls on (counted from 1),
    `times` of them (for ever when left out). What becomes of such a call:

    - `refuse`, `fail`: it ends at once, for want of room or for no reason.
    - `time-out`: the platform itself gives up after `lasting`.
    - `hang`: it never ends.
    - `stall`: every call of the platform is held back for `lasting`.
    - `late`: it works, and beside it a sandbox appears that nobody waits for any more, as when a
      create that was given up takes effect late.

    And to snapshots, with calls that seem to work:

    - `lose` (a suspend): the only copy vanishes `lasting` later, and never was written to the store.
    - `corrupt` (a suspend): the platform says that it is written; a look at the store finds it damaged.
    - `forget` (a resume or wake that restores): files are there again, what was in memory is not.
    """

    kind: FaultKind
    operation: Operation | None = None
    sandbox: str | None = Field(
        default=None, min_length=1, description="only for sandboxes whose name matches, such as *-00003"
    )
    after: Count = 1
    times: Count | None = None
    lasting: PositiveSeconds = 1.0

    @model_validator(mode="after")
    def _befalls_what_it_can(self) -> Fault:
        if self.operation is not None and self.operation not in self.operations:
            raise ValueError(f"{self.kind} befalls {' or '.join(self.operations)}, and no {self.operation}")
        return self

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations that a fault of this kind can befall."""
        return BEFALLS.get(self.kind, OPERATIONS)


class SimulatedTarget(BaseTarget):
    """A model of a platform; every row of it says simulated."""

    platform: Literal["simulated"]
    time: Literal["virtual", "real"] = Field(
        default="virtual", description="virtual: the clock jumps, so that hours pass in seconds"
    )
    allocatable: Allocatable = Allocatable(cpu="2", memory="16Gi")
    latencies: dict[Operation, LatencyModel] = {}
    restore: LatencyModel | None = Field(default=None, description="latency of a resume that restores")
    upload_delay: Seconds = Field(default=300.0, description="time from a suspend until its snapshot is uploaded")
    upload: LatencyModel | None = Field(default=None, description="time that an upload takes")
    parking: Seconds = Field(default=5.0, description="how long the router holds a request that finds no room")
    page_size: Count | None = Field(default=None, description="sandboxes that one page of a listing has at most")
    listing: Literal["complete", "first_page"] = Field(
        default="complete", description="first_page: nobody can ask for more than the first page"
    )
    faults: list[Fault] = []
    seed: Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)] = 1

    @model_validator(mode="after")
    def _has_pages(self) -> SimulatedTarget:
        if self.listing == "first_page" and self.page_size is None:
            raise ValueError("listing: first_page needs a page_size")
        return self


TARGETS: dict[str, type[LocalTarget] | type[SimulatedTarget]] = {
    "local": LocalTarget,
    "simulated": SimulatedTarget,
}
"""The kinds of target, by platform."""
Target = Annotated[LocalTarget | SimulatedTarget, Field(discriminator="platform")]
