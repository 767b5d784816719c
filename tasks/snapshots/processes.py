"""Processes of ours, known by an argument that nobody else has; they outlive whoever started them."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path

from tasks.snapshots.errors import ServerFailed

_PAUSE_S = 0.01
_END_BOUND_S = 1.0


def marked(mark: str) -> list[int]:
    """Numbers of the processes that have `mark` as one of their arguments."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and _has(int(entry), mark)]


def _has(pid: int, mark: str) -> bool:
    with suppress(OSError):
        return os.fsencode(mark) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    return False


def end_marked(mark: str, bound_s: float = 5.0) -> None:
    """Kill every process that has `mark` as one of its arguments, and wait until it is gone. Blocks.

    Raises:
        ServerFailed: one would not end.
    """
    deadline = time.monotonic() + bound_s
    while pids := marked(mark):
        if time.monotonic() > deadline:
            raise ServerFailed(f"processes {pids} ({mark}) did not end within {bound_s:g} s; end them by hand")
        for pid in pids:
            with suppress(OSError):
                descriptor = os.pidfd_open(pid)
                try:
                    # A second look: the kernel may have given the number to somebody else in between.
                    if _has(pid, mark):
                        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    # Its arguments vanish before its sockets do; readable is only what has ended.
                    select.select([descriptor], [], [], _END_BOUND_S)
                finally:
                    os.close(descriptor)
        time.sleep(_PAUSE_S)
