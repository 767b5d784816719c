"""The parts of the platform local that need no sandbox, and so no root."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest

from tasks.platforms.base import SandboxSpec
from tasks.platforms.local import probe
from tasks.platforms.local.bundle import build_rootfs, oci_config
from tasks.platforms.local.cgroups import Cgroups, cpu_seconds
from tasks.platforms.local.runsc import Ended, last_line, run, run_and_read
from tasks.platforms.local.sampling import Sampler

GROUP = "/sandgauge-0/one"
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def v2(tmp_path):
    return write(
        tmp_path,
        {
            "cgroup.controllers": "cpu memory pids\n",
            "cgroup.procs": "1\n",
            "sandgauge-0/one/cgroup.procs": "41\n42\n",
            "sandgauge-0/one/cpu.max": "25000 100000\n",
            "sandgauge-0/one/memory.max": "67108864\n",
            "sandgauge-0/one/memory.current": "1234\n",
            "sandgauge-0/one/memory.events": "low 0\noom 2\noom_kill 1\n",
            "sandgauge-0/one/cpu.stat": "usage_usec 2500000\nuser_usec 1\nsystem_usec 2\n",
        },
    )


@pytest.fixture
def v1(tmp_path):
    controllers = ("cpu", "cpuacct", "memory", "systemd")
    return write(
        tmp_path,
        {
            **{f"{controller}/cgroup.procs": "1\n" for controller in controllers},
            "unified/cgroup.procs": "1\n",
            "unified/cgroup.controllers": "\n",
            "memory/sandgauge-0/one/cgroup.procs": "41\n42\n",
            "cpu/sandgauge-0/one/cpu.cfs_quota_us": "25000\n",
            "cpu/sandgauge-0/one/cpu.cfs_period_us": "100000\n",
            "memory/sandgauge-0/one/memory.limit_in_bytes": "67108864\n",
            "memory/sandgauge-0/one/memory.usage_in_bytes": "1234\n",
            "memory/sandgauge-0/one/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            "cpuacct/sandgauge-0/one/cpuacct.usage": "2500000000\n",
        },
    )


@pytest.mark.parametrize(("tree", "version"), [("v1", "hybrid"), ("v2", "v2")])
def test_limits_and_usage_read_the_same_in_both_versions(tree, version, request):
    cgroups = Cgroups.find(request.getfixturevalue(tree))
    assert cgroups.version == version
    assert cgroups.limits(GROUP) == (250.0, 64 * 2**20)
    assert cgroups.fault_of_limits(GROUP, 250, 64 * 2**20) is None
    assert cgroups.fault_of_limits(GROUP, 500, 64 * 2**20) == "its cpu limit is 250m, not 500m"
    assert cgroups.fault_of_limits(GROUP, 250, 128 * 2**20) == "its memory limit is 67108864, not 134217728 bytes"
    assert cgroups.processes(GROUP) == [41, 42]
    assert cgroups.all_processes("/sandgauge-0") == {41, 42}
    assert cgroups.out_of_memory_kills(GROUP) == 1
    usage = cgroups.usage(GROUP)
    assert cpu_seconds(usage.cpu.read_bytes()) == 2.5
    assert int(usage.memory.read_text()) == 1234


@pytest.mark.parametrize("tree", ["v1", "v2"])
def test_a_group_that_is_not_there_has_no_limits(tree, request):
    cgroups = Cgroups.find(request.getfixturevalue(tree))
    assert cgroups.limits("/sandgauge-0/gone") == (None, None)
    assert cgroups.fault_of_limits("/sandgauge-0/gone", 250, 1) == "its cpu limit is absent, not 250m"
    assert cgroups.processes("/sandgauge-0/gone") == []
    assert cgroups.remove("/sandgauge-0/gone")


def test_unlimited_is_no_limit(v2):
    write(v2, {"sandgauge-0/one/cpu.max": "max 100000\n", "sandgauge-0/one/memory.max": "max\n"})
    assert Cgroups.find(v2).limits(GROUP) == (None, None)


def test_no_controllers_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        Cgroups.find(tmp_path)


def test_samples_of_both_versions_and_of_what_is_missing(v2, tmp_path):
    proc = write(
        tmp_path / "proc",
        {
            "stat": "cpu  100 0 100 1000 50 0 0 0 0 0\ncpu0 1 2 3\n",
            "meminfo": "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  600 kB\n",
            "pressure/cpu": "some avg10=1.50 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0.00\n",
        },
    )
    sampler = Sampler("node", Cgroups.find(v2), proc)
    readings = sampler.read({"one": GROUP, "gone": "/sandgauge-0/gone"})
    values = {(reading.subject, reading.metric): reading.value for reading in readings}
    reasons = {(reading.subject, reading.metric): reading.reason for reading in readings}
    assert values["node", "cpu_seconds_total"] == pytest.approx(2.0)
    assert values["node", "memory_bytes"] == 400 * 1024
    assert values["node", "running"] == 2
    assert values["node", "pressure_cpu_some_avg10"] == 1.5
    assert values["node", "pressure_cpu_some_seconds_total"] == 2.0
    assert values["node", "pressure_io_some_avg10"] is None
    assert "No such file" in reasons["node", "pressure_io_some_avg10"]
    assert values["one", "cpu_seconds_total"] == 2.5
    assert values["one", "memory_bytes"] == 1234
    assert values["gone", "memory_bytes"] is None
    assert "No such file" in reasons["gone", "memory_bytes"]
    sampler.close()


@needs_linux
def test_files_of_ended_sandboxes_are_closed(v2):
    sampler = Sampler("node", Cgroups.find(v2))
    sampler.read({"one": GROUP})
    held = len(list(Path("/proc/self/fd").iterdir()))
    sampler.read({})
    assert len(list(Path("/proc/self/fd").iterdir())) == held - 2
    sampler.close()


@pytest.mark.parametrize(
    ("millicores", "quota", "period"), [(1, 1000, 1_000_000), (10, 1000, 100_000), (250, 25_000, 100_000)]
)
def test_quota_is_never_below_what_the_kernel_takes(millicores, quota, period):
    config = oci_config(SandboxSpec(millicores, 2**20, ["x"]), "h", Path("/r"), Path("/w"), GROUP)
    assert config["linux"]["resources"]["cpu"] == {"quota": quota, "period": period}
    assert config["linux"]["resources"]["memory"] == {"limit": 2**20, "swap": 2**20}


def test_the_root_has_an_etc_of_its_own(tmp_path):
    build_rootfs(tmp_path / "rootfs")
    etc = tmp_path / "rootfs" / "etc"
    assert {path.name for path in etc.iterdir()} <= {"passwd", "group", "hosts", "ld.so.cache", "alternatives"}
    build_rootfs(tmp_path / "rootfs")


@pytest.mark.parametrize(
    ("platforms", "wanted", "expected"),
    [
        (("systrap", "ptrace"), "auto", ["systrap", "ptrace"]),
        (("systrap", "ptrace"), "ptrace", ["ptrace"]),
        (("ptrace",), "auto", ["ptrace"]),
    ],
)
def test_platforms_are_tried_best_first(platforms, wanted, expected):
    known = probe.Known("runsc", "1", platforms, frozenset())
    assert probe.candidates(known, wanted) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("first\nsecond\n\n", "second"),
        ('{"msg":"one","level":"warning"}{"msg":"two","level":"error"}', "two"),
        ("", "it said nothing"),
    ],
)
def test_the_last_line_says_why(tmp_path, text, expected):
    write(tmp_path, {"log": text})
    assert last_line(tmp_path / "absent", tmp_path / "log") == expected


@needs_linux
def test_programs_run_to_their_end():
    assert asyncio.run(run(["/bin/sh", "-c", "exit 3"])) == 3
    ended = asyncio.run(run_and_read(["/bin/sh", "-c", "echo out; echo err >&2"]))
    assert ended == Ended(0, "out\n", "err\n")


@needs_linux
def test_a_grandchild_that_keeps_the_pipe_open_delays_nobody():
    began = time.monotonic()
    ended = asyncio.run(run_and_read(["/bin/sh", "-c", "sleep 5 & echo out"]))
    assert ended.stdout == "out\n"
    assert time.monotonic() - began < 3


@needs_linux
def test_cancelling_ends_the_whole_process_group(tmp_path):
    async def go():
        async with asyncio.timeout(0.3):
            await run(["/bin/sh", "-c", f"sleep 61 & echo $! > {tmp_path}/pid; wait"])

    with pytest.raises(TimeoutError):
        asyncio.run(go())
    pid = (tmp_path / "pid").read_text().strip()
    time.sleep(0.05)
    stat = Path(f"/proc/{pid}/stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"


@needs_linux
def test_what_a_runsc_says_of_itself(tmp_path):
    fake = tmp_path / "runsc"
    fake.write_text(
        "#!/bin/sh\ncase $1 in\n"
        "--version) echo 'runsc version release-20260101.0'; echo 'spec: 1.1.0';;\n"
        "flags) printf '  -overlay2 value\\n\\twrap\\n  -platform value\\n"
        "\\twhich platform: systrap (default), ptrace, kvm.\\n  -platform_device_path string\\n\\tkvm\\n';;\n"
        "esac\n"
    )
    fake.chmod(0o755)
    known = probe.ask_runsc(str(fake))
    assert known.version == "release-20260101.0"
    assert known.platforms == ("systrap", "kvm", "ptrace")
    assert "overlay2" in known.flags
