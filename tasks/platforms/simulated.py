"""A model of a platform: seeded latencies, capacity by bookings, faults on purpose.

It waits on the event loop's clock alone, so that in virtual time (`tasks.engine.loops`) a plan is
rehearsed in no time and the engine's figures are exact. It holds its sandboxes in memory: what a
killed process leaves behind is nothing. It is also the shortest complete platform to copy from.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Never

from specs.models import Operation
from specs.quantities import format_cpu, format_memory
from specs.targets import Fault, LatencyModel, SimulatedTarget
from tasks.platforms.base import (
    DONE,
    Acknowledge,
    Booking,
    Fact,
    Failed,
    How,
    Listed,
    Phase,
    Reading,
    Receipt,
    Refused,
    SandboxSpec,
    Snapshot,
    TimedOut,
)

_IDLE_MEMORY_BYTES = 12 * 2**20
_NO_LATENCY = LatencyModel.model_validate({"median": "0s", "spread": 0})
SOURCE = "simulated"


@dataclass(slots=True)
class _Sandbox:
    spec: SandboxSpec
    phase: Phase = "created"
    generation: int = 0
    busy: bool = False


class SimulatedPlatform:
    """The platform `simulated`; see `specs.targets.SimulatedTarget` for its settings."""

    simulated = True
    operations: frozenset[Operation] = frozenset({"create", "resume", "suspend", "wake", "exec", "delete"})

    def __init__(self, target: SimulatedTarget) -> None:
        self.name = target.name
        self._target = target
        self._random = Random(target.seed)
        self._sandboxes: dict[str, _Sandbox] = {}
        self._booked = {"cpu": 0, "memory": 0}
        self._allocatable = {
            "cpu": target.allocatable.cpu or 2000,
            "memory": target.allocatable.memory or 16 * 2**30,
        }
        self._calls: Counter[str] = Counter()
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

    async def create(self, name: str, spec: SandboxSpec, acknowledged: Acknowledge) -> Receipt:
        await self._take_time("create")
        if name in self._sandboxes:
            raise Failed(f"sandbox {name} exists already")
        self._require_room(spec)
        self._sandboxes[name] = _Sandbox(spec)
        return DONE

    async def resume(self, name: str, acknowledged: Acknowledge) -> Receipt:
        return await self._start("resume", name, acknowledged)

    async def wake(self, name: str, acknowledged: Acknowledge) -> Receipt:
        return await self._start("wake", name, acknowledged)

    async def _start(self, operation: Operation, name: str, acknowledged: Acknowledge) -> Receipt:
        sandbox = self._find(name)
        if sandbox.phase == "running":
            if operation == "wake":
                return DONE
            raise Failed(f"sandbox {name} runs already")
        how: How = "booted" if sandbox.generation == 0 else "restored"
        self._require_room(sandbox.spec)
        self._book(sandbox.spec, +1)
        try:
            acknowledged()
            await self._take_time(operation, self._target.restore if how == "restored" else None)
        except BaseException:
            self._book(sandbox.spec, -1)
            raise
        sandbox.phase = "running"
        self._cpu_seconds += 0.1
        return Receipt(how=how)

    async def suspend(self, name: str, acknowledged: Acknowledge) -> Receipt:
        sandbox = self._find(name, "running")
        await self._take_time("suspend")
        if sandbox.phase == "running":
            self._book(sandbox.spec, -1)
        sandbox.phase = "suspended"
        sandbox.generation += 1
        return Receipt(detail={"checkpoint_bytes": _IDLE_MEMORY_BYTES})

    async def exec(self, name: str, program: Sequence[str], acknowledged: Acknowledge) -> Receipt:
        self._find(name, "running")
        await self._take_time("exec")
        return Receipt(detail={"exit_code": 0})

    async def delete(self, name: str, acknowledged: Acknowledge) -> Receipt:
        await self._take_time("delete")
        sandbox = self._sandboxes.pop(name, None)
        if sandbox is not None and sandbox.phase == "running":
            self._book(sandbox.spec, -1)
        return DONE

    async def inventory(self) -> dict[str, list[str]]:
        return {
            "sandboxes": list(self._sandboxes),
            "snapshots": [name for name, sandbox in self._sandboxes.items() if sandbox.generation],
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
            readings.append(Reading("sandbox", name, "memory_bytes", _IDLE_MEMORY_BYTES, "bytes", SOURCE))
        return readings

    async def snapshots(self) -> list[Snapshot]:
        return [
            Snapshot(name, sandbox.generation, _IDLE_MEMORY_BYTES)
            for name, sandbox in self._sandboxes.items()
            if sandbox.generation
        ]

    def _find(self, name: str, phase: Phase | None = None) -> _Sandbox:
        sandbox = self._sandboxes.get(name)
        if sandbox is None:
            raise Failed(f"no sandbox is called {name}")
        if phase is not None and sandbox.phase != phase:
            raise Failed(f"sandbox {name} is {sandbox.phase}, not {phase}")
        return sandbox

    def _book(self, spec: SandboxSpec, sign: int) -> None:
        self._booked["cpu"] += sign * spec.cpu_millicores
        self._booked["memory"] += sign * spec.memory_bytes

    def _require_room(self, spec: SandboxSpec) -> None:
        wanted = {"cpu": spec.cpu_millicores, "memory": spec.memory_bytes}
        for resource, amount in wanted.items():
            if self._booked[resource] + amount > self._allocatable[resource]:
                self._refuse(resource, amount)

    def _refuse(self, resource: str, amount: int) -> Never:
        show = format_cpu if resource == "cpu" else format_memory
        raise Refused(
            f"no worker has room: {show(amount)} of {resource} asked for, "
            f"{show(self._booked[resource]) if self._booked[resource] else 0} of "
            f"{show(self._allocatable[resource])} booked",
            resource,
        )

    async def _take_time(self, operation: Operation, model: LatencyModel | None = None) -> None:
        """Wait as long as the model says, and let the faults that are due happen."""
        self._calls[operation] += 1
        model = model or self._target.latencies.get(operation, _NO_LATENCY)
        now = asyncio.get_running_loop().time()
        for fault in self._target.faults:
            if self._is_due(fault, operation):
                await self._happen(fault, operation, now)
        wait = model.median * math.exp(self._random.gauss(0.0, model.spread)) if model.median else 0.0
        wait = max(wait, self._stalled_until - now)
        if wait > 0:
            await asyncio.sleep(wait)

    def _is_due(self, fault: Fault, operation: Operation) -> bool:
        if fault.operation not in (None, operation):
            return False
        call = self._calls[operation] if fault.operation else self._calls.total()
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
        self._stalled_until = max(self._stalled_until, now + fault.lasting)

    # Last in the class, because below it `list` is this method to type checkers.
    async def list(self) -> list[Listed]:
        return [Listed(name, sandbox.phase) for name, sandbox in self._sandboxes.items()]
