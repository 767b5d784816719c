"""A results folder: the warehouse and the runs beside it, landed before anyone asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warehouse.checks import answer_checks
from warehouse.sql import query
from warehouse.store import Warehouse, WarehouseError


def warehouse_file(results: Path) -> Path:
    """Where the warehouse of a results folder is."""
    return results / "warehouse.duckdb"


def land_leftovers(results: Path) -> list[str]:
    """Land every run whose segments hold rows that the warehouse lacks, and answer its checks; returns their ids.

    Raises:
        warehouse.store.WarehouseError: the warehouse cannot be opened; the segments stay.
    """
    if not (results / "runs").is_dir():
        return []
    with Warehouse.open(warehouse_file(results)) as warehouse:
        try:
            return [landed.run_id for landed in warehouse.land_all(results) if not landed.already]
        finally:
            for (run_id,) in warehouse.rows(query("unanswered_runs")):
                answer_checks(warehouse, run_id)


def newest_run(results: Path) -> str:
    """The id of the run that started last.

    Raises:
        warehouse.store.WarehouseError: there is no run.
    """
    _, rows = ask(results, "select run_id from runs order by started_at desc limit 1")
    if not rows:
        raise WarehouseError(f"{results}: holds no run yet; `sandgauge run density --on local` makes one")
    return str(rows[0][0])


def ask(results: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Land what is not landed yet, then ask the warehouse.

    Raises:
        warehouse.store.WarehouseError: it cannot be opened, or the query is wrong.
    """
    land_leftovers(results)
    if not warehouse_file(results).exists():
        raise WarehouseError(f"{results}: holds no run yet; `sandgauge run density --on local` makes one")
    with Warehouse.open(warehouse_file(results), read_only=True) as warehouse:
        return warehouse.query(sql)
