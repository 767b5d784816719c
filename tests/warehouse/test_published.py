from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from warehouse.errors import WarehouseError
from warehouse.migrating import migrate
from warehouse.published import Published, conditions_of, in_base, read_published, title_of
from warehouse.store import Warehouse

ABOUT = '{"source": "s", "title": "t", "conditions": {"hardware": "it\'s fast"}}'
HEAD = "test,condition,metric,value,unit\n"


def test_what_was_published_is_in_the_table(warehouse: Warehouse) -> None:
    assert warehouse.one("SELECT count(*) FROM reference") == (len(read_published()),)
    query = "SELECT value, unit FROM reference WHERE test = 'snapshot-storm' AND metric = 'all_durable_after'"
    assert warehouse.rows(query) == [(325.0, "s")]
    assert title_of(warehouse) == "Google AX on EKS, two m7i.xlarge"
    assert set(conditions_of(warehouse, "ax-eks-two-nodes")) == {"hardware", "versions", "vantage", "method"}
    assert conditions_of(warehouse, "nobody") == {}


def test_a_series_finds_its_places_on_the_axis(warehouse: Warehouse) -> None:
    series = Published("wake", r"cpu=250m burst=(?P<x>\d+)", "wake_p50")
    assert sorted(series.points(warehouse)) == [("1", 0.316), ("10", 0.434), ("30", pytest.approx(0.903))]


@pytest.mark.parametrize(
    ("unit", "value"), [("ms", (0.002, "s")), ("GiB", (2 * 2**30, "bytes")), ("per_s", (2.0, "per_s"))]
)
def test_times_and_sizes_are_brought_to_their_base(unit: str, value: tuple[float, str]) -> None:
    assert in_base(2.0, unit) == value


def test_the_table_follows_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect() as connection:
        migrate(connection, "file")
        rows = [["s", "t", '{"a": "it\'s"}', "test", "condition", "metric", 1.5, "ms"]]
        monkeypatch.setattr("warehouse.published.read_published", lambda: rows)
        migrate.__globals__["_views_text"].cache_clear()
        migrate(connection, "file")
        assert connection.execute("SELECT * FROM reference").fetchall() == [tuple(rows[0])]
        monkeypatch.undo()
        migrate.__globals__["_views_text"].cache_clear()
        migrate(connection, "file")
        assert connection.execute("SELECT count(*) FROM reference").fetchone() == (len(read_published()),)


@pytest.mark.parametrize(
    ("about", "text"),
    [(ABOUT, "a,b,c,1300-1400,ms\n"), ("{}", "a,b,c,1,ms\n"), (None, "a,b,c,1,ms\n"), ("no json", "a,b,c,1,ms\n")],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, about: str | None, text: str) -> None:
    (tmp_path / "x.csv").write_text(HEAD + text)
    if about is not None:
        (tmp_path / "x.json").write_text(about)
    with pytest.raises(WarehouseError, match=r"reference x\.csv: "):
        read_published(tmp_path)
