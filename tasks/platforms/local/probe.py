"""What this machine can do: which runsc there is, what it knows, and what is in the way."""

from __future__ import annotations

import os
import platform as machine
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from specs.targets import LocalTarget
from tasks.platforms.base import Fact
from tasks.platforms.local.cgroups import ROOT, Cgroups

# In this order `auto` tries them.
PLATFORMS = ("systrap", "kvm", "ptrace")
_CALL_BOUND_S = 20.0
_UNSET = "not said"


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that the platform needs: what was found, and the command that mends its lack."""

    what: str
    met: bool
    found: str
    mend: str = ""


def needs(target: LocalTarget, cgroup_root: Path = ROOT) -> list[Need]:
    """Everything that sandboxes on this machine need, in the order in which a lack of it matters."""
    linux = sys.platform == "linux"
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    runsc = shutil.which(target.runsc)
    pidfd = hasattr(os, "pidfd_open") and _pidfd_works()
    return [
        Need("operating system", linux, sys.platform, "" if linux else "run it on Linux"),
        Need("root", root, "yes" if root else "no", "" if root else "run it as root, such as with sudo"),
        Need("runsc", runsc is not None, runsc or f"{target.runsc} not found", "apt-get install runsc"),
        Need("kernel", pidfd, machine.release(), "" if pidfd else "use Linux 5.3 or newer (pidfd_open)"),
        _cgroups(cgroup_root),
    ]


def _pidfd_works() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def _cgroups(root: Path) -> Need:
    mend = f"mount control groups writable at {root} (in a container, start it with --privileged)"
    try:
        cgroups = Cgroups.find(root)
    except OSError as error:
        return Need("control groups", False, str(error), mend)
    for hierarchy in cgroups.hierarchies if cgroups.unified else (root / "memory", root / "cpu"):
        if not os.access(hierarchy, os.W_OK) or _read_only(hierarchy):
            return Need("control groups", False, f"{hierarchy} is not writable", mend)
    return Need("control groups", True, cgroups.version)


def _read_only(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


@dataclass(frozen=True, slots=True)
class Known:
    """What a runsc says of itself."""

    program: str
    version: str
    platforms: tuple[str, ...]
    flags: frozenset[str]


def ask_runsc(program: str) -> Known:
    """Ask a runsc for its version, platforms and flags. Blocks, for some milliseconds.

    Raises:
        OSError: it cannot be run.
        subprocess.SubprocessError: it does not answer as runsc does.
    """
    version = _output(program, "--version")
    flags = _output(program, "flags")
    found = re.search(r"^\s+-platform\b.*\n\s*(.*)$", flags, re.MULTILINE)
    platforms = tuple(name for name in PLATFORMS if found and re.search(rf"\b{name}\b", found[1]))
    return Known(
        program,
        version.splitlines()[0].removeprefix("runsc version ").strip() if version else _UNSET,
        platforms or ("ptrace",),
        frozenset(re.findall(r"^\s+-([\w-]+)", flags, re.MULTILINE)),
    )


def _output(*argv: str) -> str:
    done = subprocess.run(
        argv, capture_output=True, text=True, errors="replace", timeout=_CALL_BOUND_S, check=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout or done.stderr  # flags go to standard error in some releases


def candidates(known: Known, wanted: str) -> list[str]:
    """The platforms to try, best first."""
    if wanted != "auto":
        return [wanted]
    return [name for name in known.platforms if name != "kvm" or os.access("/dev/kvm", os.R_OK | os.W_OK)]


def node_facts(cgroups: Cgroups) -> list[Fact]:
    """What is true of the machine."""
    memory = meminfo()
    return [
        Fact("node.hostname", machine.node(), source="uname"),
        Fact("node.kernel", machine.release(), source="uname"),
        Fact("node.architecture", machine.machine(), source="uname"),
        Fact("node.cpu_count", str(cpu_count()), "cores", "sched_getaffinity"),
        _cpu_model(),
        Fact("node.memory_bytes", str(memory["MemTotal"]), "bytes", "/proc/meminfo"),
        Fact("node.swap_bytes", str(memory.get("SwapTotal", 0)), "bytes", "/proc/meminfo"),
        Fact("cgroup.version", cgroups.version, source=str(cgroups.root)),
    ]


def _cpu_model() -> Fact:
    with suppress(OSError):
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if found:
            return Fact("node.cpu_model", found[1], source="/proc/cpuinfo")
    return Fact("node.cpu_model", None, source="/proc/cpuinfo", reason="the kernel does not name it")


def cpu_count() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def meminfo() -> dict[str, int]:
    """/proc/meminfo, in bytes."""
    values = {}
    for line in Path("/proc/meminfo").read_text().splitlines():
        key, _, value = line.partition(":")
        values[key] = int(value.split()[0]) * (1024 if value.endswith("kB") else 1)
    return values
