from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from warehouse.store import Warehouse


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def warehouse(results: Path) -> Iterator[Warehouse]:
    with Warehouse.open(results / "warehouse.duckdb") as opened:
        yield opened
