"""The published tests, whole and from YAML alone: on the model, and on real sandboxes with faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from specs.loading import builtin_names
from tests.flows.test_cli import _text, sandgauge, wait_for_attempts

NEW = sorted(set(builtin_names()) - {"density", "latency"})
STORM = ["snapshot-storm", "--set", "size=demo", "--set", "parameters.n=4", "--set", "parameters.megabytes=20"]
HOGS = """\
name: hogs
title: Neighbours that end
groups:
  victims: {count: 1, cpu: 250m, memory: 128Mi}
  hogs: {count: 2, cpu: 250m, memory: 128Mi, workload: cpu-hog, background: true}
steps:
  - cleanup
  - load: {group: victims, do: [create, resume]}
  - load: {group: hogs, do: [create, resume], hold: 1s}
  - load: {group: victims, do: [{exec: [sleep, "5"]}]}
checks:
  - {of: neighbours.stopped, at_most: 0}
"""


def asked(tmp_path: Path, query: str) -> list[dict[str, Any]]:
    done = sandgauge("sql", query, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def begin(tmp_path: Path, server: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a run on real sandboxes in a state folder of its own."""
    target = f"name: mine\nplatform: local\nstate_dir: {tmp_path}/state\nallocatable: {{cpu: 4}}\n"
    (tmp_path / "target.yaml").write_text(target)
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "run", *arguments, "--on", "target.yaml", "--json"],
        cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PREFECT_API_URL": server},
    )  # fmt: skip


def marked(tmp_path: Path, part: str) -> list[int]:
    """Processes that work in the state folder and have a text among their arguments."""
    texts = {int(path.parts[2]): _text(path) for path in Path("/proc").glob("[0-9]*/cmdline")}
    return [pid for pid, text in texts.items() if f"{tmp_path}/state" in text and part in text]


def until(condition: Callable[[], Any], run: subprocess.Popen[str], bound_s: float = 60.0) -> Any:
    deadline = time.monotonic() + bound_s
    while time.monotonic() < deadline and run.poll() is None:
        if found := condition():
            return found
        time.sleep(0.02)
    pytest.fail(f"it did not come to that: {run.communicate()}")


def ledger(tmp_path: Path) -> list[dict[str, Any]]:
    files = list(tmp_path.glob("results/runs/*/segments/snapshots.ndjson"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines() if line.endswith("}")]


@pytest.mark.slow
@pytest.mark.prefect
@pytest.mark.parametrize("name", NEW)
def test_each_test_runs_on_the_model_and_passes(name: str, tmp_path: Path, prefect_server: str) -> None:
    done = sandgauge(
        "run", name, "--on", "simulated", "--set", "size=demo", "--json", cwd=tmp_path, PREFECT_API_URL=prefect_server
    )
    result = json.loads(done.stdout)
    assert (done.returncode, result["verdict"]) == (0, "valid"), (result, done.stderr)
    assert set(result["answers"]) == {"pass"}
    page = Path(result["report"]).read_text()
    assert "SIMULATED" in page and "<svg" in page


@pytest.mark.slow
@pytest.mark.prefect
def test_a_suite_fills_every_row_of_its_table(tmp_path: Path, prefect_server: str) -> None:
    arguments = ["suite", "published-ax", "--on", "simulated", "--set", "size=demo", "--json"]
    done = sandgauge(*arguments, cwd=tmp_path, PREFECT_API_URL=prefect_server, timeout=200)
    result = json.loads(done.stdout)
    assert [run["scenario"] for run in result["runs"]] == [
        "density", "latency", "wake", "wake-burst", "control-plane", "noisy-neighbours", "snapshot-storm",
    ]  # fmt: skip
    assert result["failures"] == []
    page = Path(result["report"]).read_text()
    for row in result["rows"]:
        assert row["what"] in page
        # The model has no memory of a real node, and no component that would use a processor.
        if "memory of the node" not in row["what"] and "CPU of what controls" not in row["what"]:
            assert "withheld" not in row["this machine"], row
    suite_runs = {row["suite_run"] for row in asked(tmp_path, "select suite_run from runs")}
    assert suite_runs == {result["suite_run"]}


def test_a_suite_that_is_wrong_starts_nothing(tmp_path: Path) -> None:
    done = sandgauge("suite", "publshed-ax", cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean `published-ax`?" in done.stderr
    done = sandgauge("suite", "published-ax", "--set", "size=huge", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.local
@pytest.mark.slow
@pytest.mark.prefect
def test_an_uploader_that_is_killed_again_and_again_leaves_no_snapshot_behind(
    tmp_path: Path, prefect_server: str
) -> None:
    run = begin(
        tmp_path, prefect_server, *STORM, "--set", "parameters.upload_delay=1s", "--set", "parameters.restore=4"
    )
    killed = set()
    for _ in range(3):
        until(lambda: any(row["state"] == "uploading" for row in ledger(tmp_path)), run)
        for pid in until(lambda: marked(tmp_path, "tasks.snapshots.uploader"), run):
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        time.sleep(0.3)
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, (out, err)
    assert len(killed) >= 2
    [figures] = asked(tmp_path, "select snapshots, durable, lost, restored, restored_wrong from durability")
    assert figures == {"snapshots": 4, "durable": 4, "lost": 0, "restored": 4, "restored_wrong": 0}
    # Nothing was ever called durable before its manifest had been written.
    assert all(row["manifest_s"] <= row["durable_s"] for row in ledger(tmp_path) if row["state"] == "durable")
    assert marked(tmp_path, "") == []


@pytest.mark.local
@pytest.mark.slow
@pytest.mark.prefect
def test_a_run_that_is_killed_in_a_storm_is_cleaned_to_zero(tmp_path: Path, prefect_server: str) -> None:
    run = begin(tmp_path, prefect_server, *STORM, "--set", "parameters.upload_delay=1s")
    until(lambda: any(row["state"] == "uploading" for row in ledger(tmp_path)), run)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert marked(tmp_path, "-dir=")  # the server was left behind
    ports = json.loads((tmp_path / "state/store/ports.json").read_text())
    done = sandgauge("clean", "target.yaml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [cleaned] = json.loads(done.stdout)
    assert cleaned["found"]["processes"] and cleaned["found"]["objects"]
    assert not any(cleaned["left"].values())
    assert marked(tmp_path, "") == []
    assert not (tmp_path / "state/store").exists()
    assert not [socket for port in ports.values() for socket in Path("/tmp").glob(f"seaweedfs-*{port}.sock")]
    states = {row["state"] for row in asked(tmp_path, "select distinct state from snapshots")}
    assert states <= {"local_only", "uploading", "durable"}


@pytest.mark.local
@pytest.mark.slow
@pytest.mark.prefect
@pytest.mark.parametrize(("number", "word"), [(signal.SIGKILL, "ended"), (signal.SIGSTOP, "stopped loading")])
def test_a_neighbour_that_stops_loading_contaminates_the_run(
    tmp_path: Path, prefect_server: str, number: signal.Signals, word: str
) -> None:
    (tmp_path / "hogs.yaml").write_text(HOGS)
    run = begin(tmp_path, prefect_server, "hogs.yaml")
    wait_for_attempts(tmp_path, run)

    def hog() -> list[Path]:
        homes = list(tmp_path.glob("state/sandboxes/*-hogs-00000/containers/*"))
        segment = next(iter(tmp_path.glob("results/runs/*/segments/steps.ndjson")), None)
        measuring = segment is not None and '"step":3' in segment.read_text().replace(" ", "")
        return homes if measuring else []

    [container] = until(hog, run)
    time.sleep(0.5)
    groups = [f"{version}sandgauge-*/{container.name}/cgroup.procs" for version in ("memory/", "")]  # v1, v2
    for _ in range(3):  # a process of a sandbox may be traced by another, which lets it go on until it is stopped too
        for file in [file for group in groups for file in Path("/sys/fs/cgroup").glob(group)]:
            for pid in file.read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), number)
        time.sleep(0.1)
    out, err = run.communicate(timeout=90)
    result = json.loads(out)
    assert run.returncode == 3, (out, err)
    assert result["verdict"] == "contaminated"
    assert "hogs" in result["verdict_reason"] and word in result["verdict_reason"]
    assert result["answers"] == {"pass": 1, "fail": 1}
    assert marked(tmp_path, "") == []


@pytest.mark.local
@pytest.mark.slow
@pytest.mark.prefect
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_in_a_row_while_the_store_starts_end_at_zero(
    tmp_path: Path, prefect_server: str, number: signal.Signals
) -> None:
    run = begin(tmp_path, prefect_server, *STORM)
    until(lambda: (tmp_path / "state/store").exists(), run)
    time.sleep(0.6)
    for _ in range(3):
        run.send_signal(number)
        time.sleep(0.2)
    out, err = run.communicate(timeout=60)
    assert "Traceback" not in out + err, err
    assert run.returncode == 128 + number, err
    assert "nothing is left running" in err
    assert marked(tmp_path, "") == []
    assert not (tmp_path / "state/store").exists()
