"""What a kill, a full disk, a shell or a wrong file does to a warehouse: it costs time or a message, never rows."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.warehouse.published_runs import neighbours_run, storm_run, wake_run
from tests.warehouse.segments import RunMaker, latency_run, whole_run
from warehouse.migrating import read_views
from warehouse.store import Warehouse, WarehouseError

REPOSITORY = Path(__file__).parents[2]


def python(program: str, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY,
    )  # fmt: skip


def message_of(path: Path, *, read_only: bool = False, wait_s: float = 5) -> str:
    with pytest.raises(WarehouseError) as caught:
        Warehouse.open(path, read_only=read_only, wait_s=wait_s)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


LAND_OVER_AND_OVER = """
    import sys
    from pathlib import Path
    from warehouse.store import Warehouse
    results = Path(sys.argv[1])
    sys.stdin.readline()
    while True:
        with Warehouse.open(results / "warehouse.duckdb") as warehouse:
            warehouse.land_all(results)
            for table in ("landed_segments", "attempts", "samples"):
                warehouse.change(f"DELETE FROM {table} WHERE run_id <> ?", [[""]])
"""


def test_a_kill_at_any_moment_of_landing_costs_no_row(results: Path) -> None:
    latency_run().write(results)
    path, random_ = results / "warehouse.duckdb", random.Random(5)
    processes = [python(LAND_OVER_AND_OVER, results) for _ in range(10)]  # each imports while others work
    for number, process in enumerate(processes):
        if number % 3 == 0:
            path.unlink(missing_ok=True)  # killed while the file is made, too
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(random_.random() * 0.15)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        with Warehouse.open(path, wait_s=1) as warehouse:
            warehouse.land_all(results)
            assert warehouse.one("SELECT count(*), count(DISTINCT attempt) FROM attempts") == (532, 532)
            assert warehouse.one("SELECT count(*) FROM runs") == (1,)
            assert warehouse.one("SELECT count(*) FROM landed_segments") == (8,)


HOLD = """
    import sys, time, duckdb
    connection = duckdb.connect(sys.argv[1])
    print("open", flush=True)
    time.sleep(1.5)
"""


def test_a_shell_that_closes_the_file_in_time_is_waited_for(results: Path) -> None:
    run_dir = whole_run().attempt().write(results)
    path = results / "warehouse.duckdb"
    Warehouse.open(path).close()
    shell = python(HOLD, path)
    assert shell.stdout
    assert shell.stdout.readline() == "open\n"
    began = time.monotonic()
    with Warehouse.open(path, wait_s=20) as warehouse:
        assert time.monotonic() - began > 1
        assert warehouse.land(run_dir).rows["attempts"] == 1
    assert shell.wait(timeout=10) == 0


ASK_EVERY_VIEW = """
    import sys, duckdb
    connection = duckdb.connect(sys.argv[1])
    for view in sys.argv[2:]:
        print(view, len(connection.execute(f"SELECT * FROM {view}").fetchall()))
"""


def test_every_view_answers_in_plain_duckdb(results: Path) -> None:
    with Warehouse.open(results / "warehouse.duckdb") as warehouse:
        for made in (latency_run(), wake_run(), neighbours_run(), storm_run()):
            warehouse.land(made.write(results))
    views = [name for name, text in read_views().items() if "REPLACE VIEW" in text]
    out, error = python(ASK_EVERY_VIEW, results / "warehouse.duckdb", *views).communicate(timeout=30)
    assert error == ""
    answers = {name: int(rows) for name, rows in (line.split() for line in out.splitlines())}
    assert set(answers) == set(views)
    empty = {"density", "density_ceiling"}
    assert {name for name, rows in answers.items() if rows == 0} == empty


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM runs", "CREATE TABLE mine (x BIGINT)", "UPDATE runs SET title = 'mine'", "LOAD httpfs",
        "ATTACH 'https://127.0.0.1:1/x.duckdb'", "SELECT * FROM 'https://127.0.0.1:1/x.csv'",
        "ATTACH 'dbname=x' AS x (TYPE postgres)",
    ],
)  # fmt: skip
def test_a_reader_changes_nothing_and_reaches_no_network(results: Path, sql: str) -> None:
    with Warehouse.open(results / "warehouse.duckdb") as warehouse:
        warehouse.land(whole_run().write(results))
    began = time.monotonic()
    with Warehouse.open(results / "warehouse.duckdb", read_only=True) as warehouse, pytest.raises(WarehouseError):
        warehouse.query(sql)
    assert time.monotonic() - began < 2
    with Warehouse.open(results / "warehouse.duckdb", read_only=True) as warehouse:
        assert warehouse.rows("SELECT title FROM runs") == [("What comes of it?",)]


def test_a_file_that_is_not_there_cannot_be_read_and_leaves_no_trace(results: Path) -> None:
    assert "there is no such file" in message_of(results / "warehouse.duckdb", read_only=True)
    assert not results.exists()


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "warehouse.duckdb").mkdir()
    message_of(tmp_path / "warehouse.duckdb")
    message_of(tmp_path / "warehouse.duckdb", read_only=True)


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("mine")
    message_of(tmp_path / "results" / "warehouse.duckdb")
    assert (tmp_path / "results").read_text() == "mine"


def test_a_folder_that_cannot_be_written() -> None:
    message_of(Path("/proc/results/warehouse.duckdb"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"cannot mount here: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_disk_that_is_full_before_the_file_is_made(small_disk: Path) -> None:
    path = small_disk / "warehouse.duckdb"
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(bytes(4 << 20))
    message_of(path)
    filler.unlink()
    Warehouse.open(path).close()


def test_a_disk_that_fills_while_landing(small_disk: Path, tmp_path: Path) -> None:
    run_dir = latency_run().write(tmp_path / "results")
    before = (run_dir / "segments" / "attempts.ndjson").read_bytes()
    path = small_disk / "warehouse.duckdb"
    Warehouse.open(path).close()
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(bytes(4 << 20))
    with pytest.raises(WarehouseError) as caught, Warehouse.open(path) as warehouse:
        warehouse.land(run_dir)
    assert f"its rows stay in {run_dir}/segments" in str(caught.value)
    filler.unlink()
    (run_dir / "segments" / "samples.ndjson").unlink()  # the disk stays small
    assert (run_dir / "segments" / "attempts.ndjson").read_bytes() == before
    with Warehouse.open(path) as warehouse:
        assert warehouse.land(run_dir).rows["attempts"] == 532


DIE_WITH_A_LOG = """
    import os, sys, duckdb
    connection = duckdb.connect(sys.argv[1])
    connection.execute("INSERT INTO facts (run_id, key) VALUES ('run', 'key')")
    os._exit(1)
"""


def test_what_was_not_yet_written_to_a_file_that_was_moved_away_is_in_nobodys_way(results: Path) -> None:
    path = results / "warehouse.duckdb"
    run_dir = whole_run().attempt().write(results)
    Warehouse.open(path).close()
    python(DIE_WITH_A_LOG, path).wait(timeout=30)
    assert Path(f"{path}.wal").exists()
    path.rename(results / "away.duckdb")
    with Warehouse.open(path) as warehouse:
        assert warehouse.land(run_dir).rows["attempts"] == 1


def test_threads_of_one_process_take_turns(results: Path) -> None:
    folders = [RunMaker(f"2026113{n}-120000-test-abcd").run().attempt().write(results) for n in range(6)]

    def land(run_dir: Path) -> int:
        with Warehouse.open(results / "warehouse.duckdb", wait_s=30) as warehouse:
            return warehouse.land(run_dir).rows["attempts"]

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(land, folders)) == [1] * 6
