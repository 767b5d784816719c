"""Directories on disk: reading one as a stream of parts, and building one from such a stream.

Owners, permissions, links, pipes and times of everything come back exactly; hard links come back
as files of their own. Sockets and devices are refused.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tasks.snapshots.errors import DiskFailed, SnapshotDamaged, SnapshotLost
from tasks.snapshots.manifest import ROOT, Entry, Kind

_VANISHED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE)


@dataclass(frozen=True, slots=True)
class Slice:
    """Some bytes of one file; `entry` is its number in the tree."""

    entry: int
    offset: int
    size: int


def scan(directory: Path) -> list[Entry]:
    """The tree below a directory, in an order that is the same each time; files are not read yet.

    Raises:
        SnapshotLost: the directory is not there, or holds what a snapshot cannot carry.
        DiskFailed: it could not be read.
    """
    with _reading(directory):
        return [_entry(directory, ROOT, os.lstat(directory)), *_below(directory, "")]


def _below(directory: Path, prefix: str) -> Iterator[Entry]:
    with os.scandir(directory / prefix) as found:
        names = sorted(entry.name for entry in found)
    for name in names:
        path = f"{prefix}{name}"
        entry = _entry(directory, path, os.lstat(directory / path))
        yield entry
        if entry.kind == "directory":
            yield from _below(directory, f"{path}/")


def _entry(directory: Path, path: str, status: os.stat_result) -> Entry:
    kinds: dict[int, Kind] = {
        stat.S_IFDIR: "directory", stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo"
    }  # fmt: skip
    kind = kinds.get(stat.S_IFMT(status.st_mode))
    if kind is None or (path == ROOT and kind != "directory"):
        raise SnapshotLost(f"{directory / path} is of a kind that a snapshot cannot carry; remove it")
    return Entry(
        path=path,
        kind=kind,
        mode=stat.S_IMODE(status.st_mode),
        mtime_ns=status.st_mtime_ns,
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size if kind == "file" else 0,
        target=os.readlink(directory / path) if kind == "link" else "",
    )


def cut(entries: Iterable[Entry], part_bytes: int) -> list[list[Slice]]:
    """The contents of all files, one after the other, cut into parts of `part_bytes` bytes."""
    parts: list[list[Slice]] = []
    room = 0
    for number, entry in enumerate(entries):
        offset = 0
        while offset < entry.size:
            if not room:
                parts.append([])
                room = part_bytes
            size = min(room, entry.size - offset)
            parts[-1].append(Slice(number, offset, size))
            offset += size
            room -= size
    return parts


class Tree:
    """A directory as it was when this was made, read part by part.

    The parts are read once in their order, which is when the files are hashed; any of them can be
    read again. Whatever is not as it was is noticed.
    """

    def __init__(self, directory: Path, part_bytes: int) -> None:
        """Look at the directory.

        Raises:
            SnapshotLost: it is not there, or holds what a snapshot cannot carry.
            DiskFailed: it could not be read.
        """
        self.directory = directory
        self.entries = scan(directory)
        self.parts = cut(self.entries, part_bytes)
        self._hashes = {number: hashlib.sha256() for number, entry in enumerate(self.entries) if entry.kind == "file"}
        self._hashed = 0

    @property
    def content_bytes(self) -> int:
        """Bytes of all files."""
        return sum(entry.size for entry in self.entries)

    def read(self, index: int) -> bytearray:
        """The bytes of one part.

        Raises:
            SnapshotLost: a file of it is not what it was.
            DiskFailed: a file of it could not be read.
        """
        slices = self.parts[index]
        data = bytearray(sum(piece.size for piece in slices))
        view = memoryview(data)
        at = 0
        for piece in slices:
            self._fill(piece, view[at : at + piece.size])
            at += piece.size
        if index == self._hashed:
            at = 0
            for piece in slices:
                self._hashes[piece.entry].update(view[at : at + piece.size])
                at += piece.size
            self._hashed += 1
        return data

    def _fill(self, piece: Slice, view: memoryview) -> None:
        entry = self.entries[piece.entry]
        path = self.directory / entry.path
        with _reading(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                status = os.fstat(descriptor)
                filled = 0
                while filled < piece.size:
                    got = os.preadv(descriptor, [view[filled:]], piece.offset + filled)
                    if not got:
                        break
                    filled += got
            finally:
                os.close(descriptor)
        if filled < piece.size or (status.st_size, status.st_mtime_ns) != (entry.size, entry.mtime_ns):
            raise SnapshotLost(f"{path} was written to while it was sent; suspend the sandbox again")

    def hashed_entries(self) -> tuple[Entry, ...]:
        """The tree with the SHA-256 of every file, after all parts were read and nothing has changed.

        Raises:
            SnapshotLost: something is not as it was.
            DiskFailed: the directory could not be read.
        """
        if scan(self.directory) != self.entries:
            raise SnapshotLost(f"{self.directory} has changed while it was sent; suspend the sandbox again")
        return tuple(
            replace(entry, sha256=self._hashes[number].hexdigest()) if entry.kind == "file" else entry
            for number, entry in enumerate(self.entries)
        )


def build(directory: Path, entries: Iterable[Entry], contents: Iterable[bytes]) -> None:
    """Make a tree anew in a directory that does not exist yet.

    Args:
        directory: where; it is left half made when this raises.
        entries: the tree; a directory comes before what is in it.
        contents: the contents of all files, one after the other, cut anywhere.

    Raises:
        SnapshotDamaged: a file's contents have another SHA-256 than its entry says.
        DiskFailed: the disk would not take it.
    """
    stream = _Stream(contents)
    directories = []
    with _writing(directory):
        for entry in entries:
            path = directory / entry.path
            if entry.kind == "directory":
                path.mkdir(mode=0o700)
                directories.append((path, entry))
                continue
            if entry.kind == "file":
                _write(path, entry, stream)
            elif entry.kind == "link":
                os.symlink(entry.target, path)
            else:
                os.mkfifo(path)
            _finish(path, entry)
        # Last, from the inside out: making what is in a directory changes its time, and needs its permission.
        for path, entry in reversed(directories):
            _finish(path, entry)


def _write(path: Path, entry: Entry, stream: _Stream) -> None:
    digest = hashlib.sha256()
    with open(path, "xb", buffering=0) as file:
        for piece in stream.take(entry.size):
            digest.update(piece)
            while piece:
                piece = piece[file.write(piece) :]
    if digest.hexdigest() != entry.sha256:
        raise SnapshotDamaged(
            f"file {entry.path} has another SHA-256 than the manifest says; suspend the sandbox again"
        )


def _finish(path: Path, entry: Entry) -> None:
    status = os.lstat(path)
    if (status.st_uid, status.st_gid) != (entry.uid, entry.gid):
        os.chown(path, entry.uid, entry.gid, follow_symlinks=False)
    if entry.kind != "link":
        os.chmod(path, entry.mode)
    os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns), follow_symlinks=False)


class _Stream:
    """Takes the next bytes from pieces that were cut elsewhere, without copying them."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")

    def take(self, size: int) -> Iterator[memoryview]:
        while size:
            if not self._rest:
                self._rest = memoryview(next(self._pieces))
            piece, self._rest = self._rest[:size], self._rest[size:]
            size -= len(piece)
            yield piece


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _VANISHED:
            raise SnapshotLost(f"{error.filename or path} is gone; suspend the sandbox again") from error
        raise DiskFailed(f"{error.filename or path} could not be read: {error.strerror}; mend the disk") from error


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where: Any = error.filename or path
        raise DiskFailed(f"{where} could not be written: {error.strerror}; make room there or mend it") from error


def make_whole(destination: Path, partial: Path) -> None:
    """Give a finished directory its name.

    Raises:
        DiskFailed: there is something of that name, or the disk would not.
    """
    with _writing(destination):
        if destination.is_symlink() or destination.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(destination))
        os.rename(partial, destination)


def remove(directory: Path) -> None:
    """Remove a directory that nobody needs any more, as far as it can be."""
    shutil.rmtree(directory, ignore_errors=True)
