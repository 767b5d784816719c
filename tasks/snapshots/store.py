"""Snapshots in a bucket, for callers: put, verify, fetch, list, delete.

Everything here blocks and may be called from threads. What goes wrong is one of the errors in
`errors.py`, whatever boto3 raises. Nothing but `delete*` is tried again by itself. How an upload
goes on in the background is in `uploader.py`.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from tasks.snapshots.bucket import Bucket, StoreSettings
from tasks.snapshots.errors import SnapshotDamaged, SnapshotMissing, SnapshotStopped, StoreUnavailable
from tasks.snapshots.manifest import Layout, Manifest, Part
from tasks.snapshots.sending import Block, Sending, Written, written_of
from tasks.snapshots.trees import build, make_whole, remove

__all__ = ["SnapshotStore", "StoreSettings", "Verification", "Written"]

Progress = Callable[[int, int], None]
ShouldStop = Callable[[], bool]

_PAUSES_S = (0.1, 0.2, 0.5, 1.0, 2.0)
_DELETE_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a snapshot is durable.

    Attributes:
        complete: every object is there, and the server vouches for its size and SHA-256.
        objects: how many of them that holds for, the manifest among them.
        bytes: of these objects.
        checksum: the manifest's SHA-256 in hexadecimal; None where it cannot be believed.
        problem: why it is not complete.
    """

    complete: bool
    objects: int
    bytes: int
    checksum: str | None
    problem: str | None


class SnapshotStore:
    """The snapshots under one prefix of one bucket."""

    def __init__(self, settings: StoreSettings, keys: Mapping[str, str] | None = None, parallel: int = 4) -> None:
        """Prepare to talk to the server, without doing so.

        Args:
            settings: where it is.
            keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of our own server; None takes boto3's chain.
            parallel: calls at a time, of each method.

        Raises:
            StoreRefused: the endpoint is no address.
        """
        self.settings = settings
        self._parallel = parallel
        self._layout = Layout(settings.prefix)
        self._bucket = Bucket(settings, keys, connections=2 * parallel)

    def try_out(self) -> None:
        """Find out now, and not in the middle of a storm, whether the server takes and keeps objects.

        Raises:
            StoreError: it does not.
        """
        self._bucket.try_out(f"{self.settings.prefix}/probe")

    def sending(self, directory: Path, sandbox: str, generation: int) -> Sending:
        """A directory to be sent part by part, for callers that keep their own order of things."""
        return Sending(self._bucket, self._layout, directory, sandbox, generation)

    def put_snapshot(
        self,
        directory: Path,
        sandbox: str,
        generation: int,
        on_progress: Progress | None = None,
        should_stop: ShouldStop | None = None,
    ) -> Written:
        """Send a directory; parts that are there already are not sent again.

        Args:
            directory: what to send; nobody may write to it meanwhile.
            sandbox: whose snapshot it is.
            generation: its number; one number is one snapshot, for ever.
            on_progress: called with the bytes that are confirmed and the bytes of all, from any thread.
            should_stop: asked before each part.

        Raises:
            SnapshotStopped: `should_stop` said so; what was sent stays, for the next try.
            SnapshotLost: the directory vanished or changed.
            StoreError: the disk or the server failed.
        """
        sending = self.sending(directory, sandbox, generation)
        if sending.begin() is not None:
            found = self.verify(sandbox, generation)
            if found.complete and found.checksum is not None:
                return Written(found.bytes, found.objects, found.checksum)
            sending.start_over()

        def put(block: Block) -> None:
            sending.put(block)
            if on_progress is not None:
                on_progress(sending.bytes_confirmed, sending.content_bytes)

        def blocks() -> Iterator[Block]:
            for index in range(sending.parts):
                if should_stop is not None and should_stop():
                    raise SnapshotStopped(f"sandbox {sandbox}, generation {generation}: stopped; put it again to go on")
                yield sending.read(index)

        self._each(put, blocks())
        return sending.finish()

    def verify(self, sandbox: str, generation: int) -> Verification:
        """Ask the server whether a snapshot is durable; nothing but the manifest is downloaded.

        Raises:
            StoreUnavailable: the server does not say, so nobody knows.
            StoreRefused: it never will with these settings.
        """
        key = self._layout.manifest(sandbox, generation)
        data = self._bucket.get(key)
        if data is None:
            return Verification(False, 0, 0, None, f"{key}: there is no manifest")
        try:
            manifest = Manifest.from_bytes(data, self._layout, sandbox, generation)
        except ValueError as error:
            return Verification(False, 0, 0, None, f"{key}: {error}")
        with ThreadPoolExecutor(self._parallel) as pool:
            problems = list(pool.map(self._problem_of, manifest.parts))
        sound = [part for part, problem in zip(manifest.parts, problems, strict=True) if problem is None]
        written = written_of(manifest, data)
        missing = written.bytes - len(data) - sum(part.size for part in sound)
        first = next((problem for problem in problems if problem is not None), None)
        return Verification(first is None, len(sound) + 1, written.bytes - missing, written.checksum, first)

    def _problem_of(self, part: Part) -> str | None:
        head = self._bucket.head(part.key)
        if head is None:
            return f"{part.key}: it is not there"
        if head.size != part.size:
            return f"{part.key}: it has {head.size} bytes instead of {part.size}"
        if head.sha256 != part.sha256:
            return f"{part.key}: the server says SHA-256 {head.sha256}, the manifest {part.sha256}"
        return None

    def fetch(self, sandbox: str, generation: int, destination: Path) -> Manifest:
        """Bring a snapshot back as a directory, which appears whole or not at all.

        Raises:
            SnapshotMissing: there is no manifest.
            SnapshotDamaged: a part or a file is not what the manifest says.
            DiskFailed: there is something at `destination`, or no room for it.
            StoreUnavailable: the server does not answer.
        """
        key = self._layout.manifest(sandbox, generation)
        data = self._bucket.get(key)
        if data is None:
            raise SnapshotMissing(self._bucket.message(key, "GET", "there is no manifest", "suspend the sandbox again"))
        try:
            manifest = Manifest.from_bytes(data, self._layout, sandbox, generation)
        except ValueError as error:
            raise SnapshotDamaged(self._bucket.message(key, "GET", str(error), "suspend the sandbox again")) from error
        partial = destination.parent / f".fetching-{destination.name}-{secrets.token_hex(4)}"
        try:
            build(partial, manifest.entries, self._contents(manifest.parts))
            make_whole(destination, partial)
        except BaseException:
            remove(partial)
            raise
        return manifest

    def _contents(self, parts: Iterable[Part]) -> Iterator[bytes]:
        """The bytes of all parts in order, some parts ahead of whoever reads them."""
        with ThreadPoolExecutor(self._parallel) as pool:
            ahead: deque[Future[bytes]] = deque()
            try:
                for part in parts:
                    ahead.append(pool.submit(self._get_part, part))
                    if len(ahead) > self._parallel:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _get_part(self, part: Part) -> bytes:
        data = self._bucket.get(part.key)
        if data is None or hashlib.sha256(data).hexdigest() != part.sha256:
            problem = "it is not there" if data is None else "it has another SHA-256 than the manifest says"
            raise SnapshotDamaged(self._bucket.message(part.key, "GET", problem, "suspend the sandbox again"))
        return data

    def generations(self, sandbox: str) -> list[int]:
        """Numbers of a sandbox's snapshots of which anything is there, whole or not."""
        # From whole keys: asked for folders, SeaweedFS names empty ones for a while.
        prefix = self._layout.sandbox(sandbox)
        return sorted({int(key.removeprefix(prefix).split("/")[0]) for key in self._ours(prefix)})

    def objects(self, page: int = 1000) -> list[str]:
        """Every key of ours below the prefix, `page` keys a call."""
        return self._ours(f"{self.settings.prefix}/", page)

    def _ours(self, prefix: str, page: int = 1000) -> list[str]:
        return sorted(key for key in self._bucket.sizes(prefix, page) if self._layout.owns(key))

    def delete(self, sandbox: str, generation: int) -> None:
        """Remove a snapshot, whole or not, the manifest first; twice is no error.

        Raises:
            StoreUnavailable: some of it is still there after several tries.
        """
        self._empty(self._layout.generation(sandbox, generation))

    def delete_sandbox(self, sandbox: str) -> None:
        """Remove all snapshots of a sandbox, as `delete` does."""
        self._empty(self._layout.sandbox(sandbox))

    def delete_all(self) -> None:
        """Remove everything of ours below the prefix, as `delete` does."""
        self._empty(f"{self.settings.prefix}/")

    def _empty(self, prefix: str) -> None:
        """Delete until nothing is listed."""
        failures = 0
        for _ in range(_DELETE_ROUNDS):
            try:
                keys = self._ours(prefix)
                if not keys:
                    return
                self._bucket.delete([key for key in keys if key.endswith("/manifest.json")])
                self._bucket.delete([key for key in keys if not key.endswith("/manifest.json")])
            except StoreUnavailable:
                if failures == len(_PAUSES_S):
                    raise
                time.sleep(_PAUSES_S[failures])
                failures += 1
        problem = f"{len(keys)} objects are still listed after {_DELETE_ROUNDS} rounds"
        raise StoreUnavailable(self._bucket.message(keys[0], "DELETE", problem, "see who else writes there"))

    def _each(self, put: Callable[[Block], None], blocks: Iterable[Block]) -> None:
        """Put blocks in several threads, with one more read ahead; the first error ends it."""
        with ThreadPoolExecutor(self._parallel) as pool:
            running: set[Future[None]] = set()
            for block in blocks:
                running.add(pool.submit(put, block))
                if len(running) > self._parallel:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
            for future in running:
                future.result()
