"""A suite as a flow: its scenarios one after the other on one target, and one page for all.

A scenario that fails its checks, or that could not be used, does not keep the others from being
run: its rows in the table say what is missing.
"""

from __future__ import annotations

from prefect import flow
from pydantic import Field

from flows.requests import InSuite, Request, RunRequest
from flows.run_scenario import run_scenario
from specs.suites import Suite, load_suite
from tasks.cleanup import NotClean
from tasks.engine.recorder import RecordingError
from tasks.reporting import RunResult, SuiteResult, report_suite
from tasks.session import new_run_id
from warehouse.errors import WarehouseError


class SuiteRequest(Request):
    """One suite on one target."""

    suite: str = Field(
        default="published-ax", title="Suite", description="name of a built-in suite, or path of a YAML file"
    )

    def load(self) -> Suite:
        """Read the suite and its scenarios.

        Raises:
            specs.errors.SpecError: with every problem found.
        """
        return load_suite(self.suite, self.all_overrides)

    def requests(self, suite: Suite, suite_run: str) -> list[RunRequest]:
        """The run of each scenario."""
        return [
            RunRequest(
                scenario=name, target=self.target, size=self.size, overrides=self.overrides, results=self.results,
                suite=InSuite(name=suite.file.name, suite_run=suite_run),
            )
            for name in suite.file.scenarios
        ]  # fmt: skip


@flow(name="run-suite", flow_run_name="{request.suite} on {request.target}", persist_result=False, retries=0)
async def run_suite(request: SuiteRequest) -> SuiteResult:
    """Run every scenario of a suite, and write its page.

    Raises:
        specs.errors.SpecError: the suite, a scenario or the target cannot be used; nothing was started.
        tasks.platforms.base.Unavailable: the platform cannot run here.
    """
    suite = request.load()
    suite_run = new_run_id(suite.file.name)
    requests = request.requests(suite, suite_run)
    target = [each.plan().target.name for each in requests][-1]
    results: list[RunResult] = []
    failures: list[str] = []
    for each in requests:
        try:
            results.append(await run_scenario(each))
        except (NotClean, RecordingError, WarehouseError) as error:
            failures.append(f"{each.scenario}: {error}")
    table = {**suite.file.model_dump(include={"name", "title", "description", "reference"}), "figures": suite.rows()}
    return await report_suite(request.results, suite_run, target, table, results, failures)
