"""The platform `local`: what each operation means on a machine with gVisor.

Where the pieces are is said in the package's docstring. What holds throughout:

- Every boot and every restore is a container of its own, with a new id, bundle and control group.
  What remains of the one before is removed in the background, off the path that is timed.
- runsc answers a boot or a restore when the sandbox's kernel has started its program: ready and
  acknowledged are one moment here.
- Cancelling an operation ends what it began. A sandbox whose suspend was cancelled is ended too,
  since nobody knows what it would do next; its last whole checkpoint stays, and the next resume
  starts from there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from specs.models import OPERATIONS, Operation
from specs.targets import LocalTarget
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
    PlatformError,
    Reading,
    Receipt,
    Refused,
    SandboxSpec,
    Snapshot,
    TimedOut,
    Unavailable,
    Verified,
)
from tasks.platforms.local import probe
from tasks.platforms.local.bookings import Bookings
from tasks.platforms.local.bundle import build_rootfs, oci_config, write_bundle
from tasks.platforms.local.cgroups import Cgroups
from tasks.platforms.local.choosing import choose
from tasks.platforms.local.containers import Containers, unmount_under
from tasks.platforms.local.inventory import take_inventory
from tasks.platforms.local.locking import TargetLock
from tasks.platforms.local.relay import NOT_LISTENING, PORT, WAY, Asked, BadAnswer, Exchange
from tasks.platforms.local.router import Missing, Router, Served
from tasks.platforms.local.runsc import Runsc, last_line, run, run_and_read
from tasks.platforms.local.sampling import Sampler
from tasks.platforms.local.snapshots import Snapshots
from tasks.platforms.local.state import (
    NAME,
    Sandbox,
    Store,
    capture_workspace,
    checkpoints_in,
    renew_workspace,
    size_of,
)

T = TypeVar("T")
_log = logging.getLogger(__name__)
_TIDY_AT_ONCE = 4


class LocalPlatform:
    """Sandboxes of `runsc` on this machine; see `specs.targets.LocalTarget` for its settings."""

    simulated = False
    operations: frozenset[Operation] = frozenset(OPERATIONS)
    provides: frozenset[Need] = frozenset({"router", "store"})

    _runsc: Runsc
    _cgroups: Cgroups
    _containers: Containers
    _bookings: Bookings
    _sampler: Sampler

    def __init__(self, target: LocalTarget) -> None:
        self.name = target.name
        self._target = target
        self._store = Store(Path(target.state_dir))
        self._lock = TargetLock(self._store.path, target.name)
        self._sandboxes: dict[str, Sandbox] = {}
        self._starting: set[str] = set()
        self._chores: set[asyncio.Task[Any]] = set()
        self._opened = False
        self._room = asyncio.Event()
        self._router = Router(self._serve)
        self._snapshots = Snapshots(self._store, target)

    # Opening and closing

    async def open(self) -> None:
        """Take the target, find out what runsc can do, and take over what an earlier run left."""
        lack = next((need for need in probe.needs(self._target) if not need.met), None)
        if lack is not None:
            raise Unavailable(
                f"target {self.name} cannot run here: {lack.what}: {lack.found} (mend it with: {lack.mend})"
            )
        self._lock.take()
        self._tidiers = ThreadPoolExecutor(_TIDY_AT_ONCE, thread_name_prefix="tidy")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="sample")
        self._opened = True
        try:
            await self._open()
        except BaseException:
            await self.close()
            raise

    async def _open(self) -> None:
        self._store.prepare()
        build_rootfs(self._store.rootfs)
        self._cgroups = Cgroups.find()
        self._containers = Containers(self._store, self._cgroups, self._target.call_timeout)
        self._sampler = Sampler(self.name, self._cgroups)
        allocatable = self._target.allocatable
        self._bookings = Bookings(
            allocatable.cpu or probe.cpu_count() * 1000, allocatable.memory or probe.meminfo()["MemTotal"]
        )
        try:
            program = shutil.which(self._target.runsc) or self._target.runsc
            self._known = await asyncio.to_thread(probe.ask_runsc, program)
        except (OSError, subprocess.SubprocessError) as error:
            raise Unavailable(f"target {self.name}: {self._target.runsc} does not answer: {error}") from error
        self._runsc = await choose(self._target, self._known, self._store, self._containers)
        self._adopt()

    def _adopt(self) -> None:
        """Take over the sandboxes on disk; one that still runs keeps its booking."""
        self._sandboxes = {sandbox.name: sandbox for sandbox in self._store.load()}
        for sandbox in self._sandboxes.values():
            sandbox.container = next(filter(self._containers.alive, sandbox.containers), None)
            if sandbox.container is not None and sandbox.spec is not None:
                self._bookings.take(sandbox.spec, checked=False)

    async def close(self) -> None:
        """Wait until the background is tidy, and let go of the target; what runs goes on running."""
        if not self._opened:
            return
        self._opened = False
        try:
            await self._router.stop()
            await self._rest()
            await self._snapshots.stop()
        finally:
            if hasattr(self, "_containers"):
                self._containers.leave()
            self._tidiers.shutdown(wait=False)
            self._reader.shutdown(wait=True)
            if hasattr(self, "_sampler"):
                self._sampler.close()
            self._lock.release()

    # Operations

    async def create(self, name: str, spec: SandboxSpec, acknowledged: Acknowledge) -> Receipt:
        """Register a sandbox; nothing boots, and nothing is booked."""
        if not NAME.fullmatch(name):
            raise Failed(f"{name!r} is no name for a sandbox; use lower-case letters, digits, dots and dashes")
        if name in self._sandboxes:
            raise Failed(f"sandbox {name} exists already")
        self._bookings.require_room(spec)
        try:
            self._sandboxes[name] = self._store.add(name, spec)
        except OSError as error:
            raise Failed(f"sandbox {name} could not be written to {self._store.sandboxes}: {error}") from error
        return DONE

    async def resume(self, name: str, acknowledged: Acknowledge) -> Receipt:
        """Boot a sandbox, or restore its last checkpoint where it has one."""
        sandbox = self._find(name)
        async with sandbox.lock:
            self._notice_end(sandbox)
            how = await self._start_booked(sandbox)
        return Receipt(how=how)

    async def _start_booked(self, sandbox: Sandbox) -> How:
        """Start a sandbox that does not run, where there is room; its lock is held."""
        spec = self._require(sandbox, "created", "suspended")
        self._bookings.take(spec)
        container = self._store.new_container_id()
        self._starting.add(container)
        try:
            how = await self._start(sandbox, spec, container)
        except BaseException:
            await self._see_through(self._abandon(sandbox, spec, container))
            raise
        sandbox.container = container
        self._starting.discard(container)
        return how

    async def _snapshot_of(self, sandbox: Sandbox) -> Path:
        """The directory of a sandbox's last snapshot, which is fetched where it is in the store alone."""
        image = sandbox.checkpoint(sandbox.generation)
        if not image.exists():
            await self._rest()  # tidying up takes what is half made for what was left behind
            await self._snapshots.fetch(sandbox)
        return image

    async def _start(self, sandbox: Sandbox, spec: SandboxSpec, container: str) -> How:
        bundle = sandbox.bundle(container)
        group = self._store.cgroup_of(container)
        how: How = "restored" if sandbox.generation else "booted"
        try:
            if sandbox.generation:
                image = await self._snapshot_of(sandbox)
                await asyncio.to_thread(renew_workspace, sandbox.home, image)
            workspace = sandbox.home / "workspace"
            write_bundle(bundle, oci_config(spec, sandbox.name, self._store.rootfs, workspace, group))
            arguments = ["-detach", f"-bundle={bundle}", container]
            if how == "restored":
                arguments.insert(0, f"-image-path={sandbox.checkpoint(sandbox.generation)}")
            # Errors go to a file: the sandbox inherits it, and would keep a pipe open for ever.
            # Its standard output goes nowhere: a program that never stops talking would fill the disk.
            with (bundle / "errors").open("wb") as errors:
                argv = self._runsc.argv(bundle / "log", "restore" if how == "restored" else "run", *arguments)
                code = await run(argv, stderr=errors)
        except OSError as error:
            raise Failed(f"sandbox {sandbox.name} could not be started: {error}") from error
        if code != 0:
            why = last_line(bundle / "errors", bundle / "log")
            raise Failed(f"sandbox {sandbox.name} was not {how}: runsc ended with {code}: {why}")
        fault = self._cgroups.fault_of_limits(group, spec.cpu_millicores, spec.memory_bytes)
        if fault is not None:
            raise Failed(f"sandbox {sandbox.name} was ended, because {fault}")
        return how

    async def _abandon(self, sandbox: Sandbox, spec: SandboxSpec, container: str) -> None:
        """End what a resume had begun; only then is its booking given back."""
        try:
            await self._in_background(lambda: self._containers.end(container, thoroughly=True))
        except TimedOut:
            sandbox.container = container  # it has processes, and so it keeps its booking until it is deleted
            raise
        finally:
            self._starting.discard(container)
        self._release(spec)
        await self._in_background(lambda: shutil.rmtree(sandbox.bundle(container), ignore_errors=True))

    async def suspend(self, name: str, acknowledged: Acknowledge) -> Receipt:
        """Write processes, memory and files to a checkpoint on disk, and end the sandbox."""
        sandbox = self._find(name)
        async with sandbox.lock:
            spec = self._require(sandbox, "running")
            container = self._container_of(sandbox)
            generation = sandbox.generation + 1
            image = sandbox.checkpoint(generation)
            partial = image.with_name(f".{image.name}-{secrets.token_hex(4)}")
            try:
                await self._save(sandbox, container, partial)
                os.rename(partial, image)
            except Failed:
                self._notice_end(sandbox)
                raise
            except BaseException:
                await self._see_through(self._put_down(sandbox, spec, container))
                raise
            sandbox.generation, sandbox.container = generation, None
            self._release(spec)
            size = size_of(image)
            self._snapshots.suspended(sandbox, size)
        self._chore(self._tidy(sandbox, container))
        return Receipt(detail={"checkpoint_bytes": size})

    async def _save(self, sandbox: Sandbox, container: str, partial: Path) -> None:
        bundle = sandbox.bundle(container)
        try:
            partial.mkdir(parents=True)
            with (bundle / "checkpoint-errors").open("wb") as errors:
                argv = self._runsc.argv(bundle / "log", "checkpoint", f"-image-path={partial}", container)
                code = await run(argv, stderr=errors)
        except OSError as error:
            raise Failed(f"sandbox {sandbox.name} could not be suspended: {error}") from error
        if code != 0:
            why = last_line(bundle / "checkpoint-errors", bundle / "log")
            why += self._oom(container)
            raise Failed(f"sandbox {sandbox.name} was not suspended: runsc ended with {code}: {why}")
        try:
            capture_workspace(sandbox.home, partial)
        except OSError as error:
            raise Failed(f"sandbox {sandbox.name} could not be suspended: {error}") from error

    async def _put_down(self, sandbox: Sandbox, spec: SandboxSpec, container: str) -> None:
        """End a sandbox of which nobody knows what it does; it falls back to its last checkpoint."""
        await self._in_background(lambda: self._containers.end(container, thoroughly=True))
        if sandbox.container == container:
            sandbox.container = None
            self._release(spec)
        await self._tidy(sandbox, container)

    async def _tidy(self, sandbox: Sandbox, container: str) -> None:
        """Remove what is left of a stopped container, and checkpoints that are of no use any more."""

        def tidy() -> None:
            self._containers.end(container)
            shutil.rmtree(sandbox.bundle(container), ignore_errors=True)
            keep = max(checkpoints_in(sandbox.home), default=0)
            for entry in list((sandbox.home / "checkpoints").glob("*")):
                if not entry.name.isdigit() or int(entry.name) < keep:
                    shutil.rmtree(entry, ignore_errors=True)

        await self._in_background(tidy)

    def _notice_end(self, sandbox: Sandbox) -> None:
        """Take note of it where a sandbox's processes have ended by themselves."""
        container = sandbox.container
        if container is None or self._containers.alive(container):
            return
        sandbox.container = None
        if sandbox.spec is not None:
            self._release(sandbox.spec)
        self._chore(self._tidy(sandbox, container))

    def _release(self, spec: SandboxSpec) -> None:
        """Give a booking back, and let parked requests try again."""
        self._bookings.release(spec)
        self._room, room = asyncio.Event(), self._room
        room.set()

    async def wake(self, name: str, acknowledged: Acknowledge) -> Receipt:
        """Ask for a sandbox through the router, as its users do; it is ready when its program has answered."""
        return await self._router.ask(name)

    async def _serve(self, name: str, asked: Asked) -> Served:
        """Have the program in a sandbox answer a request; wake the sandbox first where it does not run."""
        sandbox = self._sandboxes.get(name)
        if sandbox is None:
            raise Missing(f"no sandbox is called {name}")
        exchange = Exchange(asked)
        async with sandbox.lock:
            self._notice_end(sandbox)
            how, parked = (None, 0.0) if sandbox.container is not None else await self._start_parked(sandbox)
            container = self._container_of(sandbox)
            try:
                answer = exchange.answer(await self._relay(sandbox, container, exchange))
            except BadAnswer as error:
                raise Failed(f"sandbox {name}: {error}{self._oom(container)}") from error
        return Served(answer, how, parked)

    async def _start_parked(self, sandbox: Sandbox) -> tuple[How, float]:
        """Start a sandbox; without room, as soon as there is some within the parking time."""
        clock = asyncio.get_running_loop().time
        since, parked = clock(), 0.0
        while True:
            room = self._room
            try:
                how = await self._start_booked(sandbox)
            except Refused as error:
                left = since + self._target.parking - clock()
                if left <= 0:
                    held = f"; parked for {clock() - since:.1f} s" if self._target.parking else ""
                    raise Refused(f"{error}{held}", error.resource) from error
                with suppress(TimeoutError):
                    await asyncio.wait_for(room.wait(), left)
                parked = clock() - since
            else:
                return how, parked

    async def _relay(self, sandbox: Sandbox, container: str, exchange: Exchange) -> bytes:
        """Run the relay in a sandbox; returns what it printed."""
        printed = os.memfd_create("answer", os.MFD_CLOEXEC)
        try:
            code = await self._run_inside(sandbox, container, exchange.program(), lambda argv: run(argv, printed))
            if code == NOT_LISTENING:
                raise Failed(f"sandbox {sandbox.name}: nothing inside listens on port {PORT}")
            size = os.fstat(printed).st_size
            return os.pread(printed, size, 0)
        finally:
            os.close(printed)

    async def exec(self, name: str, program: Sequence[str], acknowledged: Acknowledge) -> Receipt:
        """Run a program in a sandbox to its end. Cancelling ends the program, but not its children."""
        sandbox = self._find(name)
        async with sandbox.lock:
            self._require(sandbox, "running")
            container = self._container_of(sandbox)
            ended = await self._run_inside(sandbox, container, program, run_and_read)
            if ended.exit_code != 0:
                message = self._failure_of(name, program, ended.exit_code, ended.stderr, container)
                self._notice_end(sandbox)
                raise Failed(message)
        return Receipt(detail={"exit_code": 0, "stdout": ended.stdout, "stderr": ended.stderr})

    async def _run_inside(
        self, sandbox: Sandbox, container: str, program: Sequence[str], how: Callable[[Sequence[str]], Awaitable[T]]
    ) -> T:
        """Run a program in a sandbox by `runsc exec`, in one of the ways of `local.runsc`."""
        bundle = sandbox.bundle(container)
        pid_file = bundle / f"pid-{secrets.token_hex(4)}"
        argv = self._runsc.argv(bundle / "log", "exec", f"-internal-pid-file={pid_file}", container, *program)
        try:
            result = await how(argv)
        except OSError as error:
            raise Failed(f"{program[0]} could not be started in sandbox {sandbox.name}: {error}") from error
        except BaseException:
            await self._see_through(self._kill_inside(bundle, container, pid_file))
            raise
        pid_file.unlink(missing_ok=True)
        return result

    def _failure_of(self, name: str, program: Sequence[str], code: int, stderr: str, container: str) -> str:
        said = stderr.strip()[-1000:]
        ended = "" if self._containers.alive(container) else "; the sandbox has ended"
        return (
            f"{program[0]} in sandbox {name} ended with exit code {code}{ended}"
            f"{self._oom(container)}{': ' if said else ''}{said}"
        )

    def _oom(self, container: str) -> str:
        kills = self._cgroups.out_of_memory_kills(self._store.cgroup_of(container))
        return f"; {kills} of its processes were killed for want of memory" if kills else ""

    async def _kill_inside(self, bundle: Path, container: str, pid_file: Path) -> None:
        """End a program that was begun inside; the sandbox itself goes on."""
        with suppress(OSError, ValueError, TimeoutError):
            pid = int(pid_file.read_text())
            async with asyncio.timeout(self._target.call_timeout):
                await run(self._runsc.argv(bundle / "log", "kill", f"-pid={pid}", container, "KILL"))
        pid_file.unlink(missing_ok=True)

    async def delete(self, name: str, acknowledged: Acknowledge) -> Receipt:
        """Remove every trace of a sandbox, or of a container that belongs to none."""
        if self._store.container_id.fullmatch(name):
            await asyncio.shield(self._chore(self._in_background(lambda: self._containers.end(name, thoroughly=True))))
            return DONE
        sandbox = self._sandboxes.get(name)
        if sandbox is None:
            return DONE
        async with sandbox.lock:
            if self._sandboxes.get(name) is sandbox:
                await asyncio.shield(self._chore(self._erase(sandbox)))
        return DONE

    async def _erase(self, sandbox: Sandbox) -> None:
        def erase() -> None:
            for container in {sandbox.container, *sandbox.containers} - {None}:
                self._containers.end(str(container))
            unmount_under(sandbox.home)
            self._store.erase(sandbox.home)

        await self._in_background(erase)
        if sandbox.container is not None and sandbox.spec is not None:
            self._release(sandbox.spec)
        sandbox.container = None
        self._sandboxes.pop(sandbox.name, None)
        await self._snapshots.forget(sandbox)

    # What there is

    def _phase_now(self, sandbox: Sandbox) -> Phase:
        if sandbox.container is not None and not self._containers.alive(sandbox.container):
            return "unknown"
        return sandbox.phase

    def _orphans(self) -> set[str]:
        owned = {container for sandbox in self._sandboxes.values() for container in sandbox.containers}
        return self._store.containers() - owned - self._starting

    async def inventory(self) -> dict[str, list[str]]:
        await self._rest()
        found = await self._in_background(lambda: take_inventory(self._store, self._containers, self._cgroups))
        return found | {"objects": await self._snapshots.objects()}

    async def sweep(self) -> None:
        """End and remove all that carries our marks and belongs to no sandbox that is listed."""
        await self._rest()
        keep = {sandbox.container for sandbox in self._sandboxes.values() if sandbox.container}
        if not self._sandboxes:
            await self._snapshots.remove_all()
        await asyncio.shield(self._chore(self._in_background(lambda: self._sweep(keep | self._starting))))

    def _sweep(self, keep: set[str]) -> None:
        self._containers.sweep(keep, spare=self._snapshots.components().values())
        if not keep:
            unmount_under(self._store.path)
        for name in self._store.leftovers():
            self._store.erase(self._store.sandboxes / name)

    async def bookings(self) -> list[Booking]:
        return self._bookings.show()

    async def samples(self) -> list[Reading]:
        running = {
            sandbox.name: self._store.cgroup_of(sandbox.container)
            for sandbox in self._sandboxes.values()
            if sandbox.container is not None
        }
        components = self._snapshots.components()
        node = await asyncio.get_running_loop().run_in_executor(self._reader, self._sampler.read, running, components)
        return [*node, *self._snapshots.readings()]

    async def provision(self, needs: frozenset[Need], upload_delay: float | None = None) -> None:
        if "router" in needs:
            try:
                await self._router.start()
            except OSError as error:
                raise Unavailable(f"target {self.name}: the router cannot listen on loopback: {error}") from error
        if "store" in needs:
            await self._snapshots.start(upload_delay)

    async def snapshots(self) -> list[Snapshot]:
        return self._snapshots.show(self._sandboxes.values())

    async def verify_snapshot(self, sandbox: str, generation: int) -> Verified:
        return await self._snapshots.verify(sandbox, generation)

    async def evict(self, sandbox: str) -> None:
        found = self._find(sandbox)
        async with found.lock:
            self._require(found, "suspended")
            await self._snapshots.evict(found)

    async def facts(self) -> list[Fact]:
        allocatable = {booking.resource: booking for booking in self._bookings.show()}
        return [
            *probe.node_facts(self._cgroups),
            Fact("runsc.version", self._known.version, source=f"{self._known.program} --version"),
            Fact("runsc.platform", self._runsc.platform, source="a sandbox booted with it"),
            Fact("runsc.network", "none", source="--network"),
            Fact("wake.way", WAY, source="what works with every release of gVisor and can be checkpointed"),
            *(
                Fact(f"allocatable.{resource}", f"{booking.allocatable:.0f}", booking.unit, "target")
                for resource, booking in allocatable.items()
            ),
        ]

    # Helpers

    def _find(self, name: str) -> Sandbox:
        sandbox = self._sandboxes.get(name)
        if sandbox is None:
            raise Failed(f"no sandbox is called {name}")
        return sandbox

    def _require(self, sandbox: Sandbox, *phases: Phase) -> SandboxSpec:
        if self._sandboxes.get(sandbox.name) is not sandbox:
            raise Failed(f"no sandbox is called {sandbox.name}")
        if sandbox.phase not in phases or sandbox.spec is None:
            raise Failed(f"sandbox {sandbox.name} is {sandbox.phase}, not {' or '.join(phases)}")
        return sandbox.spec

    def _container_of(self, sandbox: Sandbox) -> str:
        if sandbox.container is None:
            raise Failed(f"sandbox {sandbox.name} does not run")
        return sandbox.container

    async def _in_background(self, work: Callable[[], T]) -> T:
        """Run something that blocks in one of few threads, beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._tidiers, work)

    def _chore(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin work that nobody need wait for; `close`, `sweep` and `inventory` do."""
        task = asyncio.get_running_loop().create_task(work)
        self._chores.add(task)
        task.add_done_callback(self._chore_done)
        return task

    async def _see_through(self, work: Coroutine[Any, Any, None]) -> None:
        """Clear up before an error is raised again: cancelling does not stop it, its own failing is only logged."""
        with suppress(PlatformError):
            await asyncio.shield(self._chore(work))

    def _chore_done(self, task: asyncio.Task[Any]) -> None:
        self._chores.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.warning("tidying up: %s", task.exception())

    async def _rest(self) -> None:
        """Wait for all chores; one that does not end within the bound stays behind."""
        if self._chores:
            await asyncio.wait(set(self._chores), timeout=self._target.call_timeout)

    # Last in the class, because below it `list` is this method to type checkers.
    async def list(self) -> list[Listed]:
        """Every sandbox on disk, and containers that belong to none (by their ids)."""
        listed = [Listed(sandbox.name, self._phase_now(sandbox)) for sandbox in self._sandboxes.values()]
        return listed + [Listed(container, "unknown") for container in sorted(self._orphans())]
