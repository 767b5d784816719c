"""Control groups of version 1 and 2: where they are, what limits they hold, what they have used.

On a hybrid layout the controllers are those of version 1, and runsc uses them so. Everything
takes the root of the hierarchy, so that tests can use a tree of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    """The files that tell what a group has used; CPU in nanoseconds, or as `usage_usec` of `cpu.stat`."""

    cpu: Path
    memory: Path


@dataclass(frozen=True, slots=True)
class Cgroups:
    """The hierarchy under one root.

    Attributes:
        version: `v1`, `v2` or `hybrid` (version 1, with an empty version 2 beside it).
        hierarchies: the directories in which a group of ours may have a directory.
    """

    root: Path
    version: str
    hierarchies: tuple[Path, ...]

    @classmethod
    def find(cls, root: Path = ROOT) -> Cgroups:
        """What the machine has.

        Raises:
            FileNotFoundError: there are no control groups under the root.
        """
        if (root / "cgroup.controllers").exists():
            return cls(root, "v2", (root,))
        found = {entry.resolve() for entry in root.iterdir() if (entry / "cgroup.procs").exists()}
        if not (root / "memory").exists() or not (root / "cpu").exists():
            raise FileNotFoundError(f"no cpu and memory controllers under {root}")
        hybrid = any((entry / "cgroup.controllers").exists() for entry in found)
        return cls(root, "hybrid" if hybrid else "v1", tuple(sorted(found)))

    @property
    def unified(self) -> bool:
        """Whether the files are those of version 2."""
        return self.version == "v2"

    def _in(self, controller: str, group: str) -> Path:
        return (self.root if self.unified else self.root / controller) / group.lstrip("/")

    def processes(self, group: str) -> list[int]:
        """The processes of a group, without those of groups below it; none where it does not exist."""
        with suppress(OSError):
            return [int(pid) for pid in (self._in("memory", group) / "cgroup.procs").read_text().split()]
        return []

    def directories(self, group: str) -> list[Path]:
        """Every directory of a group, in every hierarchy, deepest first."""
        found: list[Path] = []
        for hierarchy in self.hierarchies:
            found += _deepest_first(hierarchy / group.lstrip("/"))
        return found

    def all_processes(self, group: str) -> set[int]:
        """The processes of a group and all below it, in any hierarchy."""
        pids: set[int] = set()
        for directory in self.directories(group):
            with suppress(OSError):
                pids.update(int(pid) for pid in (directory / "cgroup.procs").read_text().split())
        return pids

    def remove(self, group: str) -> bool:
        """Remove a group that holds no process, with all below it; whether nothing is left of it."""
        for directory in self.directories(group):
            with suppress(OSError):
                directory.rmdir()
        return not self.directories(group)

    def usage(self, group: str) -> Usage:
        """The files to sample; neither needs the kernel to add up statistics of every page."""
        if self.unified:
            return Usage(self._in("", group) / "cpu.stat", self._in("", group) / "memory.current")
        return Usage(
            self._in("cpuacct", group) / "cpuacct.usage", self._in("memory", group) / "memory.usage_in_bytes"
        )  # fmt: skip

    def limits(self, group: str) -> tuple[float | None, int | None]:
        """The limits as the kernel holds them: millicores and bytes, None where there is none."""
        if self.unified:
            quota, _, period = _text(self._in("", group) / "cpu.max").partition(" ")
            memory = _text(self._in("", group) / "memory.max")
        else:
            quota = _text(self._in("cpu", group) / "cpu.cfs_quota_us")
            period = _text(self._in("cpu", group) / "cpu.cfs_period_us")
            memory = _text(self._in("memory", group) / "memory.limit_in_bytes")
        cpu = float(quota) / float(period) * 1000 if quota.isdigit() and period.isdigit() else None
        return cpu, int(memory) if memory.isdigit() else None

    def out_of_memory_kills(self, group: str) -> int | None:
        """How many processes of a group were killed for want of memory; None where the kernel does not say."""
        file = "memory.events" if self.unified else "memory.oom_control"
        for line in _text(self._in("memory", group) / file).splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return int(value)
        return None

    def fault_of_limits(self, group: str, millicores: int, memory_bytes: int) -> str | None:
        """What is wrong with a group's limits, or None where they are as asked (memory in whole pages)."""
        cpu, memory = self.limits(group)
        if cpu is None or abs(cpu - millicores) > 0.5:
            return f"its cpu limit is {'absent' if cpu is None else f'{cpu:g}m'}, not {millicores}m"
        if memory is None or not memory_bytes - PAGE < memory <= memory_bytes:
            return f"its memory limit is {'absent' if memory is None else memory}, not {memory_bytes} bytes"
        return None


def cpu_seconds(text: bytes) -> float:
    """CPU time from `cpuacct.usage` or `cpu.stat`."""
    if text.startswith(b"usage_usec "):
        return int(text[11 : text.index(b"\n")]) / 1e6
    return int(text) / 1e9


def _text(file: Path) -> str:
    with suppress(OSError):
        return file.read_text().strip()
    return ""


def _deepest_first(directory: Path) -> Iterator[Path]:
    for path, _, _ in os.walk(directory, topdown=False):
        yield Path(path)
