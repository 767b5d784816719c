"""Numbered migrations and views: how a warehouse file gets its shape.

A migration is `migrations/NNNN_name.sql`. It is applied once, in one transaction with its own
record, and never edited afterwards: its checksum is kept. Views hold no rows, so they are made
anew whenever a file of `views/` has changed, and with them the published figures of `reference/`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import cast

import duckdb

from warehouse.errors import WarehouseError
from warehouse.published import published_script

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_BOOKKEEPING = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number BIGINT NOT NULL, name VARCHAR NOT NULL, sha256 VARCHAR NOT NULL, applied_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE schema_migrations IS 'Migrations that it has had. Grain: number; 0: views and published figures.';
COMMENT ON COLUMN schema_migrations.number IS 'number of the migration';
COMMENT ON COLUMN schema_migrations.name IS 'its name';
COMMENT ON COLUMN schema_migrations.sha256 IS 'SHA-256 of its text';
COMMENT ON COLUMN schema_migrations.applied_at IS 'when it was applied';
"""
_VIEWS = 0


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of `migrations/`."""

    number: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        """Of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def read_migrations(folder: Traversable | None = None) -> list[Migration]:
    """The migrations of a folder, in order.

    Raises:
        WarehouseError: a file has a wrong name, or a number is missing or given twice.
    """
    folder = folder or files("warehouse") / "migrations"
    found = []
    for file in folder.iterdir():
        match = _NAME.fullmatch(file.name)
        if file.name.endswith(".sql") and not match:
            raise WarehouseError(f"migration {file.name}: name it NNNN_what_it_does.sql")
        if match:
            found.append(Migration(int(match[1]), match[2], file.read_text()))
    found.sort(key=lambda migration: migration.number)
    numbers = [migration.number for migration in found]
    if numbers != list(range(1, len(found) + 1)):
        raise WarehouseError(f"migrations must be numbered from 1 without a gap, and are numbered {numbers}")
    return found


def read_views(folder: Traversable | None = None) -> dict[str, str]:
    """The views and macros, by name, in an order in which each comes after those that it reads."""
    folder = folder or files("warehouse") / "views"
    texts = {
        file.name.removesuffix(".sql"): file.read_text() for file in folder.iterdir() if file.name.endswith(".sql")
    }
    ordered: dict[str, str] = {}

    def add(name: str, above: tuple[str, ...] = ()) -> None:
        if name in above:
            raise WarehouseError(f"views read each other in a circle: {' -> '.join([*above, name])}")
        for other in sorted(texts):
            if other != name and re.search(rf"\b(from|join)\s+{other}\b", texts[name], re.IGNORECASE):
                add(other, (*above, name))
        ordered.setdefault(name, texts[name])

    for name in sorted(texts, key=lambda name: ("CREATE OR REPLACE MACRO" not in texts[name], name)):
        add(name)
    return ordered


def migrate(connection: duckdb.DuckDBPyConnection, file: str, migrations: list[Migration] | None = None) -> None:
    """Bring a file up to date; what it holds stays.

    Raises:
        WarehouseError: the file is newer than this program, or a migration was edited after it was applied.
    """
    migrations = read_migrations() if migrations is None else migrations
    if not has_table(connection, "schema_migrations"):
        _in_one(connection, _BOOKKEEPING)
    applied = _applied(connection)
    _refuse_what_is_foreign(applied, migrations, file)
    for migration in migrations:
        if migration.number not in applied:
            _apply(connection, migration.number, migration.name, migration.text, migration.sha256)
    _refresh_views(connection, applied.get(_VIEWS, ("", ""))[1])


def is_current(connection: duckdb.DuckDBPyConnection, file: str) -> bool:
    """Whether a file has every migration and the views of this program; it is only looked at.

    Raises:
        WarehouseError: as `migrate`.
    """
    if not has_table(connection, "schema_migrations"):
        return False
    migrations, applied = read_migrations(), _applied(connection)
    _refuse_what_is_foreign(applied, migrations, file)
    return len(applied) == len(migrations) + 1 and applied[_VIEWS][1] == _views_text()[1]


def _applied(connection: duckdb.DuckDBPyConnection) -> dict[int, tuple[str, str]]:
    rows = connection.execute("SELECT number, name, sha256 FROM schema_migrations").fetchall()
    return {int(number): (str(name), str(sha256)) for number, name, sha256 in rows}


def _refuse_what_is_foreign(applied: dict[int, tuple[str, str]], migrations: list[Migration], file: str) -> None:
    known = {migration.number: migration for migration in migrations}
    newest = max(applied, default=0)
    if newest > len(migrations):
        raise WarehouseError(
            f"{file}: has version {newest} and this Sandgauge knows {len(migrations)} at most; "
            "use a newer Sandgauge, or another results folder"
        )
    for number, (name, sha256) in applied.items():
        if number != _VIEWS and known[number].sha256 != sha256:
            raise WarehouseError(
                f"{file}: migration {number:04d}_{name} has changed since it was applied; "
                "the file belongs to another Sandgauge, so use another results folder"
            )


def _apply(connection: duckdb.DuckDBPyConnection, number: int, name: str, text: str, sha256: str) -> None:
    def record() -> None:
        connection.execute("DELETE FROM schema_migrations WHERE number = ?", [number])
        connection.execute("INSERT INTO schema_migrations VALUES (?, ?, ?, now())", [number, name, sha256])

    _in_one(connection, text, record)


def _in_one(connection: duckdb.DuckDBPyConnection, text: str, record: Callable[[], None] = lambda: None) -> None:
    """Run a script and what records it in one transaction: all or nothing."""
    connection.execute("BEGIN")
    try:
        connection.execute(text)
        record()
        connection.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):  # what went wrong may have ended the transaction already
            connection.execute("ROLLBACK")
        raise


def _refresh_views(connection: duckdb.DuckDBPyConnection, before: str) -> None:
    text, sha256 = _views_text()
    if sha256 == before:
        return
    old = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    drops = "".join(f'DROP VIEW IF EXISTS "{name}";\n' for (name,) in old)
    _apply(connection, _VIEWS, "views", drops + text, sha256)


@cache
def _views_text() -> tuple[str, str]:
    """All views and published figures as one script, and its SHA-256."""
    text = "\n".join([*read_views().values(), published_script()])
    return text, hashlib.sha256(text.encode()).hexdigest()


def has_table(connection: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Whether a table exists."""
    query = "SELECT count(*) FROM duckdb_tables() WHERE table_name = ?"
    return cast(tuple[int], connection.execute(query, [table]).fetchone())[0] > 0
