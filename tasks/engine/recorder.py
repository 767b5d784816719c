"""Rows to disk as they happen: append-only segments, one file of JSON lines a table.

A row is encoded when it is written and reaches the file within `FLUSH_EVERY_S`, from a thread of
its own, so that a kill of the process costs at most that. Memory holds no more than `MOST_PENDING`
rows of a table: whoever writes the next one flushes first, since under full load the thread gets
its turn too seldom.
The story continues in `warehouse.store`, which lands segments in DuckDB.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from warehouse.rows import TABLES

FLUSH_EVERY_S = 0.25
MOST_PENDING = 4096
_TABLE_OF = {row_class: table for table, row_class in TABLES.items()}


class RecordingError(Exception):
    """Rows could not be written; says where and why."""


class Recorder:
    """Appends rows to the segments of one run; `write` may be called from any thread."""

    def __init__(self, run_dir: Path) -> None:
        self.segments = run_dir / "segments"
        self._buffers: dict[str, list[bytes]] = {table: [] for table in TABLES}
        self._files: dict[str, int] = {}
        self._flushing = threading.Lock()
        self._error: OSError | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._keep_flushing, name="sandgauge-recorder", daemon=True)

    def open(self) -> Recorder:
        """Make the folder and begin to flush.

        Raises:
            RecordingError: the folder cannot be made.
        """
        try:
            self.segments.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(f"{self.segments}: cannot be made: {error.strerror}") from error
        self._thread.start()
        return self

    def __enter__(self) -> Recorder:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, row: Any) -> None:
        """Record one row of `warehouse.rows`.

        Raises:
            RecordingError: an earlier row could not be written to disk.
        """
        if self._error is not None:
            raise RecordingError(f"{self.segments}: rows cannot be written: {self._error.strerror}")
        buffer = self._buffers[_TABLE_OF[type(row)]]
        buffer.append(orjson.dumps(row))
        if len(buffer) >= MOST_PENDING:
            self.flush()

    def flush(self) -> None:
        """Write everything recorded so far to the files."""
        with self._flushing:
            for table, buffer in self._buffers.items():
                if buffer:
                    self._append(table, buffer)

    def _append(self, table: str, buffer: list[bytes]) -> None:
        taken = len(buffer)
        data = b"\n".join(buffer[:taken]) + b"\n"
        try:
            if table not in self._files:
                path = self.segments / f"{table}.ndjson"
                self._files[table] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._write_whole(self._files[table], data)
        except OSError as error:
            self._error = error
            return
        self._error = None
        del buffer[:taken]

    @staticmethod
    def _write_whole(file: int, data: bytes) -> None:
        """Write all or nothing: a torn line in the middle of a file would take its neighbour along."""
        before = os.fstat(file).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(file, data[written:])
        except OSError:
            with suppress(OSError):
                os.ftruncate(file, before)
            raise

    def _keep_flushing(self) -> None:
        while not self._closed.wait(FLUSH_EVERY_S):
            self.flush()

    def close(self) -> None:
        """Flush and close the files; safe to call twice.

        Raises:
            RecordingError: the last rows could not be written.
        """
        if self._closed.is_set():
            return
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        self.flush()
        for file in self._files.values():
            os.close(file)
        self._files.clear()
        if self._error is not None:
            raise RecordingError(f"{self.segments}: rows cannot be written: {self._error.strerror}")
