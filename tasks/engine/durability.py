"""Watching snapshots until each is durable or lost, and restoring some from the store alone.

Nothing is called durable on the word of whoever uploads: a snapshot that is said to be written is
looked for in the store (`Platform.verify_snapshot`), and counts from the moment it was found whole
there. Each snapshot is one row of the ledger, written again whenever something about it changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from specs.models import Durability
from specs.workloads import WORKLOADS
from tasks.engine.attempts import Attempts, Place, Roster, last_report, nonce_of
from tasks.engine.recorder import Recorder
from tasks.platforms.base import Platform, PlatformError, Snapshot, Verified
from warehouse.rows import Attempt, SnapshotRow

_LOOK_EVERY_S = 0.1
_LOOK_AGAIN_S = 1.0
_VERIFY_AT_ONCE = 4
_SETTLED = frozenset({"durable", "lost", "stale"})


@dataclass(slots=True)
class DurabilityRun:
    """One durability step under way.

    Attributes:
        names: the group's sandboxes, in order.
        seed: the trial's; it draws the sample, and the nonces that the sandboxes hold.
    """

    watch: Durability
    names: Sequence[str]
    trial: int
    step: int
    seed: int
    run_id: str
    platform: Platform
    attempts: Attempts
    roster: Roster
    recorder: Recorder
    progress: Callable[[str], None]
    _ledger: dict[tuple[str, int], SnapshotRow] = field(default_factory=dict)
    _looked_at: dict[tuple[str, int], float] = field(default_factory=dict)

    async def run(self) -> str:
        """Do the whole step; returns `finished`, or `timed out` when snapshots were not durable in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.watch.timeout
        while await self._look() and loop.time() < deadline:
            await asyncio.sleep(_LOOK_EVERY_S)
        outcome = "finished"
        for key, row in self._ledger.items():
            if row.state not in (*_SETTLED, "partial"):
                outcome = "timed out"
                self._write(key, replace(row, state="stuck"))
        await self._restore_some()
        return outcome

    # Watching

    async def _look(self) -> int:
        """Take in how far each snapshot is; returns how many are not settled."""
        names = set(self.names)
        written: list[Snapshot] = []
        for snapshot in await self.platform.snapshots():
            key = (snapshot.sandbox, snapshot.generation)
            known = self._ledger.get(key)
            if snapshot.sandbox not in names or (known is not None and known.state in _SETTLED):
                continue
            row = self._row(snapshot)
            if row.error is None and known is not None and snapshot.state == "written":
                row.error = known.error  # what the last look at the store found wrong
            self._write(key, row)
            if snapshot.state == "written" and self._is_due(key):
                written.append(snapshot)
        gate = asyncio.Semaphore(_VERIFY_AT_ONCE)
        await asyncio.gather(*(self._verify(snapshot, gate) for snapshot in written))
        return sum(row.state not in _SETTLED for row in self._ledger.values())

    def _row(self, snapshot: Snapshot) -> SnapshotRow:
        return SnapshotRow(
            self.run_id, self.trial, self.step, self.watch.group, snapshot.sandbox, snapshot.generation,
            "uploading" if snapshot.state == "written" else snapshot.state, snapshot.store,
            suspended_s=self._on_clock(snapshot.suspended_at), first_byte_s=self._on_clock(snapshot.first_byte_at),
            manifest_s=self._on_clock(snapshot.written_at), size_bytes=snapshot.size_bytes,
            uploaded_bytes=snapshot.uploaded_bytes, tries=snapshot.tries, error=snapshot.error,
        )  # fmt: skip

    def _on_clock(self, at: float | None) -> float | None:
        return None if at is None else at - self.attempts.origin

    def _is_due(self, key: tuple[str, int]) -> bool:
        """Whether it is time to look at the store: at once, and then now and again."""
        now = asyncio.get_running_loop().time()
        if now < self._looked_at.get(key, -_LOOK_AGAIN_S) + _LOOK_AGAIN_S:
            return False
        self._looked_at[key] = now
        return True

    async def _verify(self, snapshot: Snapshot, gate: asyncio.Semaphore) -> None:
        key = (snapshot.sandbox, snapshot.generation)
        async with gate:
            found: Verified = await self.platform.verify_snapshot(*key)
        row = self._ledger[key]
        if found.whole:
            now = self._on_clock(asyncio.get_running_loop().time())
            row = replace(row, state="durable", durable_s=now, objects=found.objects, checksum=found.checksum)
        else:
            row = replace(row, error=found.problem)
        self._write(key, row)

    def _write(self, key: tuple[str, int], row: SnapshotRow) -> None:
        """Record a row of the ledger, where it says anything new."""
        if self._ledger.get(key) != row:
            self._ledger[key] = row
            self.recorder.write(replace(row))

    # Restoring

    async def _restore_some(self) -> None:
        """Restore a sample of the durable snapshots from the store alone, one after the other."""
        last: dict[str, int] = {}
        for sandbox, generation in self._ledger:
            last[sandbox] = max(generation, last.get(sandbox, 0))
        durable = sorted(key for key in last.items() if self._ledger[key].state == "durable")
        draw = Random(f"{self.seed}/restore")
        for key in draw.sample(durable, min(self.watch.restore, len(durable))):
            self._write(key, await self._restore(key[0], self._ledger[key]))

    async def _restore(self, sandbox: str, row: SnapshotRow) -> SnapshotRow:
        """Remove the local copy, resume, and look for the nonces; then delete, which makes room for the next."""
        try:
            await self.platform.evict(sandbox)
        except PlatformError as error:
            return replace(row, error=str(error))
        resumed = await self._attempt("resume", sandbox)
        if resumed.outcome == "ok":
            verified = await self._attempt("exec", sandbox)
            report = last_report(verified.detail)
            row = replace(
                row, restored_s=resumed.ready_s, files_ok=report.get("files"), memory_ok=report.get("memory"),
                error=verified.error,
            )  # fmt: skip
        else:
            row = replace(row, files_ok=False, memory_ok=False, error=resumed.error)
        await self._attempt("delete", sandbox)
        return row

    async def _attempt(self, operation: str, sandbox: str) -> Attempt:
        place = Place(self.trial, self.step, 0, 0, self.watch.group, operation, 120.0)  # type: ignore[arg-type]
        if operation == "exec":
            place.program = "verify"
            program = WORKLOADS["verify"].argv([nonce_of(self.seed, sandbox), "report"])
            call = lambda name, acknowledged: self.platform.exec(name, program, acknowledged)  # noqa: E731
        else:
            call = getattr(self.platform, operation)
        attempt = await self.attempts.make(call, sandbox, place, self.roster)
        self.progress(attempt.outcome)
        return attempt
