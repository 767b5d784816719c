"""A model of a platform: seeded latencies, capacity by bookings, snapshots on their way, faults on purpose.

It waits on the event loop's clock alone, so that in virtual time (`tasks.engine.loops`) a plan is
rehearsed in no time and the engine's figures are exact. How far a snapshot is on its way follows
from that clock whenever someone asks, so that nothing works in the background. It holds its
sandboxes in memory: what a killed process leaves behind is nothing. It is also the shortest
complete platform to copy from.

Of the programs inside it knows the built-in ones (`specs.workloads`), by their source. Whatever a
sandbox runs answers requests and takes a nonce as the keeper does: a scenario may bring its own
server, and a model cannot know what it does.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import islice
from random import Random
from typing import Never

from specs.models import Operation
from specs.quantities import format_cpu, format_memory
from specs.targets import Fault, LatencyModel, SimulatedTarget
from specs.workloads import INTERPRETER, WORKLOADS
from tasks.platforms.base import (
    DONE,
    Acknowledge,
    Booking,
    Fact,
    Failed,
    How,
    Listed,
    Need,
    Phase,
    Reading,
    Receipt,
    Refused,
    SandboxSpec,
    Snapshot,
    SnapshotState,
    TimedOut,
    Unavailable,
    Verified,
)

_IDLE_MEMORY_BYTES = 12 * 2**20
_SMALL = SandboxSpec(10, 16 * 2**20, ["/usr/bin/sleep", "infinity"])
_NO_LATENCY = LatencyModel.model_validate({"median": "0s", "spread": 0})
SOURCE = "simulated"
STORE = "simulated/sandgauge/snapshots"

# A command line begins with an interpreter and the whole source: enough to know a program by.
_HEAD = len(INTERPRETER) + 1
_HOGS = {tuple(program.argv()[:_HEAD]) for program in WORKLOADS.values() if program.name.endswith("-hog")}
_PROGRAMS = {tuple(program.argv()[:_HEAD]): program.name for program in WORKLOADS.values() if program.runs_on == "exec"}


@dataclass(slots=True)
class _Inside:
    """What the program inside holds: in memory its boot, count and nonce; in files a nonce."""

    boot: str = ""
    count: int = 0
    nonce: str = ""
    files: str = ""


@dataclass(slots=True)
class _Snapshot:
    """A snapshot, with the times that were settled when it was made.

    Attributes:
        first_byte_at: when its upload starts, unless the snapshot is lost or stale by then.
        upload_s: how long the upload takes.
        lost_at: when its only copy vanishes; such a one is never written.
        stale_at: when a newer one was made.
        corrupt: what is written is not what was read.
        local: whether there is a copy outside of the store.
    """

    generation: int
    inside: _Inside
    suspended_at: float
    first_byte_at: float
    upload_s: float
    lost_at: float = math.inf
    stale_at: float = math.inf
    corrupt: bool = False
    local: bool = True

    @property
    def written_at(self) -> float:
        """When the platform says that it is in the store; infinity for one that never is."""
        return self.first_byte_at + self.upload_s if self.lost_at == math.inf else math.inf

    def state(self, now: float) -> SnapshotState:
        """Where it has come to: what came first of being written, lost and stale stays."""
        ends: list[tuple[float, SnapshotState]] = [
            (self.written_at, "written"),
            (self.lost_at, "lost"),
            (self.stale_at, "stale"),
        ]
        end, state = min(ends, key=lambda end: end[0])
        if end <= now:
            return state
        return "uploading" if self.first_byte_at <= now else "local_only"

    def sent_bytes(self, now: float) -> int:
        """How much of it the store has taken."""
        sent_s = min(now, self.lost_at, self.stale_at) - self.first_byte_at
        if sent_s < 0:
            return 0
        return int(_IDLE_MEMORY_BYTES * min(1.0, sent_s / self.upload_s)) if self.upload_s else _IDLE_MEMORY_BYTES

    def show(self, sandbox: str, now: float) -> Snapshot:
        """What `snapshots` tells of it."""
        state = self.state(now)
        begun = self.first_byte_at <= min(now, self.lost_at, self.stale_at)
        return Snapshot(
            sandbox,
            self.generation,
            _IDLE_MEMORY_BYTES,
            state=state,
            store=STORE,
            suspended_at=self.suspended_at,
            first_byte_at=self.first_byte_at if begun else None,
            written_at=self.written_at if state == "written" else None,
            uploaded_bytes=self.sent_bytes(now),
            tries=1 if begun else None,
            error="its only copy vanished before it was written" if state == "lost" else None,
        )


@dataclass(slots=True)
class _Sandbox:
    serial: int
    spec: SandboxSpec
    phase: Phase = "created"
    inside: _Inside = field(default_factory=_Inside)
    snapshots: list[_Snapshot] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    running_since: float = 0.0

    def cpu_seconds(self, now: float) -> float:
        """CPU that it has used since it was started: a hog all of its limit, any other none."""
        loads = tuple(self.spec.command[:_HEAD]) in _HOGS
        return (now - self.running_since) * self.spec.cpu_millicores / 1000 if loads else 0.0


class SimulatedPlatform:
    """The platform `simulated`; see `specs.targets.SimulatedTarget` for its settings."""

    simulated = True
    operations: frozenset[Operation] = frozenset({"create", "resume", "suspend", "wake", "exec", "delete"})
    provides: frozenset[Need] = frozenset({"router", "store"})

    def __init__(self, target: SimulatedTarget) -> None:
        self.name = target.name
        self._target = target
        # One for each thing that is drawn: more uploads must not change the latencies of calls.
        self._random = Random(target.seed)
        self._boots = Random(f"{target.seed}/boots")
        self._uploads = Random(f"{target.seed}/uploads")
        self._upload_delay = target.upload_delay
        self._sandboxes: dict[str, _Sandbox] = {}
        self._serial = 0
        self._booked = {"cpu": 0, "memory": 0}
        self._parked: list[tuple[SandboxSpec, asyncio.Future[None]]] = []
        self._allocatable = {
            "cpu": target.allocatable.cpu or 2000,
            "memory": target.allocatable.memory or 16 * 2**30,
        }
        self._befallen = [0] * len(target.faults)
        self._stalled_until = -math.inf
        self._cpu_seconds = 0.0

    async def open(self) -> None:
        """Nothing to do: a model is always ready."""

    async def close(self) -> None:
        """Nothing to do: a model holds nothing."""

    async def facts(self) -> list[Fact]:
        return [
            Fact("simulated", "true", source=SOURCE),
            Fact("node.cpu_millicores", str(self._allocatable["cpu"]), "millicores", SOURCE),
            Fact("node.memory_bytes", str(self._allocatable["memory"]), "bytes", SOURCE),
            Fact("simulated.time", self._target.time, source=SOURCE),
            Fact("simulated.seed", str(self._target.seed), source=SOURCE),
        ]

    async def provision(self, needs: frozenset[Need], upload_delay: float | None = None) -> None:
        """Take the delay of uploads; the model's router and store are always there."""
        if needs - self.provides:
            raise Unavailable(f"platform simulated has no {' and no '.join(sorted(needs - self.provides))}")
        self._upload_delay = self._target.upload_delay if upload_delay is None else upload_delay

    # Operations

    async def create(self, name: str, spec: SandboxSpec, acknowledged: Acknowledge) -> Receipt:
        await self._take_time("create", name)
        if name in self._sandboxes:
            raise Failed(f"sandbox {name} exists already")
        self._require_room(spec)
        self._add(name, spec)
        return DONE

    async def resume(self, name: str, acknowledged: Acknowledge) -> Receipt:
        async with self._hold(name) as sandbox:
            if sandbox.phase == "running":
                raise Failed(f"sandbox {name} runs already")
            self._require_room(sandbox.spec)
            self._book(sandbox.spec)
            return Receipt(how=await self._start("resume", name, sandbox, acknowledged))

    async def wake(self, name: str, acknowledged: Acknowledge) -> Receipt:
        """Send a request to a sandbox; the router holds it while there is no room to start the sandbox."""
        began = _now()
        parked_s, how = 0.0, None
        async with self._hold(name) as sandbox:
            if sandbox.phase == "running":
                await self._take_time("wake", name, _NO_LATENCY)
            else:
                await self._park(sandbox.spec)
                parked_s = _now() - began
                how = await self._start("wake", name, sandbox, acknowledged)
            inside = sandbox.inside
            inside.count += 1
            answer = json.dumps({"count": inside.count, "boot": inside.boot, "nonce": inside.nonce})
            detail = {"status": 200, "answer": answer, "parked_s": parked_s, "way": "simulated"}
            return Receipt(how, detail)

    async def _start(self, operation: Operation, name: str, sandbox: _Sandbox, acknowledged: Acknowledge) -> How:
        """Boot a sandbox that has its booking, or restore its last snapshot; gives the booking back if that fails."""
        snapshot = sandbox.snapshots[-1] if sandbox.snapshots else None
        try:
            if snapshot is not None and snapshot.state(_now()) == "lost":
                raise Failed(f"sandbox {name} cannot be restored: its snapshot {snapshot.generation} is lost")
            acknowledged()
            model = None if snapshot is None else self._target.restore
            _, faults = await self._take_time(operation, name, model, restores=snapshot is not None)
        except BaseException:
            self._release(sandbox.spec)
            raise
        sandbox.phase = "running"
        sandbox.running_since = _now()
        self._cpu_seconds += 0.1
        if snapshot is None:
            sandbox.inside = self._boot()
            return "booted"
        snapshot.local = True
        files = snapshot.inside.files
        sandbox.inside = replace(self._boot(), files=files) if "forget" in faults else replace(snapshot.inside)
        return "restored"

    async def suspend(self, name: str, acknowledged: Acknowledge) -> Receipt:
        async with self._hold(name, "running") as sandbox:
            _, faults = await self._take_time("suspend", name)
            self._release(sandbox.spec)
            sandbox.phase = "suspended"
            self._save(sandbox, faults)
        return Receipt(detail={"checkpoint_bytes": _IDLE_MEMORY_BYTES})

    def _save(self, sandbox: _Sandbox, faults: dict[str, Fault]) -> None:
        now = _now()
        snapshot = _Snapshot(
            generation=len(sandbox.snapshots) + 1,
            inside=replace(sandbox.inside),
            suspended_at=now,
            first_byte_at=now + self._upload_delay,
            upload_s=_draw(self._target.upload or _NO_LATENCY, self._uploads),
            lost_at=now + faults["lose"].lasting if "lose" in faults else math.inf,
            corrupt="corrupt" in faults,
        )
        if sandbox.snapshots:
            sandbox.snapshots[-1].stale_at = now
            sandbox.snapshots[-1].local = False
        sandbox.snapshots.append(snapshot)

    async def exec(self, name: str, program: Sequence[str], acknowledged: Acknowledge) -> Receipt:
        async with self._hold(name, "running") as sandbox:
            seconds, _ = await self._take_time("exec", name)
            stdout = _run_inside(name, sandbox.inside, program, seconds)
        return Receipt(detail={"exit_code": 0, "stdout": stdout, "stderr": ""})

    async def delete(self, name: str, acknowledged: Acknowledge) -> Receipt:
        sandbox = self._sandboxes.get(name)
        if sandbox is None:
            await self._take_time("delete", name)
            return DONE
        async with sandbox.lock:
            await self._take_time("delete", name)
            if self._sandboxes.get(name) is sandbox:
                del self._sandboxes[name]
                if sandbox.phase == "running":
                    self._release(sandbox.spec)
        return DONE

    # What there is

    async def inventory(self) -> dict[str, list[str]]:
        """Everything, whatever a listing shows: it does not ask the platform, but looks."""
        return {
            "sandboxes": list(self._sandboxes),
            "snapshots": [
                f"{name}/{snapshot.generation}"
                for name, sandbox in self._sandboxes.items()
                for snapshot in sandbox.snapshots
            ],
        }

    async def sweep(self) -> None:
        """Nothing to do: a model leaves nothing behind."""

    async def bookings(self) -> list[Booking]:
        return [
            Booking("cpu", self._booked["cpu"], self._allocatable["cpu"], "millicores"),
            Booking("memory", self._booked["memory"], self._allocatable["memory"], "bytes"),
        ]

    async def samples(self) -> list[Reading]:
        running = [name for name, sandbox in self._sandboxes.items() if sandbox.phase == "running"]
        used = 2**30 + len(running) * _IDLE_MEMORY_BYTES
        readings = [
            Reading("node", self.name, "cpu_seconds_total", self._cpu_seconds, "s", SOURCE),
            Reading("node", self.name, "memory_bytes", used, "bytes", SOURCE),
            Reading("node", self.name, "running", len(running), "sandboxes", SOURCE),
        ]
        for name in running:
            busy = self._sandboxes[name].cpu_seconds(_now())
            readings.append(Reading("sandbox", name, "cpu_seconds_total", busy, "s", SOURCE))
            readings.append(Reading("sandbox", name, "memory_bytes", _IDLE_MEMORY_BYTES, "bytes", SOURCE))
        return readings

    # Snapshots

    async def snapshots(self) -> list[Snapshot]:
        now = _now()
        return [snapshot.show(name, now) for name, sandbox in self._sandboxes.items() for snapshot in sandbox.snapshots]

    async def verify_snapshot(self, sandbox: str, generation: int) -> Verified:
        found = self._sandboxes.get(sandbox)
        snapshots = found.snapshots if found else []
        snapshot = next((each for each in snapshots if each.generation == generation), None)
        if snapshot is None or snapshot.state(_now()) != "written":
            return Verified(whole=False, problem="there is no manifest")
        if snapshot.corrupt:
            return Verified(whole=False, problem="an object has another checksum than its manifest says")
        checksum = hashlib.sha256(f"{self._target.seed}/{sandbox}/{generation}".encode()).hexdigest()
        return Verified(whole=True, objects=2, size_bytes=_IDLE_MEMORY_BYTES, checksum=checksum)

    async def evict(self, sandbox: str) -> None:
        async with self._hold(sandbox, "suspended") as found:
            snapshot = found.snapshots[-1]
            verified = await self.verify_snapshot(sandbox, snapshot.generation)
            if not verified.whole:
                raise Failed(
                    f"snapshot {snapshot.generation} of sandbox {sandbox} is not whole in the store, "
                    f"so that its local copy stays: {verified.problem}"
                )
            snapshot.local = False

    # Sandboxes

    def _add(self, name: str, spec: SandboxSpec) -> None:
        self._serial += 1
        self._sandboxes[name] = _Sandbox(self._serial, spec)

    def _boot(self) -> _Inside:
        return _Inside(boot=f"{self._boots.getrandbits(64):016x}")

    def _find(self, name: str) -> _Sandbox:
        sandbox = self._sandboxes.get(name)
        if sandbox is None:
            raise Failed(f"no sandbox is called {name}")
        return sandbox

    @asynccontextmanager
    async def _hold(self, name: str, phase: Phase | None = None) -> AsyncIterator[_Sandbox]:
        """A sandbox, in that phase; what others want of it waits meanwhile."""
        sandbox = self._find(name)
        async with sandbox.lock:
            if self._sandboxes.get(name) is not sandbox:
                raise Failed(f"no sandbox is called {name}")
            if phase is not None and sandbox.phase != phase:
                raise Failed(f"sandbox {name} is {sandbox.phase}, not {phase}")
            yield sandbox

    # Room

    def _book(self, spec: SandboxSpec) -> None:
        self._booked["cpu"] += spec.cpu_millicores
        self._booked["memory"] += spec.memory_bytes

    def _release(self, spec: SandboxSpec) -> None:
        """Give a booking back, and book for those parked requests, in their order, that fit now."""
        self._booked["cpu"] -= spec.cpu_millicores
        self._booked["memory"] -= spec.memory_bytes
        for wanted, admitted in self._parked:
            if not admitted.done() and self._lacking(wanted) is None:
                self._book(wanted)
                admitted.set_result(None)

    async def _park(self, spec: SandboxSpec) -> None:
        """Book for a sandbox, as soon as there is room.

        Raises:
            Refused: there was none for as long as the target parks a request.
        """
        if self._lacking(spec) is None:
            self._book(spec)
            return
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (spec, admitted)
        self._parked.append(entry)
        try:
            await asyncio.wait([admitted], timeout=self._target.parking)
        except BaseException:
            if admitted.done():
                self._release(spec)
            raise
        finally:
            self._parked.remove(entry)
        if not admitted.done():
            self._require_room(spec)

    def _lacking(self, spec: SandboxSpec) -> str | None:
        """The first resource of which there is not enough left."""
        if self._booked["cpu"] + spec.cpu_millicores > self._allocatable["cpu"]:
            return "cpu"
        return "memory" if self._booked["memory"] + spec.memory_bytes > self._allocatable["memory"] else None

    def _require_room(self, spec: SandboxSpec) -> None:
        resource = self._lacking(spec)
        if resource is not None:
            self._refuse(resource, spec.cpu_millicores if resource == "cpu" else spec.memory_bytes)

    def _refuse(self, resource: str, amount: int) -> Never:
        show = format_cpu if resource == "cpu" else format_memory
        raise Refused(
            f"no worker has room: {show(amount)} of {resource} asked for, "
            f"{show(self._booked[resource]) if self._booked[resource] else 0} of "
            f"{show(self._allocatable[resource])} booked",
            resource,
        )

    # Latencies and faults

    async def _take_time(
        self, operation: Operation, name: str, model: LatencyModel | None = None, *, restores: bool = False
    ) -> tuple[float, dict[str, Fault]]:
        """Wait as long as the model says, and let the faults that are due happen.

        Returns:
            The seconds that it took, and by kind the faults that befell a call that works.
        """
        model = model or self._target.latencies.get(operation, _NO_LATENCY)
        now = _now()
        due = [
            fault
            for number, fault in enumerate(self._target.faults)
            if (restores or fault.kind != "forget") and self._is_due(number, fault, operation, name)
        ]
        for fault in due:
            await self._happen(fault, operation, now)
        wait = max(_draw(model, self._random), self._stalled_until - now)
        if wait > 0:
            await asyncio.sleep(wait)
        return max(wait, 0.0), {fault.kind: fault for fault in due}

    def _is_due(self, number: int, fault: Fault, operation: Operation, name: str) -> bool:
        if operation not in ((fault.operation,) if fault.operation else fault.operations):
            return False
        if fault.sandbox is not None and not fnmatchcase(name, fault.sandbox):
            return False
        self._befallen[number] += 1
        call = self._befallen[number]
        return fault.after <= call and (fault.times is None or call < fault.after + fault.times)

    async def _happen(self, fault: Fault, operation: Operation, now: float) -> None:
        if fault.kind == "refuse":
            raise Refused("no worker has room: refused on purpose", None)
        if fault.kind == "fail":
            raise Failed(f"{operation} failed on purpose")
        if fault.kind == "time-out":
            await asyncio.sleep(fault.lasting)
            raise TimedOut(f"{operation} gave up after {fault.lasting:g} s on purpose")
        if fault.kind == "hang":
            await asyncio.Event().wait()
        if fault.kind == "late":
            self._add(f"late-{self._serial + 1:05d}", _SMALL)
        if fault.kind == "stall":
            self._stalled_until = max(self._stalled_until, now + fault.lasting)

    # Listing

    def _list_page(self, token: int = 0) -> tuple[list[Listed], int | None]:
        """One page of the sandboxes behind a token, and the token of the next page, if there is one.

        A token is the serial number of the last sandbox of its page, so that what is deleted
        meanwhile moves nothing from one page to another.
        """
        behind = (each for each in self._sandboxes.items() if each[1].serial > token)
        page = list(islice(behind, self._target.page_size))
        following = page[-1][1].serial if next(behind, None) else None
        return [Listed(name, sandbox.phase) for name, sandbox in page], following

    # Last in the class, because below it `list` is this method to type checkers.
    async def list(self) -> list[Listed]:
        """Page after page to the end; or the first page alone, on a target that shows no more."""
        found, token = self._list_page()
        while token is not None and self._target.listing == "complete":
            await asyncio.sleep(0)  # as on a real platform, much can happen between two pages
            page, token = self._list_page(token)
            found += page
        return found


def _now() -> float:
    return asyncio.get_running_loop().time()


def _draw(model: LatencyModel, random: Random) -> float:
    return model.median * math.exp(random.gauss(0.0, model.spread)) if model.median else 0.0


def _run_inside(name: str, inside: _Inside, program: Sequence[str], seconds: float) -> str:
    """Do what a built-in program does, and return what it prints.

    Raises:
        Failed: it ended with another exit code than 0.
    """
    built_in = _PROGRAMS.get(tuple(program[:_HEAD]))
    arguments = program[_HEAD:]
    if built_in == "mark":
        inside.nonce = inside.files = arguments[0]
        return ""
    if built_in == "verify":
        files, memory = inside.files == arguments[0], inside.nonce == arguments[0]
        report = json.dumps({"files": files, "memory": memory})
        if (files and memory) or len(arguments) > 1:
            return f"{report}\n"
        raise Failed(f"{program[0]} in sandbox {name} ended with exit code 1: a nonce is not there any more: {report}")
    return "" if built_in is None else json.dumps({"seconds": seconds}) + "\n"
