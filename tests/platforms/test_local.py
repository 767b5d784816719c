"""What the platform local promises beyond the conformance suite, on real sandboxes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.platforms.base import Failed, Unavailable
from tasks.platforms.local.cgroups import Cgroups
from tasks.platforms.local.state import Store

pytestmark = pytest.mark.local
COUNTER = ["/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo $i > /workspace/count; sleep 0.02; done"]


async def start(platform, ack, name, spec):
    await platform.create(name, spec, ack)
    await platform.resume(name, ack)


async def only_container(platform):
    (container,) = (await platform.inventory())["containers"]
    return container


async def pids_of(platform):
    return [int(line.split()[0]) for line in (await platform.inventory())["processes"]]


def counted(state_dir, where="workspace"):
    return int((state_dir / "sandboxes/one" / where / "count").read_text() or 0)


def until(condition, bound_s=5.0):
    deadline = time.monotonic() + bound_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_memory_and_files_survive_suspend_and_resume(local, ack, state_dir):
    count = state_dir / "sandboxes/one/workspace/count"

    async def body(platform):
        await start(platform, ack, "one", replace(local.spec, command=COUNTER))
        assert until(lambda: count.exists() and counted(state_dir) >= 5)
        (state_dir / "sandboxes/one/workspace/kept").write_text("kept")
        await platform.suspend("one", ack)
        assert await pids_of(platform) == []
        assert not count.exists()
        stopped_at = counted(state_dir, "checkpoints/000001/workspace")
        assert (await platform.resume("one", ack)).how == "restored"
        # The program goes on where it was: had it begun again, it would count from one.
        assert until(lambda: counted(state_dir) > stopped_at)
        assert counted(state_dir) >= stopped_at + 1
        receipt = await platform.exec("one", ["/bin/cat", "/workspace/kept"], ack)
        assert receipt.detail["stdout"] == "kept"

    local.run(body)


def test_restored_again_and_again_keeps_one_checkpoint(local, ack):
    async def body(platform):
        await start(platform, ack, "one", local.spec)
        for _ in range(3):
            await platform.suspend("one", ack)
            assert (await platform.resume("one", ack)).how == "restored"
        await platform.suspend("one", ack)
        assert (await platform.inventory())["snapshots"] == ["one/4"]

    local.run(body)


def test_limits_are_those_of_the_kernel(local, ack, state_dir):
    async def body(platform):
        await start(platform, ack, "one", replace(local.spec, cpu_millicores=250, memory_bytes=100_000_000))
        group = Store(state_dir).cgroup_of(await only_container(platform))
        assert Cgroups.find().limits(group) == (250.0, 100_000_000 // 4096 * 4096)

    local.run(body)


@pytest.mark.parametrize("millicores", [5, 10])
def test_the_kernel_takes_small_cpu_limits(local, ack, state_dir, millicores):
    async def body(platform):
        await platform.create("one", replace(local.spec, cpu_millicores=millicores), ack)
        booting = asyncio.ensure_future(platform.resume("one", ack))  # which takes long at so little CPU
        cgroups, store = Cgroups.find(), Store(state_dir)
        limits = None
        for _ in range(200):
            await asyncio.sleep(0.02)
            limits = [cgroups.limits(store.cgroup_of(container))[0] for container in store.containers()]
            if limits == [millicores]:
                break
        booting.cancel()
        await asyncio.wait([booting])
        assert limits == [millicores]

    local.run(body)


def test_a_memory_hog_is_killed_and_the_sandbox_starts_again(local, ack):
    async def body(platform):
        await start(platform, ack, "one", local.spec)
        with pytest.raises(Failed, match="one ended with exit code"):
            await platform.exec("one", ["/usr/bin/python3", "-c", "x = b'x' * 300_000_000; print(len(x))"], ack)
        if (await platform.list())[0].phase == "created":  # where it took the whole sandbox with it
            assert [booking.booked for booking in await platform.bookings()] == [0, 0]
            assert (await platform.resume("one", ack)).how == "booted"

    local.run(body)


def test_the_cpu_limit_throttles(local, ack):
    async def cpu(platform):
        readings = await platform.samples()
        return next(r.value for r in readings if r.scope == "sandbox" and r.metric == "cpu_seconds_total")

    async def body(platform):
        burn = ["/bin/sh", "-c", "while :; do :; done"]
        await start(platform, ack, "one", replace(local.spec, cpu_millicores=200, command=burn))
        before, began = await cpu(platform), time.monotonic()
        await asyncio.sleep(1.5)
        share = (await cpu(platform) - before) / (time.monotonic() - began)
        assert 0.1 < share < 0.3

    local.run(body)


def test_the_hosts_secrets_are_not_inside(local, ack):
    async def body(platform):
        await start(platform, ack, "one", local.spec)
        for path in ("/etc/shadow", "/root", "/var", "/home"):
            with pytest.raises(Failed, match="exit code 1"):
                await platform.exec("one", ["/usr/bin/test", "-e", path], ack)
        with pytest.raises(Failed, match=r"Read-only|read-only|denied"):
            await platform.exec("one", ["/bin/sh", "-c", "echo x > /usr/owned"], ack)
        assert not Path("/usr/owned").exists()

    local.run(body)


def test_a_program_that_fails_says_how(local, ack):
    async def body(platform):
        await start(platform, ack, "one", local.spec)
        with pytest.raises(Failed, match="exit code 3: it was not my day"):
            await platform.exec("one", ["/bin/sh", "-c", "echo it was not my day >&2; exit 3"], ack)
        with pytest.raises(Failed, match="no such file"):
            await platform.exec("one", ["/no/such/program"], ack)
        assert (await platform.list())[0].phase == "running"

    local.run(body)


def test_output_without_end_is_kept_in_part(local, ack):
    async def body(platform):
        await start(platform, ack, "one", local.spec)
        receipt = await platform.exec("one", ["/bin/sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo end"], ack)
        assert len(receipt.detail["stdout"]) == 4096
        assert receipt.detail["stdout"].endswith("xend\n")

    local.run(body)


def test_a_boot_that_fails_says_why_and_books_nothing(local, ack):
    async def body(platform):
        await platform.create("one", replace(local.spec, command=["/no/such/program"]), ack)
        with pytest.raises(Failed, match=r"was not booted: .*no such file"):
            await platform.resume("one", ack)
        assert [booking.booked for booking in await platform.bookings()] == [0, 0]
        inventory = await platform.inventory()
        assert inventory["containers"] == inventory["processes"] == []
        assert (await platform.list())[0].phase == "created"

    local.run(body)


def test_cancelling_an_exec_ends_the_program_and_not_the_sandbox(local, ack):
    async def body(platform):
        await start(platform, ack, "one", local.spec)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await platform.exec("one", ["/usr/bin/python3", "-c", "import time; time.sleep(987)"], ack)
        receipt = await platform.exec("one", ["/bin/sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"], ack)
        assert "987" not in receipt.detail["stdout"]
        assert (await platform.list())[0].phase == "running"

    local.run(body)


def test_cancelling_a_boot_leaves_nothing_of_it(local, ack):
    async def body(platform):
        await platform.create("one", local.spec, ack)
        for wait_s in (0.001, 0.03, 0.06, 0.1):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await platform.resume("one", ack)
                    await asyncio.sleep(1)
            if (await platform.list())[0].phase == "running":
                await platform.delete("one", ack)
                await platform.create("one", local.spec, ack)
            inventory = await platform.inventory()
            assert inventory["containers"] == inventory["processes"] == []
            assert [booking.booked for booking in await platform.bookings()] == [0, 0]

    local.run(body)


HANGING = """#!/bin/sh
for argument; do
    if [ "$argument" = "$(cat {flag} 2>/dev/null)" ]; then sleep 1000; exit 1; fi
done
exec runsc "$@"
"""


@pytest.fixture
def hanging(state_dir):
    """A runsc that hangs on the command that a file names."""
    flag, program = state_dir.parent / "flag", state_dir.parent / "fake"
    program.write_text(HANGING.format(flag=flag))
    program.chmod(0o755)
    return program, flag


def sleepers():
    done = subprocess.run(["pgrep", "-fx", "sleep 1000"], capture_output=True, text=True, check=False)
    return set(done.stdout.split())


@pytest.mark.parametrize("first_suspends", [0, 1])
def test_a_hung_checkpoint_is_ended_and_the_last_good_one_stays(local, ack, hanging, first_suspends):
    program, flag = hanging
    others = sleepers()

    async def body(platform):
        await start(platform, ack, "one", local.spec)
        for _ in range(first_suspends):
            await platform.suspend("one", ack)
            await platform.resume("one", ack)
        flag.write_text("checkpoint")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await platform.suspend("one", ack)
        assert sleepers() == others
        assert await pids_of(platform) == []
        assert [booking.booked for booking in await platform.bookings()] == [0, 0]
        assert (await platform.inventory())["snapshots"] == ["one/1"] * first_suspends
        flag.unlink()
        assert (await platform.resume("one", ack)).how == ("restored" if first_suspends else "booted")

    local.run(body, runsc=str(program))


@pytest.mark.parametrize("command", ["run", "restore"])
def test_a_hung_boot_or_restore_gives_its_booking_back(local, ack, hanging, command):
    program, flag = hanging
    others = sleepers()

    async def body(platform):
        await platform.create("one", local.spec, ack)
        if command == "restore":
            await platform.resume("one", ack)
            await platform.suspend("one", ack)
        flag.write_text(command)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await platform.resume("one", ack)
        flag.unlink()
        assert sleepers() == others
        assert [booking.booked for booking in await platform.bookings()] == [0, 0]
        assert (await platform.resume("one", ack)).how == ("restored" if command == "restore" else "booted")

    local.run(body, runsc=str(program))


def test_a_sandbox_that_died_is_seen_and_resumes_from_its_checkpoint(local, ack):
    async def body(platform):
        await start(platform, ack, "one", local.spec)
        await platform.suspend("one", ack)
        await platform.resume("one", ack)
        for pid in await pids_of(platform):
            os.kill(pid, signal.SIGKILL)
        for _ in range(100):
            if (await platform.list())[0].phase == "unknown":
                break
            await asyncio.sleep(0.02)
        assert [listed.phase for listed in await platform.list()] == ["unknown"]
        assert (await platform.resume("one", ack)).how == "restored"
        assert [booking.booked for booking in await platform.bookings()] == [500, local.spec.memory_bytes]

    local.run(body)


def test_a_second_run_is_told_who_has_the_target(local):
    async def body(platform):
        with pytest.raises(Unavailable, match=rf"target local is in use by another run: .*\(pid {os.getpid()}\)"):
            await local.make().open()

    local.run(body)


def test_a_directory_of_somebody_else_is_left_alone(local, state_dir):
    state_dir.mkdir()
    (state_dir / "precious").write_text("mine")
    with pytest.raises(Unavailable, match="not empty and not Sandgauge's"):
        asyncio.run(local.make().open())
    assert os.listdir(state_dir) == ["precious"]


def test_a_runsc_that_does_not_work_is_told_in_one_line(local, state_dir):
    state_dir.parent.joinpath("broken").write_text("#!/bin/sh\nexit 7\n")
    state_dir.parent.joinpath("broken").chmod(0o755)
    with pytest.raises(Unavailable, match="broken does not answer"):
        asyncio.run(local.make(runsc=str(state_dir.parent / "broken")).open())
    with pytest.raises(Unavailable, match=r"nonesuch not found .*apt-get install runsc"):
        asyncio.run(local.make(runsc="nonesuch").open())


@pytest.mark.parametrize("boots", [True, False])
def test_opening_and_closing_leaves_no_control_group(local, hanging, state_dir, boots):
    program, flag = hanging
    if not boots:
        flag.write_text("run")

    async def go():
        platform = local.make(runsc=str(program))
        with nullcontext() if boots else pytest.raises(Unavailable):
            await platform.open()
        await platform.close()

    asyncio.run(go())
    assert Cgroups.find().directories(Store(state_dir).cgroup) == []


def test_a_way_in_which_no_sandbox_boots_is_told(local, hanging):
    program, flag = hanging
    flag.write_text("run")
    with pytest.raises(Unavailable, match=r"no sandbox boots with .*ptrace: no answer within"):
        asyncio.run(local.make(runsc=str(program), runsc_platform="ptrace").open())


def test_a_new_process_takes_over_what_runs(local, ack):
    async def old():
        platform = local.make()
        await platform.open()
        await start(platform, ack, "runs", local.spec)
        await start(platform, ack, "sleeps", local.spec)
        await platform.suspend("sleeps", ack)
        await platform.create("new", local.spec, ack)
        await platform.close()

    async def body(platform):
        phases = {listed.name: listed.phase for listed in await platform.list()}
        assert phases == {"new": "created", "runs": "running", "sleeps": "suspended"}
        assert [booking.booked for booking in await platform.bookings()] == [500, local.spec.memory_bytes]
        assert (await platform.exec("runs", ["/bin/true"], ack)).detail["exit_code"] == 0
        assert (await platform.resume("sleeps", ack)).how == "restored"

    asyncio.run(old())
    local.run(body)
