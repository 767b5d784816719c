"""Running runsc, without blocking the event loop and with nothing left when the caller is cancelled.

Every child is the leader of a session of its own: Ctrl-C in the terminal does not reach it, and
its whole process group can be ended. Waiting is by pidfd, which needs neither a thread per child
nor the main thread.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

TAIL_BYTES = 4096
_READ_BYTES = 65536
_DRAINS = 64
_REAP_BOUND_S = 0.5

Output = IO[bytes] | int


async def run(argv: Sequence[str], stdout: Output = subprocess.DEVNULL, stderr: Output = subprocess.DEVNULL) -> int:
    """Run a program to its end and return its exit code, negative for a signal.

    Raises:
        OSError: it cannot be started.
        asyncio.CancelledError: the caller was cancelled; the program's process group is ended first.
    """
    child = subprocess.Popen(
        list(argv), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True
    )  # fmt: skip
    try:
        await _exit_of(child.pid)
    except BaseException:
        end_group(child)
        raise
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    children_cpu.seconds += used.ru_utime + used.ru_stime
    return child.returncode


class ChildrenCpu:
    """CPU time of the commands that were run here to their end, in seconds, with what they waited for themselves.

    A sandbox that a command has started is in a control group of its own, and not part of it.
    """

    seconds = 0.0


children_cpu = ChildrenCpu()


async def _exit_of(pid: int) -> None:
    """Wait until a child has ended; it stays a zombie, so its number stays its own."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    descriptor = os.pidfd_open(pid)
    loop.add_reader(descriptor, _settle, ended)
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _settle(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill an unreaped child with its process group; one that will not die at once is reaped later."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        child.wait(_REAP_BOUND_S)


class Tail:
    """The last bytes that come through a pipe, which is read all the while so that no writer blocks."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._read, self.write_end = os.pipe()
        os.set_blocking(self._read, False)
        self._kept = bytearray()
        self._loop.add_reader(self._read, self._take)

    def _take(self) -> bool:
        try:
            data = os.read(self._read, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(self._read)
            return False
        self._kept += data
        del self._kept[:-TAIL_BYTES]
        return True

    def close(self) -> str:
        """Take what is left without waiting for whoever still holds the other end; returns the text."""
        for _ in range(_DRAINS):
            if not self._take():
                break
        self._loop.remove_reader(self._read)
        os.close(self._read)
        return self._kept.decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Ended:
    """What a program left: its exit code, and the last of what it wrote."""

    exit_code: int
    stdout: str
    stderr: str


async def run_and_read(argv: Sequence[str]) -> Ended:
    """Run a program to its end, and keep the last bytes of its output."""
    out, err = Tail(), Tail()
    try:
        try:
            code = await run(argv, out.write_end, err.write_end)
        finally:
            os.close(out.write_end)
            os.close(err.write_end)
    finally:
        texts = out.close(), err.close()
    return Ended(code, *texts)


def last_line(*files: Path) -> str:
    """The last line with text in the first of the files that has any; of JSON, its message."""
    for file in files:
        with suppress(OSError):
            lines = [line for line in _tail_of(file).splitlines() if line.strip()]
            if lines:
                return _message_of(lines[-1])
    return "it said nothing"


def _tail_of(file: Path) -> str:
    with file.open("rb") as opened:
        opened.seek(max(0, os.fstat(opened.fileno()).st_size - TAIL_BYTES))
        return opened.read().decode(errors="replace")


def _message_of(line: str) -> str:
    # Records of the log follow each other without a line break, so the last one begins at the last brace.
    start = line.rfind('{"msg"')
    with suppress(ValueError, KeyError, TypeError):
        return str(json.loads(line[start:])["msg"]) if start >= 0 else line.strip()
    return line.strip()


@dataclass(frozen=True, slots=True)
class Runsc:
    """One runsc with the flags that every call here has."""

    program: str
    root: Path
    platform: str
    extra: tuple[str, ...] = ()

    def argv(self, log: Path, command: str, *arguments: str) -> list[str]:
        """The command line of a call. `--root=` is what its processes are known by."""
        flags = [f"--root={self.root}", f"--log={log}", "--network=none", f"--platform={self.platform}", *self.extra]
        return [self.program, *flags, command, *arguments]
