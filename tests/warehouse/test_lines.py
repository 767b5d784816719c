"""What one bad line of a segment costs: itself, and never silently."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import orjson
import pytest

from tests.warehouse.segments import RunMaker, whole_run
from warehouse.rows import FactRow
from warehouse.store import Warehouse

REPOSITORY = Path(__file__).parents[2]


def with_line(results: Path, pattern: str, instead: str, table: str = "attempts") -> Path:
    """A run of which the second of three lines was changed."""
    run_dir = whole_run().attempt().attempt().attempt().fact("a", "1").fact("b", "2").fact("c", "3").write(results)
    path = run_dir / "segments" / f"{table}.ndjson"
    first, second, third = path.read_bytes().splitlines(keepends=True)
    changed = re.sub(pattern.encode(), instead.encode("utf-8", "surrogateescape"), second)
    assert changed != second
    path.write_bytes(first + changed + third)
    return run_dir


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        ('"trial":0', '"trial":"zero"'),
        ('"trial":0', '"trial":[0]'),
        ('"trial":0', '"trial":null'),
        ('"trial":0,', ""),
        ('"trial":0', '"trial":99999999999999999999999'),
        ('"intended_s":10.0', '"intended_s":"soon"'),
        ('"ready_s":11.0', '"ready_s":"soon"'),
        ('"ready_s":11.0', '"ready_s":{}'),
        ('"in_flight":1', '"in_flight":"many"'),
        ('"sandbox":"sg-1"', '"sandbox":"\udcff\udcfe"'),
        ('"sandbox":"sg-1"', '"sandbox":"sg-1'),
        ("^.*$", ""),
        ("^.*$", "   "),
        ("^(.*)$", r"\1\1"),
        ("^(.*)$", r"[\1]"),
        ("^(.{60}).*$", r"\1"),
        ("^.*$", "x" * 2**20),
    ],
)
def test_a_wrong_line_costs_itself_and_is_counted(
    results: Path, warehouse: Warehouse, pattern: str, instead: str
) -> None:
    landed = warehouse.land(with_line(results, pattern, instead))
    assert (landed.rows["attempts"], landed.broken_lines) == (2, 1)
    assert warehouse.rows("SELECT attempt FROM attempts ORDER BY attempt") == [(0,), (2,)]


def test_a_line_without_its_newline_takes_the_next_one_along_and_no_more(results: Path, warehouse: Warehouse) -> None:
    landed = warehouse.land(with_line(results, "(?s)^(.{60}).*$", r"\1"))
    assert (landed.rows["attempts"], landed.broken_lines) == (1, 1)


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        ('"trial":0', '"trial":0,"invented_later":{"a":[1]}'),
        ('"detail":null', '"detail":{"code":[1,{"a":"\\\\u00e9"}]}'),
        ('"ready_s":11.0', '"ready_s":null'),
        ('"ready_s":11.0,', ""),
        ('"error":null', '"error":"line\\\\nbreak \\\\"quoted\\\\" \\\\u0000"'),
    ],
)
def test_what_a_line_may_have_or_lack(results: Path, warehouse: Warehouse, pattern: str, instead: str) -> None:
    landed = warehouse.land(with_line(results, pattern, instead))
    assert (landed.rows["attempts"], landed.broken_lines) == (3, 0)


def test_a_wrong_line_of_a_table_with_a_key_leaves_the_row_before_it(results: Path, warehouse: Warehouse) -> None:
    made = whole_run().fact("a", "1").fact("a", "2").fact("b", "3")
    run_dir = made.write(results)
    path = run_dir / "segments" / "facts.ndjson"
    path.write_bytes(path.read_bytes().replace(b'"value":"2"', b'"value":"2'))
    assert warehouse.land(run_dir).broken_lines == 1
    assert warehouse.rows("SELECT key, value FROM facts ORDER BY key") == [("a", "1"), ("b", "3")]


def test_an_impossible_time_of_a_run_is_not_taken_for_a_missing_one(results: Path, warehouse: Warehouse) -> None:
    run_dir = RunMaker().run(outcome=None, ended_at=None).run(ended_at="yesterday").write(results)
    assert warehouse.land(run_dir).broken_lines == 1
    assert warehouse.rows("SELECT outcome FROM runs") == [(None,)]


def test_a_torn_line_lands_once_it_is_whole(results: Path, warehouse: Warehouse) -> None:
    run_dir = whole_run().attempt().attempt().write(results)
    path = run_dir / "segments" / "attempts.ndjson"
    whole = path.read_bytes()
    for cut in (1, 2, 100):
        path.write_bytes(whole[:-cut])
        warehouse.land(run_dir)
        path.write_bytes(whole)
        landed = warehouse.land(run_dir)
        assert (landed.rows["attempts"], landed.broken_lines) == (2, 0)


def test_empty_and_missing_segments_are_no_rows(results: Path, warehouse: Warehouse) -> None:
    run_dir = whole_run().write(results)
    (run_dir / "segments" / "attempts.ndjson").touch()
    assert "attempts" not in warehouse.land(run_dir).rows
    assert warehouse.land(run_dir).already
    assert warehouse.land(results / "runs" / "no-such-run").already
    assert warehouse.rows("SELECT * FROM attempts") == []


def test_a_segment_of_one_torn_line_is_no_rows_yet(results: Path, warehouse: Warehouse) -> None:
    run_dir = whole_run().write(results)
    (run_dir / "segments" / "attempts.ndjson").write_bytes(b'{"run_id": "20')
    assert warehouse.land(run_dir).broken_lines == 0


@pytest.mark.parametrize("name", ["re*", "re[s]", "a b", "quo'te", 'dou"ble', "{a,b}", "ünï", "~", "p%20q"])
def test_any_name_of_a_folder_is_that_folder(tmp_path: Path, warehouse: Warehouse, name: str) -> None:
    whole_run().attempt().write(tmp_path / "res")
    assert warehouse.land(whole_run().attempt().write(tmp_path / name)).rows["attempts"] == 1


def test_of_many_rows_with_the_same_key_the_last_wins_whatever_reads_them(results: Path, warehouse: Warehouse) -> None:
    run_dir = whole_run().write(results)
    rows = (FactRow(run_dir.name, f"k{n % 7}", str(n), reason="x" * (n % 200)) for n in range(100_000))
    (run_dir / "segments" / "facts.ndjson").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    warehouse.land(run_dir)
    expected = {(f"k{n % 7}", str(n)) for n in range(99_993, 100_000)}
    assert set(warehouse.rows("SELECT key, value FROM facts")) == expected


def test_one_run_that_cannot_be_landed_keeps_no_other_out(
    results: Path, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        RunMaker(f"20261130-12000{number}-test-abcd").run().attempt().write(results)
    read = Path.open

    def fails_for_one(path: Path, *arguments: str) -> object:
        if "120001" in str(path):
            raise PermissionError(13, "Permission denied")
        return read(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", fails_for_one)
        with pytest.raises(Exception, match=r"run 20261130-120001-test-abcd was not landed: .*Permission denied"):
            warehouse.land_all(results)
    assert warehouse.rows("SELECT count(*) FROM runs") == [(2,)]
    assert [landed.already for landed in warehouse.land_all(results)] == [True, False, True]


LAND_MANY = """
    import resource, sys, time
    from pathlib import Path
    from warehouse.store import Warehouse
    results = Path(sys.argv[1])
    with Warehouse.open(results / "warehouse.duckdb") as warehouse:
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        landed = warehouse.land(results / "runs" / sys.argv[2])
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(landed.rows["attempts"], time.monotonic() - began, grown)
"""


def test_many_attempts_land_quickly_and_in_little_memory(results: Path) -> None:
    run_dir = whole_run().attempt(how="booted").write(results)
    path = run_dir / "segments" / "attempts.ndjson"
    line = path.read_bytes()
    path.write_bytes(b"".join(line.replace(b'"attempt":0', b'"attempt":%d' % n) for n in range(200_000)))
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LAND_MANY), str(results), run_dir.name],
        check=True, capture_output=True, text=True, cwd=REPOSITORY, timeout=60,
    ).stdout  # fmt: skip
    rows, seconds, grown_mib = out.split()
    assert int(rows) == 200_000
    assert float(seconds) < 20
    assert float(grown_mib) < 600
