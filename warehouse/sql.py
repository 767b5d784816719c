"""The queries of `queries/`, by name. What many ask is a view instead, in `views/`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warehouse.store import Warehouse


@cache
def query(name: str) -> str:
    """The text of `queries/NAME.sql`."""
    return (files("warehouse") / "queries" / f"{name}.sql").read_text()


def holdings(warehouse: Warehouse, run_id: str) -> frozenset[str]:
    """What a run's rows hold; DuckDB takes longer to plan a view than to answer this, so ask before asking views."""
    return frozenset(name for (name,) in warehouse.rows(query("holdings"), {"run_id": run_id}))
