"""What every platform must do, whatever it is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from specs.models import OPERATIONS
from specs.workloads import WORKLOADS
from tasks.platforms.base import Failed, Refused, Snapshot, Unsupported

MIB = 2**20
NONCE = "0123456789abcdef"


async def booked(platform: Any) -> dict[str, float]:
    return {booking.resource: booking.booked for booking in await platform.bookings()}


async def phases(platform: Any) -> dict[str, str]:
    return {listed.name: listed.phase for listed in await platform.list()}


def test_a_sandbox_goes_through_its_life(case, ack):
    async def body(platform):
        await platform.create("one", case.spec, ack)
        assert await phases(platform) == {"one": "created"}
        assert await booked(platform) == {"cpu": 0, "memory": 0}

        assert (await platform.resume("one", ack)).how == "booted"
        assert await phases(platform) == {"one": "running"}
        assert await booked(platform) == {"cpu": case.spec.cpu_millicores, "memory": case.spec.memory_bytes}

        assert (await platform.exec("one", ["/bin/sh", "-c", "echo hello"], ack)).detail["exit_code"] == 0

        receipt = await platform.suspend("one", ack)
        assert receipt.detail["checkpoint_bytes"] > 0
        assert await phases(platform) == {"one": "suspended"}
        assert await booked(platform) == {"cpu": 0, "memory": 0}
        assert [(snapshot.sandbox, snapshot.generation) for snapshot in await platform.snapshots()] == [("one", 1)]

        assert (await platform.resume("one", ack)).how == "restored"
        await platform.suspend("one", ack)
        await platform.delete("one", ack)
        assert await phases(platform) == {}

    case.run(body)


def test_deleting_ends_what_runs_and_gives_back_its_booking(case, ack):
    async def body(platform):
        await platform.create("one", case.spec, ack)
        await platform.resume("one", ack)
        await platform.delete("one", ack)
        assert await booked(platform) == {"cpu": 0, "memory": 0}
        assert await phases(platform) == {}

    case.run(body)


def test_delete_may_be_called_twice_and_for_what_never_was(case, ack):
    async def body(platform):
        await platform.create("one", case.spec, ack)
        await platform.delete("one", ack)
        await platform.delete("one", ack)
        await platform.delete("never", ack)

    case.run(body)


def test_a_name_can_be_used_again_after_delete_and_only_then(case, ack):
    async def body(platform):
        await platform.create("one", case.spec, ack)
        with pytest.raises(Failed, match="one exists already"):
            await platform.create("one", case.spec, ack)
        await platform.delete("one", ack)
        await platform.create("one", case.spec, ack)
        assert (await platform.resume("one", ack)).how == "booted"

    case.run(body)


@pytest.mark.parametrize(
    ("resource", "change"), [("cpu", {"cpu_millicores": 1001}), ("memory", {"memory_bytes": 2 * 2**30})]
)
def test_create_that_does_not_fit_is_refused(case, ack, resource, change):
    async def body(platform):
        with pytest.raises(Refused, match=rf"^no worker has room: .* of {resource} asked for") as caught:
            await platform.create("big", replace(case.spec, **change), ack)
        assert caught.value.resource == resource
        assert await phases(platform) == {}

    case.run(body)


def test_resume_that_does_not_fit_is_refused_until_another_is_suspended(case, ack):
    async def body(platform):
        for name in ("one", "two", "three"):
            await platform.create(name, case.spec, ack)
        await platform.resume("one", ack)
        await platform.resume("two", ack)
        with pytest.raises(Refused, match=r"^no worker has room") as caught:
            await platform.resume("three", ack)
        assert caught.value.resource == "cpu"
        assert (await phases(platform))["three"] == "created"
        await platform.suspend("one", ack)
        assert (await platform.resume("three", ack)).how == "booted"

    case.run(body)


def test_concurrent_resumes_do_not_overbook(case, ack):
    async def body(platform):
        names = [f"s{number}" for number in range(4)]
        for name in names:
            await platform.create(name, case.spec, ack)
        results = await asyncio.gather(*(platform.resume(name, ack) for name in names), return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["Receipt", "Receipt", "Refused", "Refused"]
        assert (await booked(platform))["cpu"] == case.cpu

    case.run(body)


@pytest.mark.parametrize("operation", ["resume", "suspend", "exec"])
def test_an_unknown_sandbox_fails_by_name(case, ack, operation):
    async def body(platform):
        arguments = [["/bin/true"]] if operation == "exec" else []
        with pytest.raises(Failed, match="no sandbox is called nobody"):
            await getattr(platform, operation)("nobody", *arguments, ack)

    case.run(body)


def test_operations_need_the_right_phase(case, ack):
    async def body(platform):
        await platform.create("one", case.spec, ack)
        with pytest.raises(Failed, match="created"):
            await platform.suspend("one", ack)
        with pytest.raises(Failed, match="created"):
            await platform.exec("one", ["/bin/true"], ack)
        await platform.resume("one", ack)
        with pytest.raises(Failed, match="run"):
            await platform.resume("one", ack)

    case.run(body)


def test_what_is_not_among_its_operations_is_unsupported(case, ack):
    async def body(platform):
        for operation in set(OPERATIONS) - platform.operations:
            with pytest.raises(Unsupported, match=operation):
                await getattr(platform, operation)("one", ack)

    case.run(body)


def test_facts_and_samples_say_where_they_come_from(case, ack):
    async def body(platform):
        await platform.create("one", case.spec, ack)
        await platform.resume("one", ack)
        facts = await platform.facts()
        assert facts and all(fact.source for fact in facts)
        assert all(fact.value is not None or fact.reason for fact in facts)
        readings = await platform.samples()
        assert all(reading.source and (reading.value is not None or reading.reason) for reading in readings)
        node = {reading.metric: reading.value for reading in readings if reading.scope == "node"}
        assert node["running"] == 1
        assert {"cpu_seconds_total", "memory_bytes"} <= node.keys()
        memory = [r.value for r in readings if (r.scope, r.subject, r.metric) == ("sandbox", "one", "memory_bytes")]
        assert len(memory) == 1 and 0 < memory[0] <= case.spec.memory_bytes

    case.run(body)


def test_closing_twice_does_no_harm(case, ack):
    async def go():
        platform = case.make()
        await platform.open()
        await platform.close()
        await platform.close()

    asyncio.run(go())


def answer_of(receipt: Any) -> dict[str, Any]:
    """What the program inside answered to a wake."""
    assert receipt.detail["status"] == 200
    return json.loads(receipt.detail["answer"])


async def until_written(platform: Any, sandbox: str, generation: int) -> Snapshot:
    """Wait until the platform says that a snapshot is in the store."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 30
    while loop.time() < deadline:
        for snapshot in await platform.snapshots():
            if (snapshot.sandbox, snapshot.generation, snapshot.state) == (sandbox, generation, "written"):
                return snapshot
        await asyncio.sleep(0.05)
    raise AssertionError(f"not written within 30 s: {await platform.snapshots()}")


async def start_keepers(platform: Any, case: Any, ack: Any, needs: set[str], *names: str) -> None:
    """Create sandboxes that answer requests, on a platform that has what they need."""
    await platform.provision(frozenset(needs))
    spec = replace(case.spec, memory_bytes=128 * MIB, command=WORKLOADS["keeper"].argv())
    for name in names:
        await platform.create(name, spec, ack)


def test_provisioning_twice_does_no_harm(case, ack):
    async def body(platform):
        await platform.provision(frozenset())
        for _ in range(2):
            await platform.provision(platform.provides)
        await platform.provision(frozenset(), upload_delay=1.0)
        await platform.create("one", case.spec, ack)
        assert (await platform.resume("one", ack)).how == "booted"

    case.run(body)


def test_a_wake_starts_what_does_not_run_and_its_answers_count_on(case, ack):
    async def body(platform):
        await start_keepers(platform, case, ack, {"router"}, "one")
        first = await platform.wake("one", ack)
        assert first.how == "booted"
        second = await platform.wake("one", ack)
        assert second.how is None
        assert second.detail["parked_s"] < 0.5
        await platform.suspend("one", ack)
        third = await platform.wake("one", ack)
        assert third.how == "restored"
        assert await phases(platform) == {"one": "running"}

        answers = [answer_of(receipt) for receipt in (first, second, third)]
        assert [answer["count"] - answers[0]["count"] for answer in answers] == [0, 1, 2]
        assert len({answer["boot"] for answer in answers}) == 1

    case.run(body)


def test_wakes_of_one_sandbox_at_once_start_it_once(case, ack):
    async def body(platform):
        await start_keepers(platform, case, ack, {"router"}, "one")
        receipts = await asyncio.gather(*(platform.wake("one", ack) for _ in range(4)))
        assert sorted(receipt.how or "-" for receipt in receipts) == ["-", "-", "-", "booted"]
        assert len({answer_of(receipt)["count"] for receipt in receipts}) == 4
        assert (await booked(platform))["cpu"] == case.spec.cpu_millicores

    case.run(body)


def test_a_wake_that_finds_no_room_is_parked_and_then_refused(case, ack):
    async def body(platform):
        await start_keepers(platform, case, ack, {"router"}, "one", "two", "three")
        await platform.resume("one", ack)
        await platform.resume("two", ack)
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(Refused, match="no worker has room") as caught:
            await platform.wake("three", ack)
        assert 0.25 <= loop.time() - began < 5
        assert caught.value.resource == "cpu"
        assert (await phases(platform))["three"] == "created"
        assert (await booked(platform))["cpu"] == case.cpu

    case.run(body, parking="300ms")


def test_a_parked_wake_goes_on_when_room_comes(case, ack):
    async def body(platform):
        await start_keepers(platform, case, ack, {"router"}, "one", "two", "three")
        await platform.resume("one", ack)
        await platform.resume("two", ack)
        parked = asyncio.ensure_future(platform.wake("three", ack))
        await asyncio.sleep(0.2)
        assert not parked.done()
        await platform.delete("one", ack)
        receipt = await parked
        assert receipt.how == "booted"
        assert receipt.detail["parked_s"] >= 0.15
        assert answer_of(receipt)["count"] >= 1
        assert (await booked(platform))["cpu"] == case.cpu

    case.run(body, parking="20s")


def test_a_parked_wake_that_is_cancelled_books_nothing(case, ack):
    async def body(platform):
        await start_keepers(platform, case, ack, {"router"}, "one", "two", "three")
        await platform.resume("one", ack)
        await platform.resume("two", ack)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(platform.wake("three", ack), 0.2)
        await platform.delete("one", ack)
        assert (await booked(platform))["cpu"] == case.spec.cpu_millicores

    case.run(body, parking="20s")


# Starting a store takes a real platform seconds, so that these two ask much of one.
def test_snapshots_have_states_and_times_and_only_a_whole_one_can_be_evicted(case, ack):
    async def body(platform):
        loop = asyncio.get_running_loop()
        await platform.provision(frozenset({"store"}), upload_delay=3600.0)
        with pytest.raises(Failed, match="no sandbox is called nobody"):
            await platform.evict("nobody")
        await platform.create("one", case.spec, ack)
        assert await platform.snapshots() == []
        with pytest.raises(Failed, match="created"):
            await platform.evict("one")
        await platform.resume("one", ack)
        with pytest.raises(Failed, match="running"):
            await platform.evict("one")
        began = loop.time()
        await platform.suspend("one", ack)
        ended = loop.time()
        (waiting,) = await platform.snapshots()
        assert (waiting.sandbox, waiting.generation, waiting.state) == ("one", 1, "local_only")
        assert waiting.store
        assert began <= waiting.suspended_at <= ended
        assert (waiting.first_byte_at, waiting.written_at, waiting.tries) == (None, None, None)
        assert waiting.size_bytes > 0
        assert not (await platform.verify_snapshot("one", 1)).whole
        with pytest.raises(Failed, match="not whole"):
            await platform.evict("one")

        await platform.provision(frozenset({"store"}), upload_delay=0.0)
        assert (await platform.resume("one", ack)).how == "restored"  # nothing was removed
        await platform.suspend("one", ack)
        written = await until_written(platform, "one", 2)
        assert ended <= written.suspended_at <= written.first_byte_at <= written.written_at <= loop.time()
        assert written.tries >= 1
        assert written.uploaded_bytes > 0
        older = [snapshot.state for snapshot in await platform.snapshots() if snapshot.generation == 1]
        assert older in ([], ["stale"])

    case.run(body)


def test_what_is_written_brings_everything_back_when_evicted_and_is_gone_when_deleted(case, ack):
    async def body(platform):
        await start_keepers(platform, case, ack, {"router", "store"}, "one")
        before = answer_of(await platform.wake("one", ack))
        await platform.exec("one", WORKLOADS["mark"].argv([NONCE]), ack)
        await platform.suspend("one", ack)
        await until_written(platform, "one", 1)
        verified = await platform.verify_snapshot("one", 1)
        assert verified.whole, verified
        assert verified.objects >= 1 and verified.size_bytes > 0 and len(verified.checksum) == 64

        await platform.evict("one")
        assert (await platform.verify_snapshot("one", 1)).checksum == verified.checksum
        assert await phases(platform) == {"one": "suspended"}
        assert (await platform.resume("one", ack)).how == "restored"
        receipt = await platform.exec("one", WORKLOADS["verify"].argv([NONCE]), ack)
        assert json.loads(receipt.detail["stdout"]) == {"files": True, "memory": True}
        after = answer_of(await platform.wake("one", ack))
        assert after["boot"] == before["boot"]
        assert after["nonce"] == NONCE

        assert (await platform.inventory())["snapshots"]
        await platform.delete("one", ack)
        await platform.sweep()
        assert await platform.snapshots() == []
        assert not (await platform.verify_snapshot("one", 1)).whole
        left = await platform.inventory()
        assert {kind: names for kind, names in left.items() if "snapshot" in kind and names} == {}

    case.run(body)


def test_verify_fails_on_another_nonce_unless_a_report_is_asked_for(case, ack):
    async def body(platform):
        await start_keepers(platform, case, ack, {"router"}, "one")
        await platform.wake("one", ack)
        await platform.exec("one", WORKLOADS["mark"].argv([NONCE]), ack)
        with pytest.raises(Failed, match=r"exit code 1.*nonce is not there"):
            await platform.exec("one", WORKLOADS["verify"].argv(["another"]), ack)
        receipt = await platform.exec("one", WORKLOADS["verify"].argv(["another", "report"]), ack)
        assert json.loads(receipt.detail["stdout"]) == {"files": False, "memory": False}

    case.run(body)


def test_a_program_that_measures_itself_prints_its_seconds(case, ack):
    async def body(platform):
        await platform.create("one", case.spec, ack)
        await platform.resume("one", ack)
        receipt = await platform.exec("one", WORKLOADS["cpu-benchmark"].argv(), ack)
        assert json.loads(receipt.detail["stdout"].splitlines()[-1])["seconds"] > 0

    case.run(body)
