from __future__ import annotations

from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from warehouse.migrating import read_views
from warehouse.rows import KEYS, TABLES
from warehouse.store import Warehouse


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_the_columns_of_its_rows(warehouse: Warehouse, table: str) -> None:
    columns = warehouse.rows(
        "SELECT column_name FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", [table]
    )
    assert [name for (name,) in columns] == [field.name for field in fields(TABLES[table])]


@pytest.mark.parametrize("table", TABLES)
def test_what_a_row_may_lack_may_be_null(warehouse: Warehouse, table: str) -> None:
    rows = warehouse.rows("SELECT column_name, is_nullable FROM duckdb_columns() WHERE table_name = ?", [table])
    may_lack = {name for name, kind in get_type_hints(TABLES[table]).items() if type(None) in get_args(kind)}
    assert {name for name, nullable in rows if nullable} == may_lack


@pytest.mark.parametrize("table", TABLES)
def test_a_column_has_the_type_of_its_field(warehouse: Warehouse, table: str) -> None:
    types = dict(warehouse.rows("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ?", [table]))
    for name, hint in get_type_hints(TABLES[table]).items():
        [kind] = [part for part in get_args(hint) if part is not type(None)] if type(None) in get_args(hint) else [hint]
        time = "TIMESTAMP WITH TIME ZONE" if name in ("started_at", "ended_at") else "VARCHAR"
        assert types[name] == {str: time, int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}.get(kind, "JSON"), name


@pytest.mark.parametrize("table", KEYS)
def test_keys_are_columns_that_every_row_has(warehouse: Warehouse, table: str) -> None:
    rows = warehouse.rows("SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND NOT is_nullable", [table])
    assert set(KEYS[table]) <= {name for (name,) in rows}


def test_every_table_view_and_column_says_what_it_is(warehouse: Warehouse) -> None:
    silent = warehouse.rows("""
        SELECT table_name, '' FROM duckdb_tables() WHERE comment IS NULL
        UNION ALL SELECT view_name, '' FROM duckdb_views() WHERE NOT internal AND comment IS NULL
        UNION ALL SELECT table_name, column_name FROM duckdb_columns()
        WHERE comment IS NULL AND table_name IN (SELECT table_name FROM duckdb_tables())
    """)
    assert silent == []


@pytest.mark.parametrize("table", TABLES)
def test_times_and_sizes_name_their_unit(warehouse: Warehouse, table: str) -> None:
    rows = warehouse.rows("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ?", [table])
    types = dict(rows)
    assert all(kind == "DOUBLE" for name, kind in types.items() if name.endswith("_s"))
    assert all(kind == "TIMESTAMP WITH TIME ZONE" for name, kind in types.items() if name in ("started_at", "ended_at"))


def test_every_view_states_its_grain_and_answers_on_an_empty_warehouse(warehouse: Warehouse) -> None:
    made = {name for (name,) in warehouse.rows("SELECT view_name FROM duckdb_views() WHERE NOT internal")}
    texts = read_views()
    assert made == {name for name, text in texts.items() if "CREATE OR REPLACE VIEW" in text}
    for name in made:
        assert texts[name].startswith("-- Grain: "), name
        assert warehouse.rows(f"SELECT * FROM {name}") == []
