"""Reporting: a landed run becomes a page, charts, and artifacts in Prefect."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import task
from prefect.artifacts import acreate_link_artifact, acreate_table_artifact
from prefect.cache_policies import NO_CACHE

from warehouse.results import warehouse_file
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to.

    Attributes:
        answers: how many checks got which answer.
        summary: the rows of the summary table, as text with units.
    """

    run_id: str
    scenario: str
    target: str
    simulated: bool
    verdict: str
    verdict_reason: str
    headline: str
    answers: dict[str, int]
    summary: list[dict[str, str]]
    report: str
    warehouse: str

    @property
    def exit_code(self) -> int:
        """3 when the figures may not be used, 1 when a check did not pass, else 0."""
        if self.verdict != "valid":
            return 3
        return 1 if self.answers.get("fail", 0) + self.answers.get("insufficient", 0) else 0


def report(results: Path, run_id: str) -> RunResult:
    """Write the page and charts of a landed run, and sum it up.

    Raises:
        warehouse.store.WarehouseError: the warehouse cannot be opened, or has no such run.
    """
    from warehouse.report import write_report
    from warehouse.summary import run_verdict, summary_headline, summary_rows

    with Warehouse.open(warehouse_file(results)) as warehouse:
        page = write_report(warehouse, run_id, results / "runs" / run_id)
        verdict, reason = run_verdict(warehouse, run_id)
        scenario, target, simulated = warehouse.one(
            "select scenario, target, simulated from runs where run_id = ?", [run_id]
        )
        answers = warehouse.rows("select answer, count(*) from checks where run_id = ? group by all", [run_id])
        return RunResult(
            run_id=run_id, scenario=scenario, target=target, simulated=simulated,
            verdict=verdict, verdict_reason=reason, headline=summary_headline(warehouse, run_id),
            answers=dict(answers), summary=summary_rows(warehouse, run_id),
            report=str(page.resolve()), warehouse=str(warehouse_file(results).resolve()),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """What a pass through a suite came to.

    Attributes:
        rows: the rows of its table, as text with units.
        failures: scenarios that gave no result, and why.
    """

    suite: str
    suite_run: str
    target: str
    runs: list[RunResult]
    rows: list[dict[str, str]]
    failures: list[str]
    report: str
    warehouse: str

    @property
    def exit_code(self) -> int:
        """3 when the figures of a run may not be used or are missing, 1 when a check did not pass, else 0."""
        if self.failures:
            return 3
        return max((run.exit_code for run in self.runs), default=3)


@task(name="report of the suite", cache_policy=NO_CACHE, persist_result=False)
async def report_suite(
    results: Path, suite_run: str, target: str, table: dict[str, Any], runs: list[RunResult], failures: list[str]
) -> SuiteResult:
    """Write the page of a pass through a suite, and leave its table and a link to it as artifacts."""
    import asyncio

    page, rows = await asyncio.to_thread(_write_suite, results, suite_run, table)
    key = f"sandgauge-{table['name']}-{target}"
    described = f"{len(runs)} runs on {target}"
    plain: list[dict[str, Any]] = [dict(row) for row in rows]
    await acreate_table_artifact(table=plain, key=key, description=described)
    await acreate_link_artifact(
        link=page.as_uri(), link_text=f"Report of {suite_run}", key=f"{key}-report", description=described
    )
    return SuiteResult(
        table["name"], suite_run, target, runs, rows, failures, str(page), str(warehouse_file(results).resolve())
    )  # fmt: skip


def _write_suite(results: Path, suite_run: str, table: dict[str, Any]) -> tuple[Path, list[dict[str, str]]]:
    from warehouse.suite import write_suite

    with Warehouse.open(warehouse_file(results)) as warehouse:
        page, rows = write_suite(warehouse, suite_run, table, results / "suites" / suite_run)
        return page.resolve(), rows


@task(name="report", cache_policy=NO_CACHE, persist_result=False)
async def report_run(results: Path, run_id: str) -> RunResult:
    """Write the report of a run, and leave its summary and a link to it as artifacts."""
    import asyncio

    result = await asyncio.to_thread(report, results, run_id)
    key = f"sandgauge-{result.scenario}-{result.target}"
    table: list[dict[str, Any]] = [dict(row) for row in result.summary]
    await acreate_table_artifact(table=table, key=key, description=f"{result.verdict}: {result.headline}")
    await acreate_link_artifact(
        link=Path(result.report).as_uri(), link_text=f"Report of {run_id}", key=f"{key}-report",
        description=f"{result.verdict}: {result.headline}",
    )  # fmt: skip
    return result
