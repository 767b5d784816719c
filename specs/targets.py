"""Targets: one configured system each, by platform."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from specs.models import Count, Model, Name, Operation
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


class Fault(Model):
    """Something that goes wrong on purpose.

    Applies to `operation` (all when left out), from the `after`-th call of it on (counted from
    1), for `times` calls (for ever when left out). `stall` holds every call of the platform back
    for `lasting`.
    """

    kind: Literal["refuse", "fail", "time-out", "hang", "stall"]
    operation: Operation | None = None
    after: Count = 1
    times: Count | None = None
    lasting: PositiveSeconds = 1.0


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
    page_size: Count | None = Field(default=None, description="sandboxes that one listing gives at most")
    faults: list[Fault] = []
    seed: Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)] = 1


TARGETS: dict[str, type[LocalTarget] | type[SimulatedTarget]] = {
    "local": LocalTarget,
    "simulated": SimulatedTarget,
}
"""The kinds of target, by platform."""
Target = Annotated[LocalTarget | SimulatedTarget, Field(discriminator="platform")]
