from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from warehouse.store import Warehouse


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture(scope="session")
def _empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "warehouse.duckdb"
    Warehouse.open(path).close()
    return path


@pytest.fixture
def warehouse(results: Path, _empty: Path) -> Iterator[Warehouse]:
    """An empty warehouse; a copy, since making one anew takes ten times as long."""
    results.mkdir()
    shutil.copy(_empty, results / "warehouse.duckdb")
    with Warehouse.open(results / "warehouse.duckdb") as opened:
        yield opened
