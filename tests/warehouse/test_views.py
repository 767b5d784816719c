from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.warehouse.segments import MIB, RunMaker, density_run, whole_run
from warehouse.store import Warehouse

Land = Callable[[RunMaker], Warehouse]


@pytest.fixture
def land(results: Path, warehouse: Warehouse) -> Land:
    def landed(made: RunMaker) -> Warehouse:
        warehouse.land(made.write(results))
        return warehouse

    return landed


def with_times(times: list[float], timed_out: int = 0, **columns: Any) -> RunMaker:
    made = whole_run()
    for seconds in times:
        made.attempt(seconds=seconds, **columns)
    for _ in range(timed_out):
        made.attempt(seconds=15.0, outcome="timed_out", **columns)
    return made


def only(warehouse: Warehouse, view: str) -> dict[str, Any]:
    [record] = warehouse.records(f"SELECT * FROM {view}")
    return record


def test_attempt_times_count_from_the_intended_and_the_actual_start(land: Land) -> None:
    record = only(land(whole_run().attempt(seconds=2.0, at=10.0, late=0.5)), "attempt_times")
    assert (record["response_s"], record["service_s"]) == (2.0, 1.5)
    assert (record["lateness_s"], record["acknowledge_s"], record["censored_s"]) == (0.5, 1.5, None)
    assert (record["cpu_millicores"], record["memory_bytes"], record["in_flight_limit"]) == (100, 128 * MIB, 10)


def test_attempt_times_of_one_that_timed_out_are_censored(land: Land) -> None:
    record = only(land(whole_run().attempt(seconds=15.0, outcome="timed_out")), "attempt_times")
    assert (record["response_s"], record["service_s"], record["censored_s"]) == (None, None, 15.0)


@pytest.mark.parametrize("n", [20, 100, 101, 137])
def test_percentiles_are_nearest_ranks(land: Land, n: int) -> None:
    record = only(land(with_times([(number + 1) / 8 for number in range(n)])), "latency")
    for share, field, least in ((50, "p50_s", 5), (95, "p95_s", 20), (99, "p99_s", 100)):
        rank = -(-share * n // 100)
        assert record[field] == (rank / 8 if n >= least else None)
    assert (record["min_s"], record["max_s"], record["n"]) == (1 / 8, n / 8, n)
    assert record["p50_low_s"] < record["p50_s"] < record["p50_high_s"]


@pytest.mark.parametrize(
    ("n", "known", "reason"),
    [
        (4, set(), "n = 4: p50 needs 5, p95 20, p99 100"),
        (5, {"p50_s"}, "n = 5: p95 needs 20, p99 100"),
        (19, {"p50_s"}, "n = 19: p95 needs 20, p99 100"),
        (20, {"p50_s", "p95_s"}, "n = 20: p99 needs 100"),
        (99, {"p50_s", "p95_s"}, "n = 99: p99 needs 100"),
        (100, {"p50_s", "p95_s", "p99_s"}, None),
    ],
)
def test_a_percentile_is_withheld_below_the_n_that_it_needs(
    land: Land, n: int, known: set[str], reason: str | None
) -> None:
    record = only(land(with_times([1.0] * n)), "latency")
    assert {field for field in ("p50_s", "p95_s", "p99_s") if record[field] is not None} == known
    assert record["withheld_reason"] == reason


def test_time_outs_stay_in_the_distribution(land: Land) -> None:
    record = only(land(with_times([1.0] * 95, timed_out=5)), "latency")
    assert (record["p50_s"], record["p95_s"], record["p95_censored"]) == (1.0, 1.0, False)
    assert (record["p99_s"], record["p99_censored"], record["max_censored"]) == (15.0, True, True)
    assert (record["n"], record["ok"], record["timed_out"]) == (100, 95, 5)


def test_where_nothing_worked_there_is_no_figure(land: Land) -> None:
    record = only(land(with_times([], timed_out=30)), "latency")
    assert [record[field] for field in ("p50_s", "p95_s", "min_s", "p50_censored")] == [None, None, None, False]
    assert record["withheld_reason"] == "none of 30 worked"


def around_the_median(n: int, reach: int) -> float:
    """The share of samples of n whose true median lies from the `reach`-th value to the `reach`-th from above."""
    return 1 - 2 * sum(math.comb(n, below) for below in range(reach)) / 2**n


def test_the_interval_of_a_p50_is_as_narrow_as_95_percent_allow(land: Land) -> None:
    made = whole_run()
    sizes = [*range(1, 60), 100, 101, 137, 250]
    for n in sizes:
        for number in range(n):
            made.attempt(seconds=(number + 1) / 8, trial=n)
    rows = land(made).rows("SELECT n, p50_low_s * 8, p50_high_s * 8 FROM latency ORDER BY n")
    assert [n for n, low, high in rows] == sizes
    assert [(low, high) for n, low, high in rows if n < 6] == [(None, None)] * 5
    for n, low, high in rows[5:]:
        assert low + high == n + 1
        assert around_the_median(n, int(low)) >= 0.95
        assert around_the_median(n, int(low) + 2) < 0.95


def test_the_interval_of_a_p50_holds_the_true_one_as_often_as_it_says(land: Land) -> None:
    made, random_ = whole_run(), random.Random(11)
    for trial in range(500):
        for _ in range(30):
            made.attempt(seconds=random_.lognormvariate(0, 1), trial=trial)
    [(held, samples)] = land(made).rows(
        "SELECT count(*) FILTER (1.0 BETWEEN p50_low_s AND p50_high_s), count(*) FROM latency"
    )
    assert samples == 500
    assert 0.92 * 500 <= held <= 0.985 * 500


def test_an_interval_that_ends_on_a_time_out_has_no_end(land: Land) -> None:
    record = only(land(with_times([1.0] * 6, timed_out=4)), "latency")
    assert (record["p50_s"], record["p50_low_s"], record["p50_high_s"]) == (1.0, 1.0, None)


def test_the_bound_of_a_percentile_is_the_shortest_wait(land: Land) -> None:
    made = with_times([1.0] * 4)
    for waited in (9.0, 7.0, 8.0, 7.5, 20.0):
        made.attempt(seconds=waited, outcome="timed_out")
    record = only(land(made), "latency")
    assert (record["p50_s"], record["p50_censored"], record["max_s"], record["max_censored"]) == (7.0, True, 20.0, True)


def test_what_worked_without_having_been_timed_takes_no_rank(land: Land) -> None:
    record = only(land(with_times([1.0, 2.0, 3.0, 4.0, 5.0]).attempt(ready_s=None)), "latency")
    assert (record["n"], record["ok"], record["p50_s"], record["max_s"]) == (5, 5, 3.0, 5.0)


def test_refused_and_failed_are_counted_and_take_no_rank(land: Land) -> None:
    made = with_times([2.0] * 5)
    for outcome in ("refused", "refused", "failed", "unknown", "unsupported", "cancelled", "skipped"):
        made.attempt(seconds=0.001, outcome=outcome)
    warehouse = land(made)
    latency, outcomes = only(warehouse, "latency"), only(warehouse, "outcomes")
    assert (latency["n"], latency["p50_s"], latency["min_s"]) == (5, 2.0, 2.0)
    assert [outcomes[name] for name in ("attempts", "ok", "refused", "failed", "cancelled", "skipped")] == [
        12, 5, 2, 3, 1, 1,
    ]  # fmt: skip


def test_boots_stay_apart_from_restores_and_each_keeps_its_time_outs(land: Land) -> None:
    made = whole_run()
    for number in range(3):
        made.attempt(seconds=4.0, sandbox=f"s{number}", how="booted")
    made.attempt(seconds=15.0, sandbox="s3", outcome="timed_out")
    for number in range(3):
        made.attempt("suspend", 0.1, sandbox=f"s{number}")
    for number in range(2):
        made.attempt(seconds=1.0, sandbox=f"s{number}", how="restored")
    made.attempt(seconds=15.0, sandbox="s2", outcome="timed_out")
    rows = land(made).rows("SELECT how, n, ok, timed_out, min_s FROM latency WHERE operation = 'resume' ORDER BY how")
    assert rows == [("booted", 4, 3, 1, 4.0), ("restored", 3, 2, 1, 1.0)]


def test_how_is_not_worked_out_where_the_platform_never_tells(land: Land) -> None:
    rows = land(with_times([1.0], timed_out=1)).rows("SELECT how, n FROM latency")
    assert rows == [(None, 2)]


def test_concurrency_merges_rows_of_trials_with_the_same_limit(land: Land) -> None:
    made = RunMaker().run(trials_planned=3).inventory("end")
    for trial, limit in enumerate((10, 10, 20)):
        made.trial(trial).step(trial, in_flight=limit)
        for number in range(5):
            made.attempt(seconds=float(trial * 5 + number + 1), trial=trial)
    rows = land(made).rows("SELECT in_flight_limit, n, p50_s, max_s FROM concurrency ORDER BY in_flight_limit")
    assert rows == [(10, 10, 5.0, 10.0), (20, 5, 13.0, 15.0)]


def test_throughput_leaves_out_holds_and_other_operations(land: Land) -> None:
    made = whole_run()
    for batch, at in enumerate((10.0, 50.0)):
        for _ in range(4):
            made.attempt("create", 1.0, at, batch=batch)
            made.attempt("resume", 2.0, at + 1, batch=batch)
    made.attempt("resume", 2.0, 51.0, batch=1, outcome="refused")
    rows = land(made).rows("SELECT operation, ok, seconds, ok_per_s FROM throughput ORDER BY operation")
    assert rows == [("create", 8, 2.0, 4.0), ("resume", 8, 4.0, 2.0)]


def ramp(*, hold: float = 3.0, batches: int = 4, refused: int = 5) -> RunMaker:
    """Ten more each time; the last batch has room for ten less `refused`."""
    made = RunMaker().run().trial().step(outcome="refused" if refused else "finished").inventory("end")
    at = 10.0
    for batch in range(batches):
        for number in range(10):
            no_room = batch == batches - 1 and number >= 10 - refused
            made.attempt("create", 0.1, at, batch=batch, sandbox=f"s{batch}-{number}")
            made.attempt("resume", 1.0 + batch, at + 0.5, batch=batch, sandbox=f"s{batch}-{number}",
                         outcome="refused" if no_room else "ok", resource="cpu" if no_room else None)  # fmt: skip
        at += 1.5 + batch
        running = 10 * (batch + 1) - (refused if batch == batches - 1 else 0)
        for second in range(int(hold)):
            made.sample("memory_bytes", (1000 + 12 * running + (50 if second == 0 else 0)) * MIB, at + second)
        at += hold
    return made


def test_density_follows_the_batches(land: Land) -> None:
    warehouse = land(ramp())
    rows = warehouse.rows(
        "SELECT running, n, resume_p50_s, node_memory_bytes / ?, refused, resource FROM density", [MIB]
    )
    assert rows == [
        (10, 10, 1.0, 1120.0, 0, None), (20, 10, 2.0, 1240.0, 0, None), (30, 10, 3.0, 1360.0, 0, None),
        (35, 5, 4.0, 1420.0, 5, "cpu"),
    ]  # fmt: skip
    ceiling = only(warehouse, "density_ceiling")
    assert (ceiling["running"], ceiling["refused"], ceiling["resource"]) == (35, 5, "cpu")
    assert ceiling["bytes_per_sandbox"] == pytest.approx(12 * MIB)


def test_memory_of_several_nodes_adds_up(land: Land) -> None:
    made = ramp()
    for row in list(made.rows):
        if getattr(row, "metric", None) == "memory_bytes":
            made.sample("memory_bytes", row.value / 2, row.at_s, subject="other")
            made.sample("memory_bytes", None, row.at_s, subject="silent", reason="no answer")
    warehouse = land(made)
    assert warehouse.one("SELECT node_memory_bytes FROM density ORDER BY batch") == (1.5 * 1120 * MIB,)
    assert only(warehouse, "density_ceiling")["bytes_per_sandbox"] == pytest.approx(18 * MIB)


def test_density_is_not_asked_of_rounds(land: Land) -> None:
    made = whole_run()
    for round_number in range(3):
        for _ in range(5):
            made.attempt(round=round_number, batch=round_number)
    assert land(made).rows("SELECT * FROM density") == []


def test_density_says_what_was_not_measured(land: Land) -> None:
    records = land(ramp(hold=0.0, refused=8)).records("SELECT * FROM density ORDER BY batch")
    assert {record["node_memory_bytes"] for record in records} == {None}
    assert records[0]["memory_reason"] == "no sample fell between this batch and the next"
    assert (records[-1]["resume_p50_s"], records[-1]["p50_reason"]) == (None, "n = 2, and it needs 5")


def test_memory_per_sandbox_is_withheld_where_something_else_moved_it(land: Land) -> None:
    made = ramp()
    for row in made.rows:
        if getattr(row, "metric", None) == "memory_bytes" and row.at_s > 20:
            row.value = 900 * MIB
    record = only(land(made), "density_ceiling")
    assert record["bytes_per_sandbox"] is None
    assert record["bytes_reason"].startswith("other things on the node moved its memory too (r² = 0.")


def test_density_ceiling_without_a_refusal_is_no_ceiling(land: Land) -> None:
    assert only(land(ramp(refused=0)), "density_ceiling")["refused"] == 0


def test_density_is_not_asked_of_loads_that_also_suspend(land: Land) -> None:
    made = ramp()
    made.attempt("suspend", 1.0, 40.0, batch=3)
    assert land(made).rows("SELECT * FROM density") == []


def test_node_use_differs_counters_and_never_goes_below_zero(land: Land) -> None:
    made = whole_run()
    for at, seconds in ((1.0, 10.0), (2.0, 11.5), (2.1, 11.6), (4.1, 12.6), (5.1, 3.0)):
        made.sample("cpu_seconds_total", seconds, at, unit="s").sample("memory_bytes", 2.0**30, at)
    rows = land(made).rows("SELECT at_s, round(cpu_cores, 6), memory_bytes FROM node_use ORDER BY at_s")
    assert rows == [
        (1.0, None, 2**30), (2.0, 1.5, 2**30), (2.1, None, 2**30), (4.1, 0.5, 2**30), (5.1, None, 2**30),
    ]  # fmt: skip


def test_sandbox_use_differs_counters_by_sandbox(land: Land) -> None:
    made = whole_run()
    for at, seconds in ((1.0, 10.0), (3.0, 11.0), (4.0, 0.1)):
        made.sample("cpu_seconds_total", seconds, at, "sandbox", subject="a", unit="s")
        made.sample("cpu_seconds_total", seconds * 2, at, "sandbox", subject="b", unit="s")
    rows = land(made).rows("SELECT sandbox, cpu_cores FROM sandbox_use ORDER BY sandbox, at_s")
    assert rows == [("a", None), ("a", 0.5), ("a", None), ("b", None), ("b", 1.0), ("b", None)]


def test_run_summary_is_one_row_a_run(land: Land) -> None:
    land(whole_run().attempt().attempt(outcome="refused"))
    record = only(land(density_run()), "run_summary WHERE scenario = 'test'")
    assert (record["attempts"], record["ok"], record["refused"], record["seconds"]) == (2, 1, 1, 100.0)
    assert record["verdict"] == "valid"


def test_run_summary_counts_what_has_an_unknown_outcome_as_failed(land: Land) -> None:
    made = whole_run()
    for outcome in ("failed", "unknown", "unsupported", "timed_out"):
        made.attempt(outcome=outcome)
    record = only(land(made), "run_summary")
    assert [record[name] for name in ("ok", "refused", "failed", "timed_out")] == [0, 0, 3, 1]


def test_a_killed_run_is_summed_up_from_its_first_row(land: Land) -> None:
    record = only(land(RunMaker().run(outcome=None, ended_at=None)), "run_summary")
    assert (record["verdict"], record["seconds"], record["attempts"], record["ok"]) == ("partial", None, 0, 0)
    assert record["reason"] == "the run has no end: it was killed, or is still running"
