"""Finding and ending what runsc began, by its marks and never by a name alone.

A process is ours when it has our private `--root=`, or another mark with a directory of ours,
among its arguments, or is in a control group of ours. Each is signalled through a pidfd, after a
second look: a number that the kernel has given to somebody else in between is never hit.

A container is ended here without `runsc delete`: that waits for about 1.6 s until its processes
are reaped, even when its control groups are long gone. What it would remove (processes, control
groups, files of its state) is removed here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from tasks.platforms.base import TimedOut
from tasks.platforms.local.cgroups import Cgroups
from tasks.platforms.local.state import Store

_PAUSES_S = (0.002, 0.005, 0.01, 0.02, 0.05)


def arguments_of(pid: int) -> list[str]:
    """The command line of a process; empty for a zombie, or one that is gone."""
    with suppress(OSError):
        return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")[:-1]
    return []


class Containers:
    """Everything of one state directory that lives outside of it."""

    def __init__(self, store: Store, cgroups: Cgroups, bound_s: float) -> None:
        self._store = store
        self._cgroups = cgroups
        self._bound_s = bound_s
        # What we start beside sandboxes (the S3 server, the uploader) is known by its arguments as well.
        self._marks = {f"--root={store.runsc_root}", f"-dir={store.objects}", f"--state-dir={store.path}"}

    def alive(self, container: str) -> bool:
        """Whether a container has a process."""
        return bool(self._cgroups.processes(self._store.cgroup_of(container)))

    def end(self, container: str, *, thoroughly: bool = False) -> None:
        """End a container and remove its traces outside of the sandbox's directory. Blocks.

        Args:
            container: its id; it may be gone already, or half made.
            thoroughly: also look through all processes for some that are not in its control group
                yet, as when runsc itself was killed in the middle of a boot.

        Raises:
            TimedOut: something of it would not end.
        """
        group = self._store.cgroup_of(container)

        def left() -> dict[int, str]:
            found = self.in_cgroup(group)
            if thoroughly:
                found |= {pid: args for pid, args in self.marked().items() if container in args}
            return found

        self._kill_until_none(left, container)
        self._remove_cgroup(group)
        self._store.forget_container(container)

    def in_cgroup(self, group: str) -> dict[int, str]:
        """Processes of a control group of ours, and of those below it."""
        return dict.fromkeys(self._cgroups.all_processes(group), group)

    def marked(self) -> dict[int, str]:
        """Processes that have a mark of ours among their arguments, with their command lines."""
        found = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                arguments = arguments_of(int(entry))
                if self._marks.intersection(arguments):
                    found[int(entry)] = " ".join(arguments)
        return found

    def processes(self) -> dict[int, str]:
        """Every process of ours, with what it is known by."""
        return self.in_cgroup(self._store.cgroup) | self.marked()

    def sweep(self, keep: Iterable[str], spare: Iterable[int] = ()) -> None:
        """End and remove all that belongs to no container in `keep`, but for the processes in `spare`. Blocks.

        Raises:
            TimedOut: something would not end.
        """
        kept, spared = set(keep), set(spare)

        def strays() -> dict[int, str]:
            own = spared | {pid for container in kept for pid in self.in_cgroup(self._store.cgroup_of(container))}
            found = {pid: text for pid, text in self.processes().items() if pid not in own}
            return {pid: text for pid, text in found.items() if not any(container in text for container in kept)}

        self._kill_until_none(strays, "stray processes")
        for container in self._store.containers() - kept:
            self.end(container, thoroughly=True)
        for directory in self.cgroups():
            if directory.name not in kept:
                with suppress(OSError):
                    directory.rmdir()  # the parent stays while it has a group that is kept

    def cgroups(self) -> list[Path]:
        """Every directory of a control group of ours, deepest first."""
        return self._cgroups.directories(self._store.cgroup)

    def leave(self) -> None:
        """Remove the control group that holds those of all containers, where it holds none."""
        for hierarchy in self._cgroups.hierarchies:
            with suppress(OSError):
                (hierarchy / self._store.cgroup.lstrip("/")).rmdir()

    def network_namespaces(self, pids: Iterable[int]) -> set[str]:
        """The network namespaces that processes of ours have and we have not."""
        found = set()
        for pid in pids:
            with suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/ns/net"))
        return found - {os.readlink("/proc/self/ns/net")}

    def _kill_until_none(self, find: Callable[[], dict[int, str]], what: str) -> None:
        deadline = time.monotonic() + self._bound_s
        for attempt in range(1_000_000):
            found = find()
            if not found:
                return
            if time.monotonic() > deadline:
                raise TimedOut(f"{what}: processes {sorted(found)} did not end within {self._bound_s:g} s")
            for pid in found:
                self._kill(pid)
            time.sleep(_PAUSES_S[min(attempt, len(_PAUSES_S) - 1)])

    def _kill(self, pid: int) -> None:
        with suppress(OSError):
            descriptor = os.pidfd_open(pid)
            try:
                if self._is_ours(pid):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)

    def _is_ours(self, pid: int) -> bool:
        if self._marks.intersection(arguments_of(pid)):
            return True
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
            return any(f"{self._store.cgroup}/" in f"{line}/" for line in lines)
        return False

    def _remove_cgroup(self, group: str) -> None:
        deadline = time.monotonic() + self._bound_s
        while not self._cgroups.remove(group):
            if time.monotonic() > deadline:
                raise TimedOut(f"control group {group} could not be removed within {self._bound_s:g} s")
            time.sleep(_PAUSES_S[1])


def mounts_under(directory: Path) -> list[str]:
    """Mount points at or below a directory, deepest first."""
    points = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        point = line.split(" ")[4].encode().decode("unicode_escape")
        if Path(point).is_relative_to(directory):
            points.append(point)
    return sorted(points, key=len, reverse=True)


def unmount_under(directory: Path) -> None:
    """Undo every mount at or below a directory, so that removing it reaches nothing else."""
    for point in mounts_under(directory):
        subprocess.run(["umount", "--lazy", "--", point], check=False, capture_output=True, timeout=10)
