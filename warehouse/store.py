"""The warehouse: a DuckDB file in which the segments of runs are landed.

One process writes at a time. Whoever opens the file holds a lock beside it for as long as it is
open, and waits for others to be done; a program that opens the file without that lock, such as a
DuckDB shell, is waited for as well. What the figures mean is in `views/*.sql`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
from filelock import FileLock, Timeout
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from warehouse.errors import WarehouseError
from warehouse.landing import land_segment, note_landed, segments_to_land
from warehouse.migrating import is_current, migrate

__all__ = ["Landed", "Warehouse", "WarehouseError"]
WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Landed:
    """What landing a run did.

    Attributes:
        rows: rows by table, of the segments that had grown.
        already: nothing had grown since it was last landed.
        broken_lines: lines that could not be read, left out and kept in the segment.
    """

    run_id: str
    rows: dict[str, int] = field(default_factory=dict)
    broken_lines: int = 0

    @property
    def already(self) -> bool:
        """Whether there was nothing to do."""
        return not self.rows


class Warehouse:
    """An open warehouse; use it as a context manager, for a short time."""

    def __init__(self, path: Path, connection: duckdb.DuckDBPyConnection, lock: FileLock) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock

    @classmethod
    def open(cls, path: Path | str, *, read_only: bool = False, wait_s: float = WAIT_S) -> Warehouse:
        """Open a warehouse file, made and brought up to date where need be.

        Args:
            path: the file.
            read_only: nothing can be changed through it, and the file must exist.
            wait_s: how long to wait for whoever has it open.

        Raises:
            WarehouseError: it is in use for longer than that, is no warehouse, or is too new.
        """
        path = Path(path)
        if read_only and not path.exists():
            raise WarehouseError(f"{path}: there is no such file")
        lock = _take_lock(path, wait_s)
        try:
            return cls(path, _open_current(path, read_only, wait_s), lock)
        except BaseException:
            lock.release()
            raise

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let others have it."""
        try:
            self._connection.close()
        finally:
            self._lock.release()

    def land(self, run_dir: Path) -> Landed:
        """Land what a run's segments hold and the warehouse lacks, all of it or nothing.

        Answers to the run's checks go when rows come, since they rested on fewer.

        Raises:
            WarehouseError: it did not work; the segments are as they were.
        """
        run_id = run_dir.name
        try:
            grown = segments_to_land(self._connection, run_dir)
            if not grown:
                return Landed(run_id)
            self._connection.execute("BEGIN")
            try:
                landed = [(segment, *land_segment(self._connection, segment)) for segment in grown]
                note_landed(self._connection, landed)
                self._connection.execute("DELETE FROM checks WHERE run_id = ?", [run_id])
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(duckdb.Error):
                    self._connection.execute("ROLLBACK")
                raise
        except (duckdb.Error, OSError) as error:
            raise WarehouseError(
                f"{self.path}: run {run_id} was not landed: {first_line(error)}; its rows stay in {run_dir}/segments"
            ) from error
        return Landed(run_id, {segment.table: rows for segment, rows, _ in landed}, sum(lost for *_, lost in landed))

    def land_all(self, results: Path) -> list[Landed]:
        """Land every run of a results folder; one that cannot be landed keeps no other from it.

        Raises:
            WarehouseError: a run was not landed; the first of them.
        """
        landed, trouble = [], None
        for segments in sorted(results.glob("runs/*/segments")):
            try:
                landed.append(self.land(segments.parent))
            except WarehouseError as error:
                trouble = trouble or error
        if trouble:
            raise trouble
        return landed

    def query(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Ask in SQL; returns the names of the columns, and the rows.

        Raises:
            WarehouseError: with what DuckDB says of it.
        """
        try:
            result = self._connection.execute(sql, values if isinstance(values, dict) else list(values) or None)
            if result is None:  # nothing but blanks and comments
                raise WarehouseError("there is no statement to run")
            return [column[0] for column in result.description or []], result.fetchall()
        except (duckdb.Error, ValueError, OverflowError) as error:  # the latter: text or values Python cannot hold
            raise WarehouseError(str(error).strip()) from error

    def rows(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.query(sql, values)[1]

    def records(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[dict[str, Any]]:
        """The rows of a query, each by the names of its columns."""
        columns, rows = self.query(sql, values)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def one(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The first row of a query.

        Raises:
            WarehouseError: there is none.
        """
        rows = self.rows(sql, values)
        if not rows:
            raise WarehouseError(f"{self.path}: nothing found for {', '.join(map(str, values))}")
        return rows[0]

    def change(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each of several rows of values, in one transaction."""
        try:
            self._connection.execute("BEGIN")
            for values in rows:
                self._connection.execute(sql, list(values))
            self._connection.execute("COMMIT")
        except duckdb.Error as error:
            with suppress(duckdb.Error):
                self._connection.execute("ROLLBACK")
            raise WarehouseError(f"{self.path}: {first_line(error)}") from error


def _take_lock(path: Path, wait_s: float) -> FileLock:
    lock = FileLock(f"{path}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=wait_s)
    except Timeout:
        raise WarehouseError(
            f"{path}: another Sandgauge has had it open for {wait_s:g} s; nothing is lost, "
            "`sandgauge report` lands the rest when it is free"
        ) from None
    except OSError as error:
        raise WarehouseError(f"{path}: cannot be opened: {error.strerror}") from error
    return lock


def _open_current(path: Path, read_only: bool, wait_s: float) -> duckdb.DuckDBPyConnection:
    """Open a file and bring it up to date; one that is only to be read is first opened to write where it is behind."""
    connection = _connect(path, read_only, wait_s)
    try:
        if not read_only:
            migrate(connection, str(path))
        elif not is_current(connection, str(path)):
            connection.close()
            _open_current(path, False, wait_s).close()
            connection = _connect(path, True, wait_s)
        return connection
    except duckdb.Error as error:
        connection.close()
        raise WarehouseError(f"{path}: {first_line(error)}") from error
    except BaseException:
        connection.close()
        raise


def _connect(path: Path, read_only: bool, wait_s: float) -> duckdb.DuckDBPyConnection:
    retrying = Retrying(
        retry=retry_if_exception(_is_locked), stop=stop_after_delay(wait_s),
        wait=wait_random_exponential(0.05, max=1.0), reraise=True,
    )  # fmt: skip
    try:
        if not path.exists():
            _make(path)
        connection = retrying(
            duckdb.connect,
            str(path),
            read_only=read_only,
            config={
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "temp_directory": f"{path}.tmp",
                "threads": min(4, os.cpu_count() or 1),
            },
        )
        connection.execute("SET enable_progress_bar = false")  # it would be drawn into what a script reads
        return connection
    except (duckdb.Error, OSError) as error:
        message = first_line(error)
        if _is_locked(error):
            message = (
                f"another program has had it open for {wait_s:g} s; close it (a DuckDB shell?), nothing is lost: "
                f"{message}"
            )
        elif "not a valid DuckDB" in message or "replaying WAL" in message:
            message += " Move it away: `sandgauge report` makes it anew from the segments of the runs."
        raise WarehouseError(f"{path}: {message}") from error


def _make(path: Path) -> None:
    """Make an empty file beside it first: one half made by a full disk or a kill would be in the way for ever."""
    half = Path(f"{path}.new")
    half.unlink(missing_ok=True)
    Path(f"{path}.wal").unlink(missing_ok=True)  # of a file that was moved away; it fits no other
    duckdb.connect(str(half)).close()
    half.replace(path)


def _is_locked(error: BaseException) -> bool:
    return isinstance(error, duckdb.IOException) and "lock on file" in str(error)


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
