"""Landing: a run's segments become rows of the warehouse, and its checks get their answers."""

from __future__ import annotations

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from warehouse.checks import answer_checks
from warehouse.results import warehouse_file
from warehouse.store import Warehouse


def land(results: Path, run_id: str) -> None:
    """Land one run, and answer its checks.

    Raises:
        warehouse.store.WarehouseError: the warehouse cannot be opened; the segments stay.
    """
    with Warehouse.open(warehouse_file(results)) as warehouse:
        warehouse.land(results / "runs" / run_id)
        answer_checks(warehouse, run_id)


@task(name="land", cache_policy=NO_CACHE, persist_result=False)
def land_run(results: Path, run_id: str) -> None:
    """Commit a run's rows to the warehouse."""
    land(results, run_id)
