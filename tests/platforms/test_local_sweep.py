"""Whenever a run dies, a new process ends at zero, and touches nothing of anybody else."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tasks.platforms.local.cgroups import Cgroups
from tasks.platforms.local.state import Store

pytestmark = pytest.mark.local

LOAD = """
import asyncio, sys
from specs.targets import LocalTarget
from tasks.platforms.base import SandboxSpec
from tasks.platforms.local import LocalPlatform

async def live(platform, name):
    spec = SandboxSpec(500, 64 << 20, ["/usr/bin/sleep", "infinity"])
    while True:
        await platform.create(name, spec, print)
        for _ in range(2):
            await platform.resume(name, print)
            await platform.exec(name, ["/bin/true"], print)
            await platform.suspend(name, print)
        await platform.delete(name, print)

async def main():
    platform = LocalPlatform(LocalTarget.model_validate_json(sys.argv[1]))
    await platform.open()
    print("open", flush=True)
    await asyncio.gather(*(live(platform, f"s{number}") for number in range(6)))

asyncio.run(main())
"""


def begin_load(local):
    target = local.make(allocatable={"cpu": 8, "memory": "8Gi"})._target.model_dump_json()
    return subprocess.Popen(
        [sys.executable, "-c", LOAD, target], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], text=True
    )


def kill(child):
    child.send_signal(signal.SIGKILL)
    child.wait(10)
    child.stdout.close()


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_moment_ends_at_zero_from_a_new_process(local, seed):
    child = begin_load(local)
    assert child.stdout.readline() == "open\n"
    time.sleep(random.Random(seed).uniform(0.05, 1.5))
    kill(child)

    async def body(platform):
        assert any((await platform.inventory()).values())

    local.run(body)  # which sees that nothing is left


def test_killed_while_opening(local, state_dir):
    child = begin_load(local)
    deadline = time.monotonic() + 10
    while not list(state_dir.glob("sandboxes/.probe-*")) and time.monotonic() < deadline:
        time.sleep(0.002)
    kill(child)

    async def body(platform):
        assert await platform.list() == []

    local.run(body)


def test_half_made_directories_and_records_are_removed(local, state_dir):
    store = Store(state_dir)

    async def body(platform):
        (store.sandboxes / ".new-a-12345678" / "workspace").mkdir(parents=True)
        (store.sandboxes / ".gone-b-12345678").mkdir()

    local.run(body)
    (store.sandboxes / "torn").mkdir()
    (store.sandboxes / "torn" / "sandbox.json").write_text('{"owner": "sandga')

    async def see(platform):
        assert [(listed.name, listed.phase) for listed in await platform.list()] == [("torn", "unknown")]

    local.run(see)
    assert os.listdir(store.sandboxes) == []


def test_a_container_without_a_sandbox_is_listed_and_deleted(local, ack, state_dir):
    async def body(platform):
        await platform.create("one", local.spec, ack)
        await platform.resume("one", ack)
        (container,) = (await platform.inventory())["containers"]
        platform._sandboxes.clear()
        (state_dir / "sandboxes" / "one").rename(state_dir / "sandboxes" / ".gone-one-1")
        assert [(listed.name, listed.phase) for listed in await platform.list()] == [(container, "unknown")]
        await platform.delete(container, ack)
        assert await platform.list() == []

    local.run(body)


def test_sweep_keeps_what_is_listed(local, ack):
    async def body(platform):
        await platform.create("one", local.spec, ack)
        await platform.resume("one", ack)
        await platform.sweep()
        assert (await platform.exec("one", ["/bin/true"], ack)).detail["exit_code"] == 0

    local.run(body)


def test_sweep_leaves_alone_what_only_looks_like_ours(local, state_dir):
    root = Store(state_dir).runsc_root
    strangers = [
        subprocess.Popen(["runsc-sandbox", "60"], executable="/usr/bin/sleep"),
        subprocess.Popen([f"--root={root}2", "-c", "import time; time.sleep(60)", "runsc"], executable=sys.executable),
    ]
    stray = subprocess.Popen(
        ["runsc", "-c", "import time; time.sleep(60)", f"--root={root}"], executable=sys.executable
    )
    group = Cgroups.find().hierarchies[0] / "sandgauge-00000000"
    group.mkdir(exist_ok=True)

    async def body(platform):
        await platform.sweep()
        assert stray.wait(5) == -signal.SIGKILL
        assert [stranger.poll() for stranger in strangers] == [None, None]
        assert group.is_dir()

    try:
        local.run(body)
    finally:
        group.rmdir()
        for child in (*strangers, stray):
            child.kill()
            child.wait(5)


def test_mounts_below_the_state_directory_are_undone(local, ack, state_dir):
    async def body(platform):
        await platform.create("one", local.spec, ack)
        workspace = state_dir / "sandboxes" / "one" / "workspace"
        outside = state_dir.parent / "outside"
        outside.mkdir()
        (outside / "precious").write_text("mine")
        subprocess.run(["mount", "--bind", outside, workspace], check=True)
        assert (await platform.inventory())["mounts"] == [str(workspace)]
        await platform.delete("one", ack)
        assert (outside / "precious").read_text() == "mine"

    local.run(body)
