"""Readings of the node and of every running sandbox, cheap enough for a hundred each second.

Files stay open and are read again from their beginning: opening costs more than reading.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tasks.platforms.base import Reading
from tasks.platforms.local.cgroups import Cgroups, Usage, cpu_seconds
from tasks.platforms.local.runsc import children_cpu

_BYTES = 4096
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PRESSURES = ("cpu", "memory", "io")


class Sampler:
    """Reads what the node and the sandboxes use. To be used by one thread at a time."""

    def __init__(self, node: str, cgroups: Cgroups, proc: Path = Path("/proc")) -> None:
        self._node = node
        self._cgroups = cgroups
        self._proc = proc
        self._open: dict[str, int] = {}
        self._usages: dict[str, Usage] = {}
        self._used: dict[str, float] = {}
        # Half of what the process may open is left to everybody else; files beyond are not kept open.
        self._keep_open = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2

    def read(self, running: Mapping[str, str], components: Mapping[str, int] | None = None) -> list[Reading]:
        """Read all.

        Args:
            running: the control group of every running sandbox, by the sandbox's name.
            components: the process of each component that controls sandboxes, by the component's name.
        """
        self._close_all_but(set(running.values()))
        readings = [
            self._node_cpu(),
            self._node_memory(),
            Reading("node", self._node, "running", len(running), "sandboxes", "platform"),
        ]
        for kind in _PRESSURES:
            readings += self._pressure(kind)
        commands = children_cpu.seconds
        readings.append(Reading("component", "runsc", "cpu_seconds_total", commands, "s", "wait4 of each command"))
        for name, pid in (components or {}).items():
            readings.append(self._of_component(name, pid))
        for name, group in running.items():
            usage = self._usages.get(group)
            if usage is None:
                usage = self._usages[group] = self._cgroups.usage(group)
            readings.append(self._of_sandbox(name, usage.cpu, "cpu_seconds_total", "s"))
            readings.append(self._of_sandbox(name, usage.memory, "memory_bytes", "bytes"))
        return readings

    def close(self) -> None:
        """Close every file."""
        self._usages.clear()
        self._used.clear()
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def _close_all_but(self, groups: set[str]) -> None:
        for group in self._usages.keys() - groups:
            usage = self._usages.pop(group)
            self._used.pop(str(usage.cpu), None)
            for file in (usage.cpu, usage.memory):
                descriptor = self._open.pop(str(file), None)
                if descriptor is not None:
                    os.close(descriptor)

    def _text(self, file: str) -> bytes:
        descriptor = self._open.get(file)
        if descriptor is not None:
            return os.pread(descriptor, _BYTES, 0)
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        if len(self._open) < self._keep_open:
            self._open[file] = descriptor
            return os.pread(descriptor, _BYTES, 0)
        try:
            return os.pread(descriptor, _BYTES, 0)
        finally:
            os.close(descriptor)

    def _of_component(self, name: str, pid: int) -> Reading:
        source = str(self._proc / str(pid) / "stat")
        try:
            fields = Path(source).read_bytes().rpartition(b")")[2].split()
            value = (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
        except (OSError, ValueError, IndexError) as error:
            return Reading("component", name, "cpu_seconds_total", None, "s", source, _reason(error))
        return Reading("component", name, "cpu_seconds_total", value, "s", source)

    def _of_sandbox(self, name: str, file: Path, metric: str, unit: str) -> Reading:
        source = str(file)
        try:
            text = self._text(source)
            value = cpu_seconds(text) if metric == "cpu_seconds_total" else float(text)
        except (OSError, ValueError) as error:
            return Reading("sandbox", name, metric, None, unit, source, _reason(error))
        if metric == "cpu_seconds_total":
            # The group outlives its processes for a while; who uses no CPU is looked at more closely.
            before, self._used[source] = self._used.get(source), value
            if value == before and _is_empty(file.parent):
                return Reading("sandbox", name, metric, None, unit, source, "the sandbox has ended")
        return Reading("sandbox", name, metric, value, unit, source)

    def _node_cpu(self) -> Reading:
        source = str(self._proc / "stat")
        try:
            # user nice system idle iowait irq softirq steal; guest time is in user already.
            fields = [int(field) for field in self._text(source).split(b"\n", 1)[0].split()[1:9]]
            busy = sum(fields) - fields[3] - fields[4]
        except (OSError, ValueError, IndexError) as error:
            return Reading("node", self._node, "cpu_seconds_total", None, "s", source, _reason(error))
        return Reading("node", self._node, "cpu_seconds_total", busy / _TICKS_PER_S, "s", source)

    def _node_memory(self) -> Reading:
        source = str(self._proc / "meminfo")
        try:
            values = dict(line.split(b":", 1) for line in self._text(source).splitlines() if b":" in line)
            used = (int(values[b"MemTotal"].split()[0]) - int(values[b"MemAvailable"].split()[0])) * 1024
        except (OSError, ValueError, KeyError) as error:
            return Reading("node", self._node, "memory_bytes", None, "bytes", source, _reason(error))
        return Reading("node", self._node, "memory_bytes", used, "bytes", source)

    def _pressure(self, kind: str) -> list[Reading]:
        """`avg10` is a share of time in percent; `total` counts seconds."""
        source = str(self._proc / "pressure" / kind)
        average, total = f"pressure_{kind}_some_avg10", f"pressure_{kind}_some_seconds_total"
        try:
            fields = dict(field.split(b"=") for field in self._text(source).split(b"\n", 1)[0].split()[1:])
            return [
                Reading("node", self._node, average, float(fields[b"avg10"]), "percent", source),
                Reading("node", self._node, total, int(fields[b"total"]) / 1e6, "s", source),
            ]
        except (OSError, ValueError, KeyError) as error:
            reason = _reason(error)
            return [
                Reading("node", self._node, average, None, "percent", source, reason),
                Reading("node", self._node, total, None, "s", source, reason),
            ]

    def __del__(self) -> None:
        with suppress(OSError):
            self.close()


def _is_empty(group: Path) -> bool:
    with suppress(OSError):
        return not (group / "cgroup.procs").read_bytes()
    return False


def _reason(error: Exception) -> str:
    text = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
    return f"{type(error).__name__}: {text}"
