"""Landing: lines of a segment become rows of a table, whole segments at a time, in DuckDB itself.

A segment only ever grows, and a row may be written again with more in it. So a segment that has
grown is landed anew: the rows of its run are replaced by what the segment says now. Landing twice
changes nothing, and memory does not grow with the rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import duckdb

from warehouse.rows import KEYS, TABLES

_TAIL_BLOCK = 1 << 16
_COUNT_BLOCK = 1 << 22
_LONGEST_LINE = 1 << 26
_TEXTS = ("VARCHAR", "JSON")


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    kind: str
    needed: bool

    @property
    def as_read(self) -> str:
        """The type to read it with. Reading makes NULL of a value of a wrong type, which would pass for missing."""
        return self.kind if self.needed or self.kind in _TEXTS else "JSON"

    @property
    def value(self) -> str:
        """What goes into the table."""
        return self.name if self.as_read == self.kind else f"TRY_CAST({self.name} AS {self.kind}) AS {self.name}"

    @property
    def is_right(self) -> str | None:
        """What a line must fulfil to be a row; None where anything will do."""
        if self.needed:
            return f"{self.name} IS NOT NULL"
        if self.as_read == self.kind:
            return None
        return f"({self.name} IS NULL OR TRY_CAST({self.name} AS {self.kind}) IS NOT NULL)"


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of JSON lines; `size` is in bytes, up to its last whole line."""

    run_id: str
    table: str
    path: Path
    size: int


def segments_to_land(connection: duckdb.DuckDBPyConnection, run_dir: Path) -> list[Segment]:
    """The segments of a run that hold more than was landed of them."""
    known = "SELECT table_name, bytes FROM landed_segments WHERE run_id = ?"
    landed = dict(connection.execute(known, [run_dir.name]).fetchall())
    segments = []
    for table in TABLES:
        path = run_dir / "segments" / f"{table}.ndjson"
        if path.is_file():
            size = whole_lines(path)
            if size != landed.get(table, 0):
                segments.append(Segment(run_dir.name, table, path, size))
    return segments


def whole_lines(path: Path) -> int:
    """Bytes of a file up to and with its last newline: a line that is still being written does not count."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        while end > 0:
            start = max(0, end - _TAIL_BLOCK)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


def land_segment(connection: duckdb.DuckDBPyConnection, segment: Segment) -> tuple[int, int]:
    """Replace a run's rows of one table by those of a segment; returns the rows, and the lines left out."""
    columns = _columns(connection, segment.table)
    connection.execute(f"DELETE FROM {segment.table} WHERE run_id = ?", [segment.run_id])
    values = {"path": _literal(segment.path), "run_id": segment.run_id}
    rows = readable = _count(connection, _insert(segment.table, columns), values)
    if segment.table in KEYS:
        readable = _count(connection, f"SELECT count(*) FROM {_readable(columns)}", values)
    broken = max(0, _lines(segment) - readable)  # the segment may have grown meanwhile
    return rows, broken


def note_landed(connection: duckdb.DuckDBPyConnection, landed: list[tuple[Segment, int, int]]) -> None:
    """Note how far segments of a run were landed, with how many rows and lines left out."""
    run_id = landed[0][0].run_id
    tables = ", ".join(f"'{segment.table}'" for segment, _, _ in landed)
    connection.execute(f"DELETE FROM landed_segments WHERE run_id = ? AND table_name IN ({tables})", [run_id])
    values = ", ".join(
        f"($1, '{segment.table}', {segment.size}, {rows}, {lost}, now())" for segment, rows, lost in landed
    )
    connection.execute(f"INSERT INTO landed_segments VALUES {values}", [run_id])


def _lines(segment: Segment) -> int:
    """How many whole lines a segment has; counting them is far quicker than reading what is in them."""
    lines, left = 0, segment.size
    with segment.path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, _COUNT_BLOCK))):
            lines += block.count(b"\n")
            left -= len(block)
    return lines


def _literal(path: Path) -> str:
    """A path that DuckDB takes for that file alone, and for no pattern that others match too."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _columns(connection: duckdb.DuckDBPyConnection, table: str) -> list[_Column]:
    rows = connection.execute(f"PRAGMA table_info('{table}')").fetchall()
    return [_Column(name, kind, needed) for _, name, kind, needed, *_ in rows]


def _readable(columns: list[_Column]) -> str:
    """The rows of a segment. A line that is torn, garbled or another run's costs itself and no other."""
    types = ", ".join(f"{column.name}: '{column.as_read}'" for column in columns)
    right = " AND ".join(column.is_right for column in columns if column.is_right)
    return (
        f"read_json($path, format = 'newline_delimited', columns = {{{types}}}, ignore_errors = true, "
        f"maximum_object_size = {_LONGEST_LINE}) WHERE run_id = $run_id AND {right}"
    )


def _insert(table: str, columns: list[_Column]) -> str:
    """The statement that reads a segment into its table; for a table with a key, the last row of each key wins."""
    names, read = ", ".join(column.name for column in columns), ", ".join(column.value for column in columns)
    key = KEYS.get(table)
    if not key:
        return f"INSERT INTO {table} ({names}) SELECT {read} FROM {_readable(columns)}"
    last = f"row_number() OVER (PARTITION BY {', '.join(key)} ORDER BY number DESC) = 1"
    return f"""
        WITH lines AS (SELECT *, row_number() OVER () AS number FROM {_readable(columns)}),
        chosen AS (SELECT * FROM lines QUALIFY {last})
        INSERT INTO {table} ({names}) SELECT {read} FROM chosen ORDER BY number
    """


def _count(connection: duckdb.DuckDBPyConnection, query: str, values: list[str] | dict[str, str]) -> int:
    return cast(tuple[int], connection.execute(query, values).fetchone())[0]
