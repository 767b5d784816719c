"""Many uploads at a time: which of them does what next, and what becomes of failures.

Each upload goes through the stages

    waiting ── due ──> sending ── all parts confirmed, manifest written ──> written ── verified ──> (forgotten)
       └───────────────────┴── dropped by command, or lost ──> ending ── removed from the bucket ──> (forgotten)

A few workers take one step at a time: a part of this upload, then one of the next. So no more than
so many calls are on their way, and every upload moves. Nothing is removed of an upload while a call
of it is under way, or a part could arrive after its removal.

What fails is tried again for ever, with a pause that grows to 2 s; a failure holds up its own
upload and no worker.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tasks.snapshots.errors import SnapshotLost, StoreError
from tasks.snapshots.sending import Block, Sending, Written
from tasks.snapshots.store import SnapshotStore

Key = tuple[str, int]
Emit = Callable[[dict[str, Any]], None]
Step = Callable[[], None]

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0
_PROGRESS_EVERY_S = 0.2


@dataclass(eq=False)
class _Upload:
    """One snapshot in hand.

    Attributes:
        calls: steps of it that are under way.
        alone: the step under way suffers no other beside it.
        reading: a part is being read; parts are read in order.
        next_part: the first that was not read yet.
        again: parts that failed.
        outcome: the event that ends it, once that is decided; `why` is its text.
        succession: what to do once it has ended: it was added again meanwhile.
    """

    key: Key
    directory: Path
    due_at: float
    ticket: int
    stage: Literal["waiting", "sending", "written", "ending"] = "waiting"
    sending: Sending | None = None
    calls: int = 0
    alone: bool = False
    reading: bool = False
    next_part: int = 0
    again: deque[int] = field(default_factory=deque)
    not_before: float = 0.0
    failures_in_a_row: int = 0
    tries: int = 0
    sent: int = 0
    announced: bool = False
    told_at: float = 0.0
    outcome: Literal["dropped", "lost"] = "dropped"
    why: str | None = None
    succession: Step | None = None


class Uploads:
    """Everything that this process has to send; `add` and `drop` may be called from any thread."""

    def __init__(self, store: SnapshotStore, workers: int, emit: Emit) -> None:
        """Start the workers.

        Args:
            store: where to.
            workers: calls at a time.
            emit: takes events, from any thread.
        """
        self._store = store
        self._emit = emit
        self._uploads: dict[Key, _Upload] = {}
        self._turns: deque[_Upload] = deque()
        self._changed = threading.Condition()
        self._total_sent = 0
        for number in range(workers):
            threading.Thread(target=self._work, name=f"upload-{number}", daemon=True).start()

    # Commands

    def add(self, key: Key, directory: Path, due_at: float, ticket: int) -> None:
        """Send a directory from `due_at` on; one that is in hand already is not added again."""
        with self._changed:
            before = self._uploads.get(key)
            if before is None:
                self._tell_of(key, ticket, "added")
                self._enter(_Upload(key, directory, due_at, ticket))
            elif before.stage == "ending":
                before.succession = lambda: self.add(key, directory, due_at, ticket)

    def drop(self, key: Key, ticket: int) -> None:
        """Stop sending, and remove what is in the bucket of this one generation."""
        with self._changed:
            upload = self._uploads.get(key)
            if upload is None:
                upload = _Upload(key, Path(), 0.0, ticket)
                self._enter(upload)
            upload.succession = None
            upload.ticket = ticket
            self._end(upload, "dropped", None)

    def _enter(self, upload: _Upload) -> None:
        self._uploads[upload.key] = upload
        self._turns.append(upload)
        self._changed.notify_all()

    def _end(self, upload: _Upload, outcome: Literal["dropped", "lost"], why: str | None) -> None:
        if upload.stage != "ending" or outcome == "dropped":
            upload.outcome, upload.why = outcome, why
        upload.stage = "ending"
        upload.not_before = 0.0
        upload.failures_in_a_row = 0
        self._changed.notify_all()

    # Workers

    def _work(self) -> None:
        while True:
            with self._changed:
                while (taken := self._take()) is None:
                    self._changed.wait(self._pause())
                upload, step = taken
            try:
                step()
            except SnapshotLost as error:
                with self._changed:
                    if upload.stage != "ending":
                        self._end(upload, "lost", str(error))
            except StoreError as error:
                self._failed(upload, error)
            finally:
                with self._changed:
                    upload.calls -= 1
                    upload.alone = False
                    self._changed.notify_all()

    def _take(self) -> tuple[_Upload, Step] | None:
        """The next step of the upload whose turn it is, which then goes to the end of the queue."""
        now = time.monotonic()
        for _ in range(len(self._turns)):
            upload = self._turns[0]
            self._turns.rotate(-1)
            step = self._step(upload, now)
            if step is not None:
                upload.calls += 1
                return upload, step
        return None

    def _step(self, upload: _Upload, now: float) -> Step | None:
        if upload.alone or now < max(upload.not_before, upload.due_at if upload.stage == "waiting" else 0.0):
            return None
        if upload.stage == "sending":
            if upload.again:
                index = upload.again.popleft()
                return lambda: self._send(upload, index)
            if upload.next_part < _parts_of(upload).parts:
                if upload.reading:
                    return None
                upload.reading = True
                return lambda: self._send_next(upload)
        if upload.calls:
            return None
        upload.alone = True
        steps = {"waiting": self._begin, "sending": self._finish, "written": self._settle, "ending": self._remove}
        return lambda: steps[upload.stage](upload)

    def _pause(self) -> float | None:
        """Seconds until time alone lets an upload go on."""
        now = time.monotonic()
        times = [
            max(upload.not_before, upload.due_at if upload.stage == "waiting" else 0.0) for upload in self._turns
        ]  # fmt: skip
        return min((moment - now for moment in times if moment > now), default=None)

    def _failed(self, upload: _Upload, error: StoreError) -> None:
        with self._changed:
            upload.tries += 1
            pause = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(upload.failures_in_a_row, 10))
            upload.failures_in_a_row += 1
            upload.not_before = time.monotonic() + pause
            self._tell(upload, "failed_try", error=str(error), stage=upload.stage, **{"try": upload.tries})

    # Steps

    def _begin(self, upload: _Upload) -> None:
        sending = self._store.sending(upload.directory, *upload.key)
        manifest = sending.begin()
        if manifest is not None:
            # An earlier process may have been ended between writing the manifest and saying so.
            found = self._store.verify(*upload.key)
            if found.complete and found.checksum is not None:
                self._written(upload, Written(found.bytes, found.objects, found.checksum))
                return
            sending.start_over()
        with self._changed:
            if upload.stage == "waiting":
                upload.sending, upload.stage = sending, "sending"

    def _send_next(self, upload: _Upload) -> None:
        sending = _parts_of(upload)
        try:
            block = sending.read(upload.next_part)
            upload.next_part += 1
        finally:
            with self._changed:
                upload.reading = False
                self._changed.notify_all()
        self._put(upload, sending, block)

    def _send(self, upload: _Upload, index: int) -> None:
        sending = _parts_of(upload)
        try:
            block = sending.read(index)
        except StoreError:
            upload.again.append(index)
            raise
        self._put(upload, sending, block)

    def _put(self, upload: _Upload, sending: Sending, block: Block) -> None:
        if upload.stage != "sending":
            return
        self._announce(upload, sending)
        try:
            sent = sending.put(block)
        except StoreError:
            upload.again.append(block.index)
            raise
        with self._changed:
            upload.failures_in_a_row = 0
            upload.sent += sent
            self._total_sent += sent
            now = time.monotonic()
            if now - upload.told_at >= _PROGRESS_EVERY_S:
                upload.told_at = now
                self._tell(upload, "progress", bytes=sending.bytes_confirmed)

    def _announce(self, upload: _Upload, sending: Sending) -> None:
        with self._changed:
            if not upload.announced:
                upload.announced = True
                self._tell(upload, "uploading", bytes_total=sending.content_bytes)

    def _finish(self, upload: _Upload) -> None:
        sending = _parts_of(upload)
        self._announce(upload, sending)
        self._written(upload, sending.finish())

    def _written(self, upload: _Upload, written: Written) -> None:
        with self._changed:
            if upload.stage == "ending":
                return
            upload.stage = "written"
            upload.failures_in_a_row = 0
            now = time.monotonic()
            self._tell(
                upload,
                "written",
                bytes=written.bytes,
                objects=written.objects,
                checksum=written.checksum,
                manifest_at=now,
            )

    def _settle(self, upload: _Upload) -> None:
        """Only what is verified may take the place of older snapshots, and ends our interest in it."""
        sandbox, generation = upload.key
        found = self._store.verify(sandbox, generation)
        if not found.complete:
            self._send_anew(upload, found.problem)
            return
        older = [number for number in self._store.generations(sandbox) if number < generation]
        with self._changed:
            if _is_ending(upload):
                return
            # Those that are on their way from here are ended by their own steps, in the right order.
            for number in older:
                if (sandbox, number) in self._uploads:
                    self._end(self._uploads[sandbox, number], "dropped", f"generation {generation} is durable")
            older = [number for number in older if (sandbox, number) not in self._uploads]
        for number in older:
            self._store.delete(sandbox, number)
        with self._changed:
            if _is_ending(upload):
                return
            if older:
                self._tell(upload, "superseded", generations=older)
            self._tell(upload, "verified")
            self._forget(upload)

    def _send_anew(self, upload: _Upload, problem: str | None) -> None:
        """The manifest is there and something that it lists is not: begin again, with what is there."""
        with self._changed:
            if _is_ending(upload):
                return
            upload.stage = "waiting"
            upload.sending, upload.next_part = None, 0
            upload.again.clear()
        raise StoreError(f"written, but not complete: {problem}; it is sent again")

    def _remove(self, upload: _Upload) -> None:
        if upload.outcome == "lost" and self._turns_out_written(upload):
            return
        self._store.delete(*upload.key)
        with self._changed:
            self._tell(upload, upload.outcome, error=upload.why)
            self._forget(upload)
            if upload.succession is not None:
                upload.succession()

    def _turns_out_written(self, upload: _Upload) -> bool:
        """Whether what was lost here is whole there: the manifest's PUT arrived, and its answer did not."""
        found = self._store.verify(*upload.key)
        if not found.complete or found.checksum is None:
            return False
        with self._changed:
            if upload.outcome == "dropped":
                return False
            upload.stage = "sending"
        self._written(upload, Written(found.bytes, found.objects, found.checksum))
        return True

    def _forget(self, upload: _Upload) -> None:
        del self._uploads[upload.key]
        self._turns.remove(upload)

    # Events

    def _tell(self, upload: _Upload, event: str, **more: Any) -> None:
        self._tell_of(upload.key, upload.ticket, event, sent=upload.sent, total_sent=self._total_sent, **more)

    def _tell_of(self, key: Key, ticket: int, event: str, **more: Any) -> None:
        at = time.monotonic()
        self._emit({"event": event, "at": at, "sandbox": key[0], "generation": key[1], "ticket": ticket, **more})


def _is_ending(upload: _Upload) -> bool:
    return upload.stage == "ending"


def _parts_of(upload: _Upload) -> Sending:
    if upload.sending is None:
        raise RuntimeError(f"{upload.key} is not being sent")
    return upload.sending
