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
def _not_interrupted() -> Iterator[None]:
    """Ending at zero takes seconds; a second Ctrl-C must not make it end at something else."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def still_at_it(*_: object) -> None:
        print("still ending at zero, which takes some seconds", file=sys.stderr)

    before = {number: signal.signal(number, still_at_it) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
