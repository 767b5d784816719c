from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.warehouse.segments import whole_run
from warehouse.errors import WarehouseError
from warehouse.migrating import Migration, migrate, read_migrations, read_views
from warehouse.rows import TABLES
from warehouse.store import Warehouse


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def with_another(text: str = "ALTER TABLE runs ADD COLUMN tag VARCHAR DEFAULT 'none'") -> list[Migration]:
    migrations = read_migrations()
    return [*migrations, Migration(len(migrations) + 1, "more", text)]


def count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row
    return int(row[0])


def tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}


# Files in the field have had these. Once one is released, add a migration instead of editing it.
KNOWN = {
    1: "da705d49551576d9daf2ca0206f911aa407b7c3e6336a0e33900090c71ff8d65",
    2: "50cc5e754b5bfe7278d0036481a14520aa373a6f6e987d276c308afb219444ec",
}


def test_no_migration_was_edited() -> None:
    assert {migration.number: migration.sha256 for migration in read_migrations()} == KNOWN


def test_a_fresh_file_has_every_migration_once(connection: duckdb.DuckDBPyConnection) -> None:
    for _ in range(2):
        migrate(connection, "file", with_another())
        numbers = connection.execute("SELECT number FROM schema_migrations ORDER BY number").fetchall()
        assert numbers == [(0,), (1,), (2,), (3,)]
    assert {*TABLES, "checks", "landed_segments", "reference", "schema_migrations"} == tables(connection)


def test_several_migrations_are_applied_in_order_from_any_version(connection: duckdb.DuckDBPyConnection) -> None:
    first = Migration(1, "first", "CREATE TABLE old (x BIGINT); INSERT INTO old VALUES (1), (2)")
    others = [
        Migration(2, "second", "ALTER TABLE old ADD COLUMN y BIGINT; UPDATE old SET y = x * 10"),
        Migration(3, "third", "ALTER TABLE old RENAME TO renamed"),
    ]
    views = {"v": "CREATE OR REPLACE VIEW v AS SELECT 1 AS one;"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warehouse.migrating._views_text", lambda: (views["v"], "views"))
        migrate(connection, "file", [first])
        migrate(connection, "file", [first, *others])
        migrate(connection, "file", [first, *others])
    assert connection.execute("SELECT x, y FROM renamed ORDER BY x").fetchall() == [(1, 10), (2, 20)]


def test_views_are_made_anew_when_their_text_changes(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(connection, "file")
    text = "CREATE OR REPLACE VIEW fresh AS SELECT run_id FROM runs;"
    monkeypatch.setattr("warehouse.migrating._views_text", lambda: (text, "another"))
    migrate(connection, "file")
    views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    assert views == [("fresh",)]


def test_views_that_cannot_be_made_leave_the_old_ones(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(connection, "file")
    monkeypatch.setattr("warehouse.migrating._views_text", lambda: ("CREATE VIEW x AS SELECT nonsense", "another"))
    with pytest.raises(duckdb.Error):
        migrate(connection, "file")
    assert connection.execute("SELECT * FROM run_summary").fetchall() == []


def test_an_older_file_is_upgraded_and_loses_nothing(results: Path) -> None:
    path = results / "warehouse.duckdb"
    with Warehouse.open(path) as warehouse:
        warehouse.land(whole_run().attempt().write(results))
    with duckdb.connect(str(path)) as connection:
        migrate(connection, str(path), with_another())
        assert connection.execute("SELECT run_id, tag FROM runs").fetchall() == [("20261130-120000-test-abcd", "none")]
        assert count(connection, "SELECT count(*) FROM attempts") == 1
        assert count(connection, "SELECT count(*) FROM latency") == 1


def test_an_older_file_is_upgraded_also_by_one_who_only_reads(results: Path) -> None:
    path = results / "warehouse.duckdb"
    with Warehouse.open(path) as warehouse:
        warehouse.land(whole_run().attempt().write(results))
        warehouse.change("UPDATE schema_migrations SET sha256 = 'other' WHERE number = ?", [[0]])
        warehouse.change("DROP VIEW latency", [[]])
    with Warehouse.open(path, read_only=True) as warehouse:
        assert len(warehouse.rows("SELECT * FROM latency")) == 1


def test_a_newer_file_is_refused(results: Path) -> None:
    path = results / "warehouse.duckdb"
    results.mkdir()
    with duckdb.connect(str(path)) as connection:
        migrate(connection, str(path), with_another())
    for read_only in (False, True):
        with pytest.raises(WarehouseError, match=r"has version \d+ and this Sandgauge knows \d+ at most"):
            Warehouse.open(path, read_only=read_only)


def test_a_migration_edited_after_it_was_applied_is_refused(connection: duckdb.DuckDBPyConnection) -> None:
    migrate(connection, "file", with_another())
    with pytest.raises(WarehouseError, match="_more has changed since it was applied"):
        migrate(connection, "file", with_another("SELECT 1"))


def test_a_migration_that_fails_leaves_no_trace(connection: duckdb.DuckDBPyConnection) -> None:
    migrate(connection, "file")
    with pytest.raises(duckdb.Error):
        migrate(connection, "file", with_another("CREATE TABLE half (x BIGINT); SELECT nonsense"))
    assert count(connection, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'half'") == 0
    migrate(connection, "file", with_another())


@pytest.mark.parametrize(
    "names", [["0001_a.sql", "0003_b.sql"], ["0001_a.sql", "0001_b.sql"], ["0002_a.sql"], ["1_a.sql"], ["0001-a.sql"]]
)
def test_gaps_doubles_and_wrong_names_are_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("SELECT 1")
    with pytest.raises(WarehouseError, match=r"number|name it"):
        read_migrations(tmp_path)


def test_views_come_after_those_that_they_read(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("CREATE OR REPLACE VIEW a AS SELECT * FROM b")
    (tmp_path / "b.sql").write_text("CREATE OR REPLACE VIEW b AS SELECT 1 AS x")
    assert list(read_views(tmp_path)) == ["b", "a"]
    (tmp_path / "b.sql").write_text("CREATE OR REPLACE VIEW b AS SELECT * FROM a")
    with pytest.raises(WarehouseError, match="circle"):
        read_views(tmp_path)
