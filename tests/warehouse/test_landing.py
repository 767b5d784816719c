from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import duckdb
import pytest

from tests.warehouse.segments import RunMaker, latency_run, whole_run
from warehouse.store import Warehouse, WarehouseError

REPOSITORY = Path(__file__).parents[2]


def attempts(warehouse: Warehouse) -> int:
    return int(warehouse.one("SELECT count(*) FROM attempts")[0])


def segment(run_dir: Path, table: str = "attempts") -> Path:
    return run_dir / "segments" / f"{table}.ndjson"


def test_landing_twice_changes_nothing(results: Path, warehouse: Warehouse) -> None:
    run_dir = latency_run().write(results)
    first = warehouse.land(run_dir)
    assert first.rows["attempts"] == attempts(warehouse) == 532
    assert not first.already
    assert warehouse.land(run_dir).already
    assert attempts(warehouse) == 532


def test_what_a_run_writes_after_it_was_landed_is_added_once(results: Path, warehouse: Warehouse) -> None:
    run_dir = whole_run().attempt().write(results)
    warehouse.land(run_dir)
    more = RunMaker()
    more.made = 1
    more.attempt().inventory("end").write(results)
    assert warehouse.land(run_dir).rows == {"attempts": 2, "inventory": 3}
    assert warehouse.rows("SELECT attempt FROM attempts ORDER BY attempt") == [(0,), (1,)]


def test_of_rows_with_the_same_key_the_last_wins(results: Path, warehouse: Warehouse) -> None:
    made = RunMaker().run(outcome=None, ended_at=None).step(outcome=None).step(outcome="refused").run()
    warehouse.land(made.fact("a", "1").fact("b", "2").fact("a", "3").write(results))
    assert warehouse.rows("SELECT outcome FROM runs") == [("finished",)]
    assert warehouse.rows("SELECT outcome FROM steps") == [("refused",)]
    assert warehouse.rows("SELECT key, value FROM facts ORDER BY key") == [("a", "3"), ("b", "2")]


def test_a_torn_last_line_costs_itself_and_is_not_called_broken(results: Path, warehouse: Warehouse) -> None:
    run_dir = whole_run().attempt().attempt().write(results)
    whole = segment(run_dir).read_bytes()
    segment(run_dir).write_bytes(whole + whole[:77])
    landed = warehouse.land(run_dir)
    assert (landed.rows["attempts"], landed.broken_lines) == (2, 0)
    assert warehouse.land(run_dir).already


@pytest.mark.parametrize(
    "garbage",
    [b"\0" * 40, b'{"run_id": "20261130-120000-test-abcd"}', b"[1, 2]", b"{", b"\xff\xfe", b'{"run_id": 7}', b"null"],
)
def test_a_garbled_line_costs_itself_is_counted_and_spoils_the_verdict(
    results: Path, warehouse: Warehouse, garbage: bytes
) -> None:
    run_dir = whole_run().attempt().attempt().write(results)
    first, second = segment(run_dir).read_bytes().splitlines()
    segment(run_dir).write_bytes(b"\n".join([first, garbage, second, b""]))
    landed = warehouse.land(run_dir)
    assert (landed.rows["attempts"], landed.broken_lines) == (2, 1)
    assert warehouse.one("SELECT verdict, reason FROM run_verdicts") == (
        "partial",
        "lines of its segments that could not be read: 1",
    )


def test_rows_of_another_run_are_kept_out(results: Path, warehouse: Warehouse) -> None:
    run_dir = whole_run().attempt().write(results)
    with segment(run_dir).open("ab") as file:
        file.write(segment(run_dir).read_bytes().replace(b"test-abcd", b"test-0000"))
    assert warehouse.land(run_dir).broken_lines == 1
    assert warehouse.rows("SELECT DISTINCT run_id FROM attempts") == [("20261130-120000-test-abcd",)]


def test_land_all_lands_every_run(results: Path, warehouse: Warehouse) -> None:
    for number in range(3):
        RunMaker(f"20261130-12000{number}-test-abcd").run().attempt().write(results)
    assert [landed.already for landed in warehouse.land_all(results)] == [False] * 3
    assert [landed.already for landed in warehouse.land_all(results)] == [True] * 3


def test_what_is_not_known_stays_unknown(results: Path, warehouse: Warehouse) -> None:
    warehouse.land(whole_run().attempt(outcome="skipped").sample("memory_bytes", None, 3.0).write(results))
    assert warehouse.one("SELECT started_s, ready_s FROM attempts") == (None, None)
    assert warehouse.one("SELECT value FROM samples") == (None,)


LAND = """
    import sys
    from pathlib import Path
    from warehouse.store import Warehouse
    results = Path(sys.argv[1])
    with Warehouse.open(results / "warehouse.duckdb") as warehouse:
        warehouse.land(results / "runs" / sys.argv[2])
"""


def python(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY,
    )  # fmt: skip


def test_eight_processes_land_at_once_and_none_sees_an_error(results: Path) -> None:
    runs = [f"2026113{number}-120000-test-abcd" for number in range(8)]
    for run_id in runs:
        RunMaker(run_id).run().attempt().write(results)
    processes = [python(LAND, str(results), run_id) for run_id in runs]
    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * 8
    with Warehouse.open(results / "warehouse.duckdb", read_only=True) as warehouse:
        assert warehouse.one("SELECT count(*) FROM runs") == (8,)


HOLD = """
    import sys, duckdb
    connection = duckdb.connect(sys.argv[1])
    print("open", flush=True)
    sys.stdin.readline()
"""


def hold(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLD), str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "open\n"
    return process


def test_a_shell_that_has_the_file_open_is_waited_for_and_then_named(results: Path) -> None:
    path = results / "warehouse.duckdb"
    Warehouse.open(path).close()
    shell = hold(path)
    try:
        with pytest.raises(WarehouseError, match="another program has had it open") as caught:
            Warehouse.open(path, wait_s=0.3)
        assert f"PID {shell.pid}" in str(caught.value)
        assert "\n" not in str(caught.value)
    finally:
        shell.communicate("go\n", timeout=30)
    Warehouse.open(path, wait_s=5).close()


def test_another_sandgauge_is_waited_for(results: Path, warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match=r"another Sandgauge has had it open for 0\.2 s; nothing is lost"):
        Warehouse.open(warehouse.path, wait_s=0.2)


def test_the_file_opens_in_plain_duckdb(results: Path) -> None:
    with Warehouse.open(results / "warehouse.duckdb") as warehouse:
        warehouse.land(latency_run().write(results))
    program = """
        import sys, duckdb
        connection = duckdb.connect(sys.argv[1], read_only=True)
        print(connection.execute("SELECT count(*) FROM latency WHERE p50_s IS NOT NULL").fetchone()[0])
    """
    out, error = python(program, str(results / "warehouse.duckdb")).communicate(timeout=30)
    assert (out, error) == ("16\n", "")


@pytest.mark.parametrize("content", [b"", b"no database", b"\0" * 8192, b"x" * 20000])
def test_a_file_that_is_no_warehouse_gives_one_message(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "warehouse.duckdb"
    path.write_bytes(content)
    with pytest.raises(WarehouseError, match=r"warehouse\.duckdb") as caught:
        Warehouse.open(path)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE runs AS SELECT 1 AS mine")
    with pytest.raises(WarehouseError, match=r"already exists"):
        Warehouse.open(path)
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT mine FROM runs").fetchall() == [(1,)]


def test_a_garbled_warehouse_gives_an_error_and_no_traceback(results: Path) -> None:
    path = results / "warehouse.duckdb"
    with Warehouse.open(path) as warehouse:
        warehouse.land(latency_run().write(results))
    content = bytearray(path.read_bytes())
    content[12288 : len(content)] = b"\xa5" * (len(content) - 12288)
    path.write_bytes(content)
    with pytest.raises(WarehouseError), Warehouse.open(path) as warehouse:
        warehouse.rows("SELECT * FROM attempts")


LAND_WITHOUT_ROOM = """
    import resource, sys
    from pathlib import Path
    from warehouse.store import Warehouse, WarehouseError
    results = Path(sys.argv[1])
    path = results / "warehouse.duckdb"
    with Warehouse.open(path) as warehouse:
        size = path.stat().st_size + 4096
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            warehouse.land(results / "runs" / sys.argv[2])
        except WarehouseError as error:
            print(error)
"""


def test_a_full_disk_gives_an_error_and_the_segments_stay(results: Path) -> None:
    run_dir = latency_run().write(results)
    before = segment(run_dir).read_bytes()
    out, error = python(LAND_WITHOUT_ROOM, str(results), run_dir.name).communicate(timeout=60)
    assert "was not landed" in out, error
    assert f"its rows stay in {run_dir}/segments" in out
    assert segment(run_dir).read_bytes() == before
    with Warehouse.open(results / "warehouse.duckdb") as warehouse:
        assert warehouse.land(run_dir).rows["attempts"] == 532


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM no_such_table", "no_such_table"), ("SELEC 1", "syntax error"), ("SELECT $a", "not provided"),
        ("", "no statement"), ("-- nothing", "no statement"), ("SELECT '\udcff'", "surrogates not allowed"),
    ],
)  # fmt: skip
def test_a_wrong_query_says_what_is_wrong(warehouse: Warehouse, sql: str, message: str) -> None:
    with pytest.raises(WarehouseError, match=message):
        warehouse.query(sql)


def test_nothing_can_be_changed_through_a_warehouse_opened_to_read(results: Path) -> None:
    path = results / "warehouse.duckdb"
    Warehouse.open(path).close()
    with Warehouse.open(path, read_only=True) as warehouse, pytest.raises(WarehouseError, match="read-only"):
        warehouse.query("DROP TABLE runs")
