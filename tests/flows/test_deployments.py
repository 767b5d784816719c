"""Deployments on a real Prefect server, picked up by a real worker."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest
from ruamel.yaml import YAML

from flows.requests import RunRequest
from flows.run_suite import SuiteRequest
from specs.loading import builtin_names
from tests.conftest import PREFECT, REPOSITORY

pytestmark = [pytest.mark.prefect, pytest.mark.slow]

DEPLOYMENTS = YAML(typ="safe").load((REPOSITORY / "prefect.yaml").read_text())["deployments"]


def test_every_built_in_scenario_has_a_deployment_that_would_plan() -> None:
    """Prefect ignores what it does not know in prefect.yaml, so the file is tested here."""
    known = {
        "name", "entrypoint", "description", "parameters", "work_pool", "concurrency_limit", "enforce_parameter_schema",
    }  # fmt: skip
    scenarios, suites = set(), set()
    for deployment in DEPLOYMENTS:
        assert set(deployment) <= known, deployment["name"]
        file, function = deployment["entrypoint"].split(":")
        assert re.search(rf"^async def {function}\(", (REPOSITORY / file).read_text(), re.MULTILINE)
        request = deployment["parameters"].get("request", {})
        if "scenario" in request:
            scenarios.add(RunRequest.model_validate(request).plan().document.name)
        if "suite" in request:
            suites.add(SuiteRequest.model_validate(request).load().file.name)
    assert scenarios == set(builtin_names("scenarios"))
    assert suites == set(builtin_names("suites"))


class Server:
    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=f"{url}/", timeout=30)

    def post(self, path: str, **body: Any) -> Any:
        answer = self.http.post(path, json=body)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def start(self, deployment: str, **request: Any) -> str:
        found = self.http.get(f"deployments/name/{deployment}").raise_for_status().json()
        run = self.post(f"deployments/{found['id']}/create_flow_run", parameters={"request": request})
        return str(run["id"])

    def run(self, flow_run: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.http.get(f"flow_runs/{flow_run}").raise_for_status().json()
        return answer

    def wait(self, flow_run: str, *states: str, seconds: int = 120) -> dict[str, Any]:
        for _ in range(seconds * 4):
            run = self.run(flow_run)
            if run["state_type"] in states:
                return run
            time.sleep(0.25)
        pytest.fail(f"the flow run is {run['state_type']} after {seconds} s: {run['state']}")

    def task_names(self, flow_run: str) -> list[str]:
        runs = self.post("task_runs/filter", flow_runs={"id": {"any_": [flow_run]}}, sort="EXPECTED_START_TIME_ASC")
        return [run["name"] for run in runs]

    def artifacts(self, flow_run: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.post("artifacts/filter", flow_runs={"id": {"any_": [flow_run]}})
        return found


@pytest.fixture(scope="module")
def server(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server with the repository's deployments, and a worker that runs them."""
    environment = {**os.environ, "PREFECT_API_URL": prefect_server}

    def prefect(*arguments: str) -> None:
        subprocess.run(
            [*PREFECT, *arguments], cwd=REPOSITORY, env=environment, check=True, capture_output=True, timeout=120
        )

    prefect("work-pool", "create", "sandgauge", "--type", "process")
    prefect("--no-prompt", "deploy", "--all")
    log = tmp_path_factory.mktemp("worker") / "log.txt"
    with log.open("w") as out:
        worker = subprocess.Popen(
            [*PREFECT, "worker", "start", "--pool", "sandgauge", "--name", "test"],
            cwd=REPOSITORY, env={**environment, "PREFECT_WORKER_QUERY_SECONDS": "1"}, stdout=out, stderr=out,
        )  # fmt: skip
    try:
        yield Server(prefect_server)
    finally:
        worker.terminate()
        worker.wait(timeout=60)
        print(log.read_text()[-4000:])


def query(results: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(results / "warehouse.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_a_deployment_runs_to_rows_artifacts_and_a_report(server: Server, tmp_path: Path) -> None:
    flow_run = server.start(
        "run-scenario/density-demo", scenario="density", target="simulated", size="demo", results=str(tmp_path)
    )
    run = server.wait(flow_run, "COMPLETED", "FAILED", "CRASHED")
    assert run["state_type"] == "COMPLETED", run["state"]
    assert run["name"] == "density (demo) on simulated"
    names = server.task_names(flow_run)
    assert "trial 1: cleanup" in names
    assert any(name.startswith("trial 2: idle: create, resume") for name in names)
    assert len(names) < 20  # a task a step, never one a call
    artifacts = {artifact["type"]: artifact for artifact in server.artifacts(flow_run)}
    assert json.loads(artifacts["table"]["data"])
    [(run_id, outcome, recorded)] = query(tmp_path, "select run_id, outcome, flow_run_id from runs")
    assert (outcome, recorded) == ("finished", flow_run)
    report = tmp_path / "runs" / run_id / "report.html"
    assert report.is_file()
    assert report.resolve().as_uri() in artifacts["markdown"]["data"]


def test_the_form_of_a_deployment_is_checked_before_anything_starts(server: Server) -> None:
    with pytest.raises(httpx.HTTPStatusError) as refused:
        server.start("run-scenario/density", scenario="density", tarqet="local")
    assert refused.value.response.status_code in (409, 422)


def test_bad_input_fails_with_the_place_and_starts_nothing(server: Server, tmp_path: Path) -> None:
    scenario = tmp_path / "bad.yaml"
    scenario.write_text("name: bad\ntitle: Bad\nsteps: []\n")
    flow_run = server.start("run-scenario/density", scenario=str(scenario), target="simulated", results=str(tmp_path))
    run = server.wait(flow_run, "FAILED", "CRASHED", "COMPLETED")
    assert run["state_type"] == "FAILED"
    assert "bad.yaml:" in run["state"]["message"]
    assert not (tmp_path / "runs").exists()


@pytest.mark.local
def test_cancelling_ends_at_zero_and_keeps_the_rows(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "target.yaml"
    target.write_text(f"name: cancelled\nplatform: local\nstate_dir: {tmp_path}/state\n")
    flow_run = server.start("run-scenario/density", scenario="density", target=str(target), results=str(tmp_path))
    segment_files = tmp_path / "runs"
    for _ in range(240):
        if any(file.stat().st_size for file in segment_files.glob("*/segments/attempts.ndjson")):
            break
        time.sleep(0.25)
    server.post(f"flow_runs/{flow_run}/set_state", state={"type": "CANCELLING"}, force=False)
    server.wait(flow_run, "CANCELLED", "CRASHED", "FAILED")
    assert not list(Path(tmp_path / "state" / "sandboxes").glob("*"))
    [(outcome, attempts)] = query(tmp_path, "select outcome, (select count(*) from attempts) from runs")
    assert outcome == "cancelled"
    assert attempts > 0
    left = query(tmp_path, "select kind, count from inventory where moment = 'end'")
    assert left
    assert all(count == 0 for _, count in left)
