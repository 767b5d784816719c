from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tasks.engine.loops import EngineLoop


def test_virtual_time_jumps_and_keeps_order() -> None:
    async def work() -> list[tuple[str, float]]:
        seen: list[tuple[str, float]] = []
        clock = asyncio.get_running_loop().time

        async def after(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            seen.append((name, clock()))

        await asyncio.gather(after("year", 365 * 86400.0), after("hour", 3600.0), after("second", 1.0))
        return seen

    began = time.monotonic()
    with EngineLoop(virtual=True) as engine:
        seen = engine.submit(work()).result(timeout=20)
    assert [name for name, _ in seen] == ["second", "hour", "year"]
    assert [at for _, at in seen] == pytest.approx([1.0, 3600.0, 365 * 86400.0])
    assert time.monotonic() - began < 20


def test_an_idle_virtual_loop_waits_for_work_and_does_not_spin() -> None:
    with EngineLoop(virtual=True) as engine:
        cpu = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - cpu < 0.2
        assert engine.submit(asyncio.sleep(5, "woken")).result(timeout=5) == "woken"


def test_a_cancelled_caller_waits_until_the_work_has_ended() -> None:
    ended = threading.Event()

    async def slow_to_end() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.2)
            ended.set()

    async def caller(engine: EngineLoop) -> None:
        work = asyncio.create_task(engine.call(slow_to_end()))
        await asyncio.sleep(0.1)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert ended.is_set()

    with EngineLoop() as engine:
        asyncio.run(caller(engine))


def test_closing_twice_is_allowed_and_cancels_what_runs() -> None:
    engine = EngineLoop()
    engine.__enter__()
    future = engine.submit(asyncio.sleep(60))
    engine.close()
    engine.close()
    assert future.cancelled() or future.exception() is not None
