"""Ending a run that did not finish: its rows are kept, and nothing of it is left running.

It needs neither Prefect nor the flow's own event loop, which may both be on their way down.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tasks.cleanup import NotClean, clean_session, describe_left
from tasks.landing import land
from tasks.session import Session


def end_early(session: Session, error: BaseException) -> None:
    """Keep the rows and end at zero, whatever ended the run: a failure, Ctrl-C, a cancellation.

    Raises:
        tasks.cleanup.NotClean: something of ours could not be removed.
        warehouse.errors.WarehouseError: the rows were not landed; they stay in their segments.
    """
    cancelled = isinstance(error, asyncio.CancelledError | KeyboardInterrupt | SystemExit) or (
        type(error).__name__ == "TerminationSignal"
    )
    with _not_interrupted():
        _end_early(session, "cancelled" if cancelled else "failed", None if cancelled else str(error))


def _end_early(session: Session, outcome: str, error: str | None) -> None:
    """Do every part of it, also when one before fails, such as on a full disk; the first failure is told."""
    failures: list[Exception] = []
    parts: list[Callable[[], None]] = [
        lambda: session.end(outcome, error),
        lambda: land(session.results, session.run_id),
        lambda: _end_at_zero(session),
        session.recorder.flush,
        lambda: land(session.results, session.run_id),
    ]
    for part in parts:
        try:
            part()
        except Exception as failure:  # noqa: BLE001 - whatever it is, the rest must still be done
            failures.append(failure)
    if failures:
        raise failures[0]


def _end_at_zero(session: Session) -> None:
    cleaned = session.in_engine(clean_session(session, None, end=True))
    if not cleaned.clean:
        raise NotClean(describe_left(cleaned.left))


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM end a run as it always does, and no further one disturb its ending.

    It would leave the flow's coroutine where it is: nothing would be cleaned up, and Python's exit
    would wait for ever for a thread that Prefect starts when that coroutine is thrown away.
    """
    asked = False

    def first_only(number: int, frame: FrameType | None, before: Any) -> None:
        nonlocal asked
        if asked:
            _still_at_it()
            return
        asked = True
        if callable(before):
            before(number, frame)
        elif before is signal.SIG_DFL:
            raise SystemExit(128 + number)

    with _handled(first_only):
        yield


@contextmanager
def _not_interrupted() -> Iterator[None]:
    """Ending at zero takes seconds; Ctrl-C must not make it end at something else."""
    with _handled(lambda number, frame, before: _still_at_it()):
        yield


def _still_at_it() -> None:
    print("still ending at zero, which takes some seconds", file=sys.stderr)


@contextmanager
def _handled(handle: Callable[[int, FrameType | None, Any], None]) -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM otherwise for a while; the handler also gets the one before it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda number, frame: handle(number, frame, before[signal.Signals(number)]))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
