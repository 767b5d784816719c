"""Programs that sandboxes run: small, of fixed work, the same on every platform.

Each is one Python file that needs nothing but the standard library, and reaches the sandbox as an
argument of its interpreter, so that no image has to hold it. A program that measures itself
prints `{"seconds": ...}` as its last line; a program that loads runs until it is ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

INTERPRETER = ("/usr/bin/python3", "-ISE", "-c")
NONCE = "{nonce}"
"""Stands in arguments for a text that is drawn for each sandbox from the trial's seed."""
MEMORY = "{memory}"
"""Stands in a group's arguments for the memory limit of its sandboxes, in bytes."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One program.

    Attributes:
        what: what it does, in one line.
        arguments: what it is given when a scenario gives nothing.
        runs_on: whether it is for a group (and runs until it is ended) or for `exec` (and ends).
    """

    name: str
    what: str
    runs_on: str
    arguments: tuple[str, ...] = ()

    def argv(self, arguments: Sequence[str] = ()) -> list[str]:
        """The whole command line; what a scenario gives comes in place of the usual arguments."""
        return [*INTERPRETER, _source(self.name), *(arguments or self.arguments)]


WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload("keeper", "answers HTTP on port 8080, counts its answers and keeps a nonce in memory", "group"),
        Workload("cpu-hog", "two busy loops, for ever", "group"),
        Workload("disk-hog", "writes 512 MB and syncs them, over and over", "group"),
        Workload(
            "memory-hog",
            "fills three quarters of its memory limit in blocks of 64 MiB, over and over",
            "group",
            (MEMORY,),
        ),
        Workload("cpu-benchmark", "a fixed sum, timed", "exec"),
        Workload("write-benchmark", "a file of 64 MB, written and synced, timed", "exec"),
        Workload("write-random", "a file of random data: megabytes, path", "exec", ("100", "/tmp/data")),
        Workload("mark", "hands a nonce to the keeper's memory and to files", "exec", (NONCE,)),
        Workload("verify", "fails unless the keeper and the files still hold the nonce", "exec", (NONCE,)),
    )
}
"""Every program, by name."""


@cache
def _source(name: str) -> str:
    return (files(__package__) / f"{name.replace('-', '_')}.py").read_text(encoding="utf-8")
