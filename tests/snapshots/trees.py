"""Directories such as suspended sandboxes have, and how to compare two."""

from __future__ import annotations

import os
import random
import stat
from pathlib import Path

PART = 256 * 2**10


def make(directory: Path, seed: int = 0, size: int = 3 * PART + 17) -> Path:
    """A checkpoint of about `size` bytes with a workspace of everything that there is."""
    chance = random.Random(seed)
    directory.mkdir(parents=True)
    (directory / "pages.img").write_bytes(chance.randbytes(size))
    (directory / "empty.img").touch()
    workspace = directory / "workspace"
    for folder in ("deep/er/still", "bare", "private"):
        (workspace / folder).mkdir(parents=True)
    for number in range(20):
        (workspace / f"deep/{number}.txt").write_bytes(chance.randbytes(chance.randrange(100)))
    (workspace / "deep/er/naïve\udcff name").write_text("odd")
    (workspace / "run").write_text("#!/bin/sh\n")
    (workspace / "run").chmod(0o4751)
    (workspace / "away").symlink_to("/etc/passwd")
    (workspace / "nowhere").symlink_to("../no/such/file")
    os.mkfifo(workspace / "pipe")
    (workspace / "private").chmod(0o1700)
    for number, path in enumerate(sorted(directory.rglob("*"), reverse=True)):
        os.utime(path, ns=(1, 1_600_000_000_123_456_789 + number), follow_symlinks=False)
    os.utime(directory, ns=(1, 1_500_000_000_987_654_321))
    return directory


def picture(directory: Path) -> dict[str, tuple]:
    """All that must come back, by path."""
    found = {}
    for path in [directory, *directory.rglob("*")]:
        status = path.lstat()
        kind = stat.S_IFMT(status.st_mode)
        content = path.read_bytes() if kind == stat.S_IFREG else os.readlink(path) if kind == stat.S_IFLNK else None
        found[str(path.relative_to(directory))] = (
            status.st_mode, status.st_mtime_ns, status.st_uid, status.st_gid, content
        )  # fmt: skip
    return found
