"""Sending one directory, a part at a time; the caller decides in which thread, and when again.

    sending = Sending(bucket, layout, directory, sandbox, generation)
    sending.begin()             look at the directory, and at what is in the bucket already
    sending.read(i)  .put()     every part, in order the first time; again whenever it failed
    sending.finish()            the manifest, once every part is confirmed

A part counts as confirmed when the server has named its SHA-256: in the answer to the PUT, or to a
HEAD where an earlier process had put it.
"""

from __future__ import annotations

import hashlib
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tasks.snapshots.bucket import Bucket
from tasks.snapshots.errors import SnapshotDamaged, StoreUnavailable
from tasks.snapshots.manifest import Layout, Manifest, Part
from tasks.snapshots.trees import Tree


@dataclass(frozen=True, slots=True)
class Written:
    """A snapshot whose manifest is in the bucket.

    Attributes:
        bytes: of its parts and its manifest.
        objects: how many there are of both.
        checksum: the manifest's SHA-256 in hexadecimal.
    """

    bytes: int
    objects: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Block:
    """The bytes of one part, read and hashed."""

    index: int
    data: bytearray
    digest: bytes


class Sending:
    """One snapshot on its way. `put` may be called from several threads at a time, the rest not."""

    def __init__(self, bucket: Bucket, layout: Layout, directory: Path, sandbox: str, generation: int) -> None:
        self._bucket = bucket
        self._layout = layout
        self._directory = directory
        self._sandbox = sandbox
        self._generation = generation
        self._manifest_key = layout.manifest(sandbox, generation)
        self._lock = threading.Lock()
        self._there: dict[str, int] = {}
        self._confirmed: dict[int, Part] = {}
        self.bytes_confirmed = 0

    def begin(self) -> Manifest | None:
        """Look at the directory, and at what an earlier try left in the bucket.

        Returns:
            the manifest, where one of just this tree is there already; the caller must verify it.

        Raises:
            SnapshotLost: the directory is not there, or holds what a snapshot cannot carry.
            StoreError: the disk or the server failed.
        """
        self._tree = Tree(self._directory, self._bucket.settings.part_bytes)
        self._there = self._bucket.sizes(self._layout.generation(self._sandbox, self._generation))
        if self._manifest_key not in self._there:
            return None
        data = self._bucket.get(self._manifest_key)
        with suppress(ValueError):
            manifest = Manifest.from_bytes(data or b"", self._layout, self._sandbox, self._generation)
            if manifest.matches(self._tree.entries):
                return manifest
        # It is of another tree or of none. Without it, nobody takes what is there for whole while that changes.
        self._discard_manifest()
        return None

    def start_over(self) -> None:
        """Forget what is confirmed, and remove the manifest: something that it lists is not there.

        Raises:
            StoreError: the disk or the server failed.
        """
        self._discard_manifest()
        self._confirmed.clear()
        self.bytes_confirmed = 0
        self.begin()

    def _discard_manifest(self) -> None:
        self._bucket.delete([self._manifest_key])
        self._there.pop(self._manifest_key, None)

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self._tree.parts)

    @property
    def content_bytes(self) -> int:
        """Bytes of all parts."""
        return self._tree.content_bytes

    def read(self, index: int) -> Block:
        """Read and hash a part.

        Raises:
            SnapshotLost: the directory is not what it was.
            DiskFailed: it could not be read.
        """
        data = self._tree.read(index)
        return Block(index, data, hashlib.sha256(data).digest())

    def put(self, block: Block) -> int:
        """Bring a part to the bucket; returns the bytes that had to be sent, 0 where it was there.

        Raises:
            StoreError: it is not confirmed; it may be there all the same.
        """
        part = Part(
            self._layout.part(self._sandbox, self._generation, block.index), len(block.data), block.digest.hex()
        )
        sent = 0
        if self._there.get(part.key) != part.size or not self._vouched(part):
            self._there[part.key] = part.size  # as far as we know: if this fails, the next try asks first
            named = self._bucket.put(part.key, block.data, block.digest)
            sent = part.size
            if named != part.sha256 and not self._vouched(part):
                mend = "use an S3 server that keeps x-amz-checksum-sha256"
                problem = "the server does not vouch for what it took"
                raise StoreUnavailable(self._bucket.message(part.key, "PUT", problem, mend))
        with self._lock:
            if block.index not in self._confirmed:
                self.bytes_confirmed += part.size
            self._confirmed[block.index] = part
        return sent

    def _vouched(self, part: Part) -> bool:
        head = self._bucket.head(part.key)
        return head is not None and (head.size, head.sha256) == (part.size, part.sha256)

    def finish(self) -> Written:
        """Write the manifest.

        Raises:
            SnapshotLost: the directory is not what it was.
            SnapshotDamaged: not every part is confirmed, so there is no manifest.
            StoreError: the disk or the server failed.
        """
        if len(self._confirmed) != self.parts:
            raise SnapshotDamaged(
                f"{self._manifest_key}: only {len(self._confirmed)} of {self.parts} parts are confirmed; send the rest"
            )
        parts = tuple(self._confirmed[index] for index in range(self.parts))
        manifest = Manifest(self._sandbox, self._generation, time.time(), self._tree.hashed_entries(), parts)
        strays = sorted(self._there.keys() - {part.key for part in parts})
        if strays:
            self._bucket.delete(strays)
        data = manifest.to_bytes()
        digest = hashlib.sha256(data)
        self._bucket.put(self._manifest_key, data, digest.digest())
        return written_of(manifest, data)


def written_of(manifest: Manifest, data: bytes) -> Written:
    """What is told of a snapshot with this manifest."""
    return Written(manifest.content_bytes + len(data), len(manifest.parts) + 1, hashlib.sha256(data).hexdigest())
