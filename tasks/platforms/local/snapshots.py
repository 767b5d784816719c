"""Snapshots on their way from the disk to a store, and back.

A suspend leaves a snapshot on the local disk. Once a store is provisioned, the uploader
(`tasks.snapshots.uploader`, a process of its own) sends each after the target's delay. What it
says is only ever `written`; whether a snapshot is durable is found out by looking at the store
itself, through another client.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform as machine
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from specs.targets import LocalTarget
from tasks.platforms.base import Failed, Reading, Snapshot, SnapshotState, Unavailable, Verified
from tasks.platforms.local.state import Sandbox, Store, checkpoints_in, evicted_in, size_of
from tasks.snapshots.errors import StoreError

if TYPE_CHECKING:  # imported where a store starts: every command would pay for boto3
    from tasks.snapshots.seaweedfs import SeaweedServer
    from tasks.snapshots.store import SnapshotStore
    from tasks.snapshots.supervising import UploaderProcess

T = TypeVar("T")
_STATES: dict[str, SnapshotState] = {
    "local_only": "local_only",
    "uploading": "uploading",
    "written": "written",
    "lost": "lost",
    "dropped": "stale",
}


@dataclass(slots=True)
class _Record:
    """One snapshot that was made while we looked, or was found on disk."""

    size_bytes: int
    suspended_at: float | None = None
    stale: bool = False


class Snapshots:
    """The snapshots of one target. To be used in one event loop."""

    def __init__(self, store: Store, target: LocalTarget) -> None:
        self._disk = store
        self._target = target
        self._settings = target.snapshots
        self._records: dict[tuple[str, int], _Record] = {}
        self._server: SeaweedServer | None = None
        self._store: SnapshotStore | None = None
        self._uploader: UploaderProcess | None = None
        self._delay = self._settings.upload_delay

    # Starting and ending

    async def start(self, upload_delay: float | None) -> None:
        """Have a store, and an uploader for it; does nothing but set the delay when both run.

        Raises:
            Unavailable: the store cannot be started, or does not answer.
        """
        self._delay = self._settings.upload_delay if upload_delay is None else upload_delay
        if self._uploader is not None:
            return
        from tasks.snapshots.supervising import UploaderProcess

        try:
            self._store = await self._opened()
            if self._server is None:
                await asyncio.to_thread(self._store.try_out)
            keys = self._server.keys if self._server is not None else None
            self._uploader = UploaderProcess(
                self._disk.path, self._store.settings, keys, self._settings.parallel_uploads
            )
            await self._uploader.start()
        except StoreError as error:
            await self.stop()
            raise Unavailable(f"target {self._target.name}: {error}") from error

    async def _opened(self) -> SnapshotStore:
        """Open the store in a thread. Who is cancelled meanwhile waits for that, and leaves no server behind."""
        opening = asyncio.ensure_future(asyncio.to_thread(self._open_store))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            await asyncio.wait({opening})
            await self.stop()
            raise

    def _open_store(self) -> SnapshotStore:
        from tasks.snapshots.seaweedfs import SeaweedServer
        from tasks.snapshots.store import SnapshotStore, StoreSettings

        wanted, prefix = self._settings, f"{self._settings.prefix}/{self._mark()}"
        if wanted.endpoint is not None:
            settings = StoreSettings(wanted.endpoint, wanted.bucket, prefix, wanted.part, wanted.region)
            return SnapshotStore(settings, parallel=wanted.parallel_uploads)
        self._server = SeaweedServer(self._disk.objects, wanted.bucket)
        self._server.start()
        settings = self._server.settings(prefix, wanted.part)
        return SnapshotStore(settings, self._server.keys, wanted.parallel_uploads)

    def _mark(self) -> str:
        """What sets this target's keys apart: two machines may share a bucket, and have the same paths."""
        return "sandgauge-" + hashlib.sha256(f"{machine.node()}:{self._disk.path}".encode()).hexdigest()[:12]

    async def stop(self) -> None:
        """End the uploader and the server of our own; safe to call twice."""
        uploader, server = self._uploader, self._server
        self._uploader = self._server = self._store = None
        if uploader is not None:
            await uploader.stop()
        if server is not None:
            await asyncio.to_thread(server.stop)

    async def remove_all(self) -> None:
        """Remove everything of ours from the store, and the store itself where it is ours.

        A store that does not answer keeps nobody from removing all else; `objects` tells that it may hold some.
        """
        self._records.clear()
        if self._uploader is not None:
            await self._uploader.stop()
            self._uploader = None
        if self._settings.endpoint is not None:
            with suppress(Unavailable):
                await self._ask(lambda store: store.delete_all())
        await self.stop()
        if self._disk.objects.exists():
            await asyncio.to_thread(self._remove_own_store)

    def _remove_own_store(self) -> None:
        """End a server that an earlier process left behind, and remove its files, here and in /tmp."""
        from tasks.snapshots.seaweedfs import SeaweedServer

        with suppress(StoreError):
            SeaweedServer(self._disk.objects, self._settings.bucket).end_leftovers()
        shutil.rmtree(self._disk.objects, ignore_errors=True)

    async def objects(self) -> list[str]:
        """Everything of ours in the store: keys; of a store of our own that does not run, its files."""
        if self._settings.endpoint is None and self._store is None:
            return sorted(os.listdir(self._disk.objects)) if self._disk.objects.exists() else []
        try:
            return await self._ask(lambda store: store.objects())
        except Unavailable as error:
            return [f"not known: {error}"]

    async def _ask(self, question: Callable[[SnapshotStore], T]) -> T:
        """Ask the store in a thread; it is opened for the length of the question where it is not.

        Raises:
            Unavailable: it does not answer.
        """
        try:
            store = self._store if self._store is not None else await asyncio.to_thread(self._open_store)
            return await asyncio.to_thread(lambda: question(store))
        except StoreError as error:
            raise Unavailable(f"target {self._target.name}: {error}") from error

    # What happens to a snapshot

    def suspended(self, sandbox: Sandbox, size_bytes: int) -> None:
        """Take note of a new snapshot; those before it will be of no use, unless they are in the store."""
        for (name, generation), record in list(self._records.items()):
            if name == sandbox.name and not self._is_written(name, generation):
                record.stale = True
                if self._uploader is None:
                    del self._records[name, generation]
                else:
                    self._uploader.drop(name, generation)
        now = asyncio.get_running_loop().time()
        self._records[sandbox.name, sandbox.generation] = _Record(size_bytes, now)
        if self._uploader is not None:
            directory = sandbox.checkpoint(sandbox.generation)
            self._uploader.add(sandbox.name, sandbox.generation, directory, due_at=now + self._delay)

    def _is_written(self, name: str, generation: int) -> bool:
        upload = self._uploader.uploads.get((name, generation)) if self._uploader else None
        return upload is not None and upload.state == "written"

    async def fetch(self, sandbox: Sandbox) -> None:
        """Bring a snapshot back that is in the store alone.

        Raises:
            Failed: there is no store, or the snapshot is not whole there.
        """
        if self._store is None:
            raise Failed(f"sandbox {sandbox.name}: its snapshot is in the store alone, and none is provisioned")
        store, generation = self._store, sandbox.generation
        try:
            image = sandbox.checkpoint(generation)
            await asyncio.to_thread(lambda: store.fetch(sandbox.name, generation, image))
        except StoreError as error:
            raise Failed(f"sandbox {sandbox.name}: its snapshot could not be fetched: {error}") from error
        sandbox.evicted(generation).unlink(missing_ok=True)

    async def verify(self, name: str, generation: int) -> Verified:
        """Look at the store itself."""
        if self._store is None:
            return Verified(whole=False, problem="no store is provisioned")
        try:
            found = await asyncio.to_thread(self._store.verify, name, generation)
        except StoreError as error:
            return Verified(whole=False, problem=str(error))
        return Verified(found.complete, found.objects, found.bytes, found.checksum, found.problem)

    async def evict(self, sandbox: Sandbox) -> None:
        """Remove the local copy of a snapshot that is whole in the store; the sandbox's lock is held."""
        found = await self.verify(sandbox.name, sandbox.generation)
        if not found.whole:
            raise Failed(f"sandbox {sandbox.name}: its snapshot is not whole in the store ({found.problem})")
        sandbox.evicted(sandbox.generation).touch()
        await asyncio.to_thread(shutil.rmtree, sandbox.checkpoint(sandbox.generation))
        shutil.rmtree(sandbox.home / "workspace", ignore_errors=True)

    async def forget(self, sandbox: Sandbox) -> None:
        """Remove every snapshot of a sandbox that is deleted from the store."""
        for name, generation in [key for key in self._records if key[0] == sandbox.name]:
            del self._records[name, generation]
            if self._uploader is not None:
                self._uploader.drop(name, generation)
        if self._store is not None:
            try:
                await self._ask(lambda store: store.delete_sandbox(sandbox.name))
            except Unavailable as error:
                raise Failed(
                    f"sandbox {sandbox.name} is deleted, and its snapshots may be in the store: {error}"
                ) from error

    # What there is

    def show(self, sandboxes: Iterable[Sandbox]) -> list[Snapshot]:
        """Every snapshot, with what the uploader says of it."""
        for sandbox in sandboxes:
            for generation in {*checkpoints_in(sandbox.home), *evicted_in(sandbox.home)}:
                key = (sandbox.name, generation)
                if key not in self._records:
                    self._records[key] = _Record(size_of(sandbox.checkpoint(generation)))
        return [self._show(name, generation, record) for (name, generation), record in sorted(self._records.items())]

    def _show(self, name: str, generation: int, record: _Record) -> Snapshot:
        upload = self._uploader.uploads.get((name, generation)) if self._uploader else None
        if upload is None:
            return Snapshot(
                name, generation, record.size_bytes, "stale" if record.stale else "local_only",
                suspended_at=record.suspended_at,
            )  # fmt: skip
        state = "stale" if record.stale else _STATES[upload.state]
        return Snapshot(
            name, generation, record.size_bytes, state, self._place, record.suspended_at, upload.first_byte_at,
            upload.manifest_at, upload.bytes_sent, None if upload.first_byte_at is None else upload.tries + 1,
            upload.error,
        )  # fmt: skip

    @property
    def _place(self) -> str | None:
        if self._store is None:
            return None
        settings = self._store.settings
        return f"{settings.endpoint}/{settings.bucket}/{settings.prefix}"

    def components(self) -> dict[str, int]:
        """The processes of ours that have to do with snapshots, by what they are called in samples."""
        pids = {
            "uploader": self._uploader.pid if self._uploader else None,
            "object-store": self._server.pid if self._server else None,
        }
        return {name: pid for name, pid in pids.items() if pid is not None}

    def readings(self) -> list[Reading]:
        """Bytes that went to the store so far."""
        if self._uploader is None:
            return []
        sent = float(self._uploader.bytes_sent)
        return [Reading("component", "uploader", "uploaded_bytes_total", sent, "bytes", "the uploader's events")]
