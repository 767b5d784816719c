from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from warehouse.store import Warehouse


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture(scope="session")
def _opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with Warehouse.open(tmp_path_factory.mktemp("shared") / "warehouse.duckdb") as opened:
        yield opened


@pytest.fixture
def warehouse(_opened: Warehouse) -> Iterator[Warehouse]:
    """An empty warehouse; always the same one, emptied, since making and closing one takes longer than most tests."""
    yield _opened
    tables = _opened.rows(
        "SELECT table_name FROM duckdb_tables() WHERE table_name NOT IN ('schema_migrations', 'reference')"
    )
    for (table,) in tables:
        _opened.change(f"DELETE FROM {table}", [[]])
