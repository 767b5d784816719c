"""The model alone, in virtual time: its uploads, its pages, and what goes wrong on purpose."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import ValidationError

from specs.targets import SimulatedTarget
from specs.workloads import WORKLOADS
from tasks.engine.loops import EngineLoop
from tasks.platforms.base import Failed, Refused, SandboxSpec, Unavailable
from tasks.platforms.simulated import SimulatedPlatform

SPEC = SandboxSpec(100, 64 * 2**20, WORKLOADS["keeper"].argv())
SECOND = {"median": "1s", "spread": 0}


def ack() -> None:
    """Nobody listens."""


def target(**settings: Any) -> SimulatedTarget:
    return SimulatedTarget.model_validate({"name": "model", "platform": "simulated", **settings})


def play(body: Callable[[SimulatedPlatform], Awaitable[None]], **settings: Any) -> None:
    with EngineLoop(virtual=True) as engine:

        async def go() -> None:
            await body(SimulatedPlatform(target(**settings)))

        engine.submit(go()).result(timeout=30)


def now() -> float:
    return asyncio.get_running_loop().time()


async def suspended(platform: SimulatedPlatform, *names: str) -> None:
    """Sandboxes that were marked with their own names and suspended."""
    for name in names:
        await platform.create(name, SPEC, ack)
        await platform.resume(name, ack)
        await platform.exec(name, WORKLOADS["mark"].argv([name]), ack)
        await platform.suspend(name, ack)


async def states(platform: SimulatedPlatform) -> dict[str, str]:
    return {f"{each.sandbox}/{each.generation}": each.state for each in await platform.snapshots()}


# Snapshots


def test_an_upload_goes_from_local_only_over_uploading_to_written() -> None:
    async def body(platform):
        await suspended(platform, "a")
        seen = []
        for pause in (0, 9, 2, 1, 1):
            await asyncio.sleep(pause)
            (shown,) = await platform.snapshots()
            whole = (await platform.verify_snapshot("a", 1)).whole
            seen.append((shown.state, shown.first_byte_at, shown.written_at, shown.tries, whole))
        assert seen == [
            ("local_only", None, None, None, False),
            ("local_only", None, None, None, False),
            ("uploading", 10, None, 1, False),
            ("uploading", 10, None, 1, False),
            ("written", 10, 12.5, 1, True),
        ]
        assert shown.suspended_at == 0
        assert shown.uploaded_bytes == shown.size_bytes

    play(body, upload_delay="10s", upload={"median": "2500ms", "spread": 0})


def test_what_the_store_has_taken_grows() -> None:
    async def body(platform):
        await suspended(platform, "a")
        taken = []
        for _ in range(5):
            (shown,) = await platform.snapshots()
            taken.append(shown.uploaded_bytes / shown.size_bytes)
            await asyncio.sleep(1)
        assert taken == pytest.approx([0, 0.25, 0.5, 0.75, 1])

    play(body, upload_delay="0s", upload={"median": "4s", "spread": 0})


def test_the_delay_is_the_targets_unless_a_trial_wishes_another() -> None:
    async def body(platform):
        for wish, expected in ((5.0, 5.0), (None, 300.0), (0.0, 0.0)):
            await platform.provision(frozenset({"store"}), wish)
            began = now()
            await suspended(platform, f"s{expected:.0f}")
            await asyncio.sleep(300)
            last = (await platform.snapshots())[-1]
            assert last.first_byte_at - began == pytest.approx(expected)

    play(body)


def test_what_it_does_not_provide_is_unavailable() -> None:
    async def body(platform):
        with pytest.raises(Unavailable, match="has no moon"):
            await platform.provision(frozenset({"moon"}))

    play(body)


def test_a_resume_alone_makes_no_snapshot_stale_and_a_newer_suspend_does() -> None:
    async def body(platform):
        await suspended(platform, "early", "late")
        await platform.resume("early", ack)
        await platform.resume("late", ack)
        assert await states(platform) == {"early/1": "local_only", "late/1": "local_only"}
        await asyncio.sleep(10.5)
        await platform.suspend("early", ack)
        assert await states(platform) == {"early/1": "stale", "early/2": "local_only", "late/1": "uploading"}
        await asyncio.sleep(1)
        await platform.suspend("late", ack)
        await asyncio.sleep(100)
        assert await states(platform) == {
            "early/1": "stale",
            "early/2": "written",
            "late/1": "written",  # while it ran, its upload went on
            "late/2": "written",
        }
        stale = (await platform.snapshots())[0]
        assert (stale.first_byte_at, stale.written_at) == (10, None)
        assert not (await platform.verify_snapshot("early", 1)).whole

    play(body, upload_delay="10s", upload=SECOND)


def test_uploads_are_drawn_by_the_seed_and_leave_the_latencies_alone() -> None:
    drawn: list[list[float]] = []

    async def body(platform):
        took = []
        for number in range(10):
            began = now()
            await suspended(platform, f"s{number}")
            took.append(round(now() - began, 6))
        drawn.append(took)
        await asyncio.sleep(100)
        drawn.append([round(each.written_at - each.first_byte_at, 6) for each in await platform.snapshots()])

    latencies = {"suspend": {"median": "1s", "spread": 0.5}}
    for settings in ({"upload": {"median": "1s"}}, {"upload": {"median": "1s"}}, {}):
        play(body, upload_delay="1s", latencies=latencies, **settings)
    assert drawn[0] == drawn[2] == drawn[4]
    assert drawn[1] == drawn[3]
    assert len(set(drawn[1])) == 10
    assert drawn[5] == [0.0] * 10


# Faults of snapshots


def test_a_lost_snapshot_is_never_written_and_cannot_be_restored() -> None:
    async def body(platform):
        await suspended(platform, "a", "b")
        assert await states(platform) == {"a/1": "local_only", "b/1": "local_only"}
        await asyncio.sleep(4)
        assert await states(platform) == {"a/1": "local_only", "b/1": "lost"}
        await asyncio.sleep(100)
        assert await states(platform) == {"a/1": "written", "b/1": "lost"}
        lost = (await platform.snapshots())[1]
        assert (lost.first_byte_at, lost.written_at) == (None, None)
        assert "vanished" in lost.error
        for operation in (platform.resume, platform.wake):
            with pytest.raises(Failed, match="snapshot 1 is lost"):
                await operation("b", ack)
        assert [booking.booked for booking in await platform.bookings()] == [0, 0]
        with pytest.raises(Failed, match="not whole"):
            await platform.evict("b")

    play(body, upload_delay="10s", faults=[{"kind": "lose", "sandbox": "b", "lasting": "3s"}])


def test_a_corrupt_snapshot_is_written_but_not_whole_and_its_local_copy_stays() -> None:
    async def body(platform):
        await suspended(platform, "a", "b")
        await asyncio.sleep(1)
        assert await states(platform) == {"a/1": "written", "b/1": "written"}
        assert (await platform.verify_snapshot("a", 1)).whole
        verified = await platform.verify_snapshot("b", 1)
        assert not verified.whole
        assert "checksum" in verified.problem
        with pytest.raises(Failed, match="not whole"):
            await platform.evict("b")
        assert (await platform.resume("b", ack)).how == "restored"

    play(body, upload_delay="0s", faults=[{"kind": "corrupt", "after": 2}])


def test_what_forgets_has_its_files_and_lost_its_memory() -> None:
    async def body(platform):
        await suspended(platform, "a")
        await platform.resume("a", ack)
        boots = [json.loads((await platform.wake("a", ack)).detail["answer"])]
        await platform.suspend("a", ack)
        assert (await platform.wake("a", ack)).how == "restored"
        boots.append(json.loads((await platform.wake("a", ack)).detail["answer"]))
        assert [boot["count"] for boot in boots] == [1, 2]
        assert boots[0]["boot"] != boots[1]["boot"]
        assert [boot["nonce"] for boot in boots] == ["a", ""]
        report = await platform.exec("a", WORKLOADS["verify"].argv(["a", "report"]), ack)
        assert json.loads(report.detail["stdout"]) == {"files": True, "memory": False}

    # Boots are not counted: the second restore is meant.
    play(body, faults=[{"kind": "forget", "after": 2}])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"kind": "lose", "operation": "resume"}, "lose befalls suspend, and no resume"),
        ({"kind": "forget", "operation": "suspend"}, "forget befalls resume or wake, and no suspend"),
    ],
)
def test_a_fault_befalls_what_it_can(fault: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        target(faults=[fault])


# Programs inside


def test_a_benchmark_says_what_the_model_took() -> None:
    async def body(platform):
        await platform.create("a", SPEC, ack)
        await platform.resume("a", ack)
        for program in ("cpu-benchmark", "write-benchmark", "write-random"):
            receipt = await platform.exec("a", WORKLOADS[program].argv(), ack)
            assert json.loads(receipt.detail["stdout"]) == {"seconds": 1.0}
        assert (await platform.exec("a", ["ls"], ack)).detail == {"exit_code": 0, "stdout": "", "stderr": ""}

    play(body, latencies={"exec": SECOND})


# Room


def test_a_request_is_parked_on_the_loops_clock() -> None:
    async def body(platform):
        for name in ("a", "b"):
            await platform.create(name, SPEC, ack)
        await platform.resume("a", ack)
        with pytest.raises(Refused):
            await platform.wake("b", ack)
        assert now() == pytest.approx(5)
        parked = asyncio.ensure_future(platform.wake("b", ack))
        await asyncio.sleep(3)
        await platform.suspend("a", ack)
        receipt = await parked
        assert receipt.detail["parked_s"] == pytest.approx(3)
        assert receipt.detail["way"] == "simulated"

    play(body, allocatable={"cpu": "100m"})


def test_parked_requests_get_room_in_the_order_of_their_arrival_as_far_as_they_fit() -> None:
    async def body(platform):
        big, small = SandboxSpec(200, 2**20, ["x"]), SandboxSpec(100, 2**20, ["x"])
        for name, spec in (("one", small), ("two", small), ("big", big), ("b", small), ("c", small)):
            await platform.create(name, spec, ack)
        await platform.resume("one", ack)
        await platform.resume("two", ack)
        woken: list[str] = []

        async def wake(name: str) -> None:
            await platform.wake(name, ack)
            woken.append(name)

        waiting = [asyncio.ensure_future(wake(name)) for name in ("big", "b", "c")]
        await asyncio.sleep(0.1)
        await platform.delete("one", ack)
        await asyncio.sleep(0.1)
        assert woken == ["b"]
        await platform.suspend("b", ack)
        await asyncio.sleep(0.1)
        assert woken == ["b", "c"]
        await platform.suspend("c", ack)
        await platform.suspend("two", ack)
        await asyncio.gather(*waiting)
        assert woken == ["b", "c", "big"]

    play(body, allocatable={"cpu": "200m"})


def test_what_is_deleted_while_it_starts_gives_its_booking_back() -> None:
    async def body(platform):
        await platform.create("a", SPEC, ack)
        starting = asyncio.ensure_future(platform.resume("a", ack))
        await asyncio.sleep(0.5)
        await platform.delete("a", ack)
        assert (await starting).how == "booted"
        assert await platform.list() == []
        assert [booking.booked for booking in await platform.bookings()] == [0, 0]

    play(body, latencies={"resume": SECOND})


# Listing


@pytest.mark.parametrize(("count", "pages"), [(0, [0]), (50, [50]), (51, [50, 1]), (130, [50, 50, 30])])
def test_a_listing_follows_every_page(count: int, pages: list[int]) -> None:
    async def body(platform):
        names = [f"s{number:03d}" for number in range(count)]
        for name in names:
            await platform.create(name, SPEC, ack)
        assert [listed.name for listed in await platform.list()] == names
        sizes, token = [], 0
        while token is not None:
            page, token = platform._list_page(token)
            sizes.append(len(page))
        assert sizes == pages

    play(body, page_size=50)


def test_what_is_deleted_between_two_pages_hides_nothing() -> None:
    async def body(platform):
        for number in range(10):
            await platform.create(f"s{number}", SPEC, ack)
        first, token = platform._list_page()
        for listed in first:
            await platform.delete(listed.name, ack)
        second, _ = platform._list_page(token)
        assert [listed.name for listed in second] == ["s3", "s4", "s5"]

    play(body, page_size=3)


def test_a_listing_that_is_cut_off_has_the_first_page_alone_and_the_inventory_has_all() -> None:
    async def body(platform):
        for number in range(130):
            await platform.create(f"s{number}", SPEC, ack)
        assert len(await platform.list()) == 50
        assert len((await platform.inventory())["sandboxes"]) == 130

    play(body, page_size=50, listing="first_page")


def test_a_listing_without_pages_cannot_be_cut_off() -> None:
    with pytest.raises(ValidationError, match="listing: first_page needs a page_size"):
        target(listing="first_page")


# Faults of calls


def test_a_fault_can_be_for_one_sandbox_alone() -> None:
    async def body(platform):
        for number in range(3):
            await platform.create(f"s{number}", SPEC, ack)
        await platform.delete("s0", ack)
        for _ in range(2):
            with pytest.raises(Failed, match="on purpose"):
                await platform.delete("s1", ack)
        await platform.delete("s1", ack)
        await platform.delete("s2", ack)

    play(body, faults=[{"kind": "fail", "operation": "delete", "sandbox": "*1", "times": 2}])


def test_what_is_late_appears_beside_a_call() -> None:
    async def body(platform):
        await platform.create("a", SPEC, ack)
        for _ in range(4):
            await platform.delete("a", ack)
        assert [listed.name for listed in await platform.list()] == ["late-00002", "late-00003"]

    play(body, faults=[{"kind": "late", "operation": "delete", "after": 2, "times": 2}])
