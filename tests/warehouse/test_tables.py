from __future__ import annotations

from dataclasses import fields

import pytest

from warehouse.migrating import read_views
from warehouse.rows import TABLES
from warehouse.store import Warehouse


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_the_columns_of_its_rows(warehouse: Warehouse, table: str) -> None:
    columns = warehouse.rows(
        "SELECT column_name FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", [table]
    )
    assert [name for (name,) in columns] == [field.name for field in fields(TABLES[table])]


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
