"""What every platform must do, whatever it is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from specs.models import OPERATIONS
from tasks.platforms.base import Failed, Refused, Unsupported


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
