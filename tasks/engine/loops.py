"""The event loop of a run: its own thread, so that nothing else delays the load; its own clock.

In virtual time the loop never sleeps: when nothing is ready to run, its clock jumps to the next
timer. A model of a platform then plays hours in seconds, and its figures are exact.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")
_CANCEL_BOUND_S = 60.0


class _JumpingSelector(selectors.DefaultSelector):
    """Turns the wait for a timer into a jump of the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:  # no timer at all: wait for another thread to hand in work
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self.now += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock starts at 0 and jumps from timer to timer."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        # A jump may end a rounding error short of its timer; without this it would jump for ever.
        # A microsecond is coarser than a double's error for a century of seconds.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        """Virtual seconds."""
        return self._jumping.now


class EngineLoop:
    """A thread with an event loop; coroutines are handed in from other threads.

    Attributes:
        loop: the event loop, running while the context is open.
    """

    def __init__(self, *, virtual: bool = False) -> None:
        self.virtual = virtual
        self.loop: asyncio.AbstractEventLoop = VirtualTimeLoop() if virtual else asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name="sandgauge-engine", daemon=True)

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def __enter__(self) -> EngineLoop:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the loop and its thread; what still runs in it is cancelled first. Safe to call twice."""
        if self.loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(_cancel_the_rest(), self.loop).result(timeout=30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout=30)
        self.loop.close()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine in the engine's thread; cancelling the future cancels it there."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the engine's thread and wait for it from another event loop.

        A cancelled caller cancels the work, and then waits until it has really ended: the next
        thing that happens is a clean-up, which must not race with it.
        """
        ended = threading.Event()

        async def noting_its_end() -> T:
            try:
                return await work
            finally:
                ended.set()

        future = self.submit(noting_its_end())
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            await asyncio.get_running_loop().run_in_executor(None, ended.wait, _CANCEL_BOUND_S)
            raise


async def _cancel_the_rest() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=20)
