"""The command line as a user meets it: exit codes, messages, and never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

GOOD = """\
name: tiny
title: A few sandboxes
matrix:
  cpu: [250m, 1]
groups:
  boxes: {count: 4, cpu: "{{ cpu }}", memory: 64Mi}
steps:
  - cleanup
  - load: {group: boxes, do: [create, resume, suspend], pacing: {in_flight: 2}}
checks:
  - {of: resume.failed, at_most: 0}
"""


def sandgauge(
    *arguments: str, cwd: Path = REPOSITORY, timeout: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", *arguments],
        cwd=cwd, env={**os.environ, **environment}, text=True, capture_output=True, timeout=timeout,
    )  # fmt: skip
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.yaml"
    file.write_text(GOOD)
    return file


def test_help_names_every_command() -> None:
    done = sandgauge("--help")
    assert done.returncode == 0
    for command in ("run", "plan", "validate", "report", "sql", "clean", "doctor"):
        assert command in done.stdout


def test_a_plan_touches_nothing(scenario: Path, tmp_path: Path) -> None:
    done = sandgauge("plan", str(scenario), "--on", "simulated", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [plan] = json.loads(done.stdout)
    assert plan["estimates"]["trials"] == 2
    assert plan["estimates"]["attempts_at_most"] == 2 * 4 * 3
    assert [trial["matrix"] for trial in plan["trials"]] == [{"cpu": "250m"}, {"cpu": 1}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.yaml"]


def test_bad_files_give_every_problem_with_its_place_and_exit_2(scenario: Path) -> None:
    scenario.write_text(GOOD.replace("count: 4", "count: four").replace("pacing", "paceing"))
    for command in ("validate", "plan", "run"):
        done = sandgauge(command, str(scenario), "--on", "simulated")
        assert done.returncode == 2
        assert "tiny.yaml:6:18: groups.boxes.count" in done.stderr
        assert "tiny.yaml:9:" in done.stderr and "pacing" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "densty"], "density"),
        (["run", "density", "--on", "simulatd"], "simulated"),
        (["run", "density", "--on", "simulated", "--set", "repetitons=2"], "repetitions"),
        (["run", "density", "--on", "simulated", "--set", "nonsense"], "path=value"),
        (["validate", "/nowhere/at/all.yaml"], "all.yaml"),
        (["validate", "/"], "/"),
        (["sql", "selec 1"], "holds no run yet"),
        (["report"], "holds no run yet"),
        (["report", "no-such-run"], "no-such-run"),
    ],
)
def test_a_mistake_gives_one_message_that_names_the_mend(arguments: list[str], part: str, tmp_path: Path) -> None:
    done = sandgauge(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert part in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.prefect
def test_run_sql_report_and_exit_codes(scenario: Path, tmp_path: Path, prefect_server: str) -> None:
    def run(*extra: str) -> subprocess.CompletedProcess[str]:
        return sandgauge(
            "run", str(scenario), "--on", "simulated", "--json", *extra, cwd=tmp_path, PREFECT_API_URL=prefect_server
        )

    done = run()
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["verdict"] == "valid"
    assert result["simulated"] is True
    assert Path(result["report"]).is_file()
    assert "SIMULATED" in Path(result["report"]).read_text().upper()

    scenario.write_text(GOOD.replace("resume.failed, at_most: 0", "resume.ok, at_least: 1000"))
    assert run().returncode == 1

    done = sandgauge("sql", "select count(*) as runs from runs", cwd=tmp_path)
    assert done.stdout.splitlines() == ["runs", "2"]
    done = sandgauge("sql", "selec 1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "selec" in done.stderr
    done = sandgauge("sql", "drop table runs", cwd=tmp_path)
    assert done.returncode == 2
    done = sandgauge("report", "--json", cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["run_id"] != result["run_id"]


@pytest.mark.slow
def test_a_run_without_a_server_leaves_no_traceback(scenario: Path, tmp_path: Path) -> None:
    done = sandgauge("run", str(scenario), "--on", "simulated", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout
    assert "report.html" in done.stdout.replace("\n", "")
    for noise in ("Error flushing", "CancelledError", "Exception", "WARNING"):
        assert noise not in done.stderr


def write_local(tmp_path: Path, cpu: str = "50m") -> list[str]:
    (tmp_path / "target.yaml").write_text(f"name: mine\nplatform: local\nstate_dir: {tmp_path}/state\n")
    return ["run", "density", "--on", "target.yaml", "--set", f"matrix.cpu=[{cpu}]"]


def wait_for_attempts(tmp_path: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(400):
        if any(file.stat().st_size for file in tmp_path.glob("results/runs/*/segments/attempts.ndjson")):
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    pytest.fail(f"no attempt was recorded: {process.communicate()}")


@pytest.mark.local
@pytest.mark.slow
@pytest.mark.parametrize("wait_s", [0.2, 2.1, 4.7])
def test_a_killed_run_is_cleaned_to_zero_and_its_rows_are_landed(tmp_path: Path, wait_s: float) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", *write_local(tmp_path)],
        cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for_attempts(tmp_path, run)
    time.sleep(wait_s)
    run.send_signal(signal.SIGKILL)
    run.wait()
    [segment] = tmp_path.glob("results/runs/*/segments/attempts.ndjson")
    recorded = segment.read_bytes().count(b"\n")

    done = sandgauge("clean", "target.yaml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [cleaned] = json.loads(done.stdout)
    assert len(cleaned["found"]["sandboxes"]) > 0
    assert not any(cleaned["left"].values())
    assert cleaned["landed"] == [segment.parts[-3]]
    state = str(tmp_path / "state")
    ours = [path for path in Path("/proc").glob("[0-9]*/cmdline") if state in _text(path)]
    assert ours == []
    assert state not in Path("/proc/self/mounts").read_text()

    done = sandgauge("sql", "select count(*) from attempts", cwd=tmp_path)
    assert done.stdout.splitlines()[1] == str(recorded)
    done = sandgauge("sql", "select verdict from run_verdicts", cwd=tmp_path)
    assert done.stdout.splitlines()[1] == "partial"
    done = sandgauge("clean", "target.yaml", "--json", cwd=tmp_path)
    [cleaned] = json.loads(done.stdout)
    assert not any(cleaned["found"].values())


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


@pytest.mark.local
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_ends_at_zero_and_keeps_its_rows(tmp_path: Path, number: signal.Signals) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", *write_local(tmp_path)],
        cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for_attempts(tmp_path, run)
    time.sleep(1)
    run.send_signal(number)
    out, err = run.communicate(timeout=90)
    assert "Traceback" not in out + err, err
    assert run.returncode in (3, 128 + number)
    assert "nothing is left" in err
    assert not list((tmp_path / "state" / "sandboxes").glob("*"))
    done = sandgauge("sql", "select outcome from runs", cwd=tmp_path)
    assert done.stdout.splitlines()[1] == "cancelled"


@pytest.mark.local
@pytest.mark.slow
def test_a_second_run_on_a_busy_target_is_refused_and_disturbs_nothing(tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "flows.cli", *write_local(tmp_path)]
    first = subprocess.Popen(arguments, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_attempts(tmp_path, first)
    for command in (arguments[3:], ["clean", "target.yaml"]):
        done = sandgauge(*command, cwd=tmp_path)
        assert done.returncode == 2
        assert str(first.pid) in done.stderr
    _, err = first.communicate(timeout=120)
    assert first.returncode == 0, err


def test_where_local_cannot_run_one_line_says_so(tmp_path: Path) -> None:
    target = tmp_path / "target.yaml"
    target.write_text("name: mine\nplatform: local\nrunsc: /nowhere/runsc\n")
    done = sandgauge("run", "density", "--on", str(target), cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "apt-get install runsc" in done.stderr


def test_doctor_names_what_is_missing_and_its_mend(tmp_path: Path) -> None:
    target = tmp_path / "target.yaml"
    target.write_text("name: mine\nplatform: local\nrunsc: /nowhere/runsc\n")
    done = sandgauge("doctor", "--on", str(target), "--json")
    assert done.returncode == 1
    findings = {finding["what"]: finding for finding in json.loads(done.stdout)}
    assert findings["runsc"]["well"] is False
    assert "apt-get install runsc" in findings["runsc"]["mend"]
    assert findings["python"]["well"] is True


def test_a_dead_prefect_server_is_told_at_once(scenario: Path, tmp_path: Path) -> None:
    done = sandgauge(
        "run", str(scenario), "--on", "simulated", cwd=tmp_path, PREFECT_API_URL="http://127.0.0.1:1/api", timeout=30
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "PREFECT_API_URL" in done.stderr


@pytest.mark.prefect
def test_a_results_path_that_is_a_file_is_told(scenario: Path, tmp_path: Path, prefect_server: str) -> None:
    (tmp_path / "results").write_text("")
    done = sandgauge("run", str(scenario), "--on", "simulated", cwd=tmp_path, PREFECT_API_URL=prefect_server)
    assert done.returncode == 2
    assert "results/runs" in done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for a few seconds of rows and for no warehouse."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.local
@pytest.mark.slow
@pytest.mark.prefect
def test_a_full_disk_keeps_nobody_from_ending_at_zero(tmp_path: Path, small_disk: Path, prefect_server: str) -> None:
    arguments = [*write_local(tmp_path, "250m"), "--results", str(small_disk / "results")]
    done = sandgauge(*arguments, cwd=tmp_path, PREFECT_API_URL=prefect_server)
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
    assert not list((tmp_path / "state" / "sandboxes").glob("*"))
    done = sandgauge("clean", "target.yaml", "--results", str(small_disk / "results"), "--json", cwd=tmp_path)
    [cleaned] = json.loads(done.stdout)
    assert not any(cleaned["found"].values())
    assert "No space left" in cleaned["trouble"]
    assert done.returncode == 3
