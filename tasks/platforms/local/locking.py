"""One user of a target at a time: a lock that the kernel gives back whenever its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from tasks.platforms.base import Unavailable
from tasks.platforms.local.state import MARK

_PATIENCE_S = 0.5


class TargetLock:
    """The lock of a state directory. Children do not inherit it."""

    def __init__(self, state_dir: Path, target: str) -> None:
        self._file = state_dir / "lock"
        self._target = target
        self._descriptor: int | None = None

    def take(self) -> None:
        """Take the lock, and mark the directory as ours.

        Raises:
            Unavailable: somebody else has it, or the directory holds what is not ours.
        """
        directory = self._file.parent
        directory.mkdir(mode=0o711, parents=True, exist_ok=True)
        if not self._file.exists() and any(directory.iterdir()):
            raise Unavailable(
                f"target {self._target}: state_dir {directory} is not empty and not Sandgauge's; name another directory"
            )
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(descriptor)
            self._sign(descriptor)
        except BlockingIOError:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise Unavailable(f"target {self._target} is in use by {holder}; wait for it or stop it") from None
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def _sign(self, descriptor: int) -> None:
        text = os.pread(descriptor, 4096, 0)
        if text and MARK.encode() not in text:
            raise Unavailable(f"target {self._target}: {self._file} is not Sandgauge's; name another state_dir")
        record = {"owner": MARK, "pid": os.getpid(), "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])}
        data = json.dumps(record).encode()
        # Overwritten before it is cut: at no moment is the mark missing.
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))

    def release(self) -> None:
        """Give the lock back; safe to call twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _lock(descriptor: int) -> None:
    """Take the lock; for a moment, wait for it.

    A holder that was killed while it started a program leaves the lock with the child, until the
    child has become that program.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _holder(descriptor: int) -> str:
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads(os.pread(descriptor, 4096, 0))
        return f"another run: {record['command'] or 'python'} (pid {record['pid']})"
    return "another run"
