"""Views of wakes, phases, components, programs, neighbours and durability, over rows whose truth is known by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.warehouse.published_runs import answer, control_plane_run, neighbours_run, storm_run, wake_run
from tests.warehouse.segments import MIB, RunMaker, whole_run
from warehouse.store import Warehouse

Land = Callable[[RunMaker], Warehouse]


@pytest.fixture
def land(results: Path, warehouse: Warehouse) -> Land:
    def landed(made: RunMaker) -> Warehouse:
        warehouse.land(made.write(results))
        return warehouse

    return landed


def only(warehouse: Warehouse, view: str) -> dict[str, Any]:
    [record] = warehouse.records(f"SELECT * FROM {view}")
    return record


def woken(*answers: dict[str, Any] | None, **columns: Any) -> RunMaker:
    """Wakes of one sandbox, one after the other; None timed out."""
    made = whole_run()
    made.attempt("create", 0.1, 1.0, sandbox="s")
    for number, detail in enumerate(answers):
        outcome = "timed_out" if detail is None else "ok"
        made.attempt("wake", 1.0, 10.0 + number * 2, sandbox="s", detail=detail, outcome=outcome, **columns)
    return made


def states(warehouse: Warehouse) -> list[str]:
    return [state for (state,) in warehouse.rows("SELECT state FROM wakes ORDER BY attempt")]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([answer(1), answer(2), answer(3)], ["unknown", "kept", "kept"]),
        ([answer(7), answer(8)], ["unknown", "kept"]),
        ([answer(1), answer(1)], ["unknown", "lost"]),
        ([answer(5), answer(3)], ["unknown", "lost"]),
        ([answer(1), answer(3)], ["unknown", "lost"]),
        ([answer(1), answer(1, "b1"), answer(2, "b1")], ["unknown", "lost", "kept"]),
        ([answer(1), {"status": 200, "answer": "hello"}, answer(3)], ["unknown", "unknown", "kept"]),
        ([answer(1), {"status": 200, "answer": '{"count": "many"}'}, answer(2)], ["unknown", "unknown", "kept"]),
        ([answer(1), None, answer(3)], ["unknown", "unknown", "kept"]),
        ([answer(1), None, answer(2)], ["unknown", "unknown", "kept"]),
        ([answer(1), None, answer(4)], ["unknown", "unknown", "lost"]),
        ([{}, None, answer(4)], ["unknown", "unknown", "unknown"]),
    ],
)
def test_a_wake_kept_its_state_when_its_count_went_on(land: Land, answers: list[Any], expected: list[str]) -> None:
    assert states(land(woken(*answers))) == expected


def test_a_program_run_between_two_wakes_may_have_asked_as_well(land: Land) -> None:
    made = woken(answer(1)).attempt("exec", 1.0, 20.0, sandbox="s", program="mark")
    made.attempt("wake", 1.0, 30.0, sandbox="s", detail=answer(3))
    assert states(land(made)) == ["unknown", "kept"]


def test_a_sandbox_made_anew_is_not_compared_with_the_old_one(land: Land) -> None:
    made = woken(answer(9)).attempt("delete", 0.1, 20.0, sandbox="s").attempt("create", 0.1, 21.0, sandbox="s")
    made.attempt("wake", 1.0, 30.0, sandbox="s", detail=answer(1, "b1"))
    assert states(land(made)) == ["unknown", "unknown"]


def test_a_wake_says_what_came_back(land: Land) -> None:
    made = woken({"status": 503, "parked_s": 5.0, "way": "exec"})
    record = only(land(made), "wakes")
    assert (record["status"], record["parked_s"], record["way"], record["count"]) == (503, 5.0, "exec", None)


def test_a_lost_state_stands_in_the_run_where_it_was_lost(land: Land) -> None:
    rows = land(wake_run(lose=True)).rows("SELECT trial, round, state FROM wakes WHERE state = 'lost'")
    assert rows == [(0, 2, "lost")]


def test_phases_count_calls_a_second_whole_and_while_the_loop_was_full(land: Land) -> None:
    rows = land(control_plane_run()).rows(
        "SELECT operation, ok, round(seconds, 6), round(ok_per_s, 6), round(steady_per_s, 6), round(p50_s, 6), booted "
        "FROM phases ORDER BY step"
    )
    assert rows == [
        ("create", 120, 0.6, 200.0, 200.0, 0.1, 0), ("resume", 120, 12.0, 10.0, 10.0, 2.0, 120),
        ("suspend", 120, 3.0, 40.0, 40.0, 0.5, 0), ("delete", 120, 1.5, 80.0, 80.0, 0.25, 0),
    ]  # fmt: skip


def test_the_steady_part_leaves_out_the_tail(land: Land) -> None:
    made = RunMaker().run().trial().step(in_flight=2)
    for number in range(10):
        made.attempt("resume", 1.0, 10.0 + number // 2)
    made.attempt("resume", 20.0, 15.0)  # one straggler, alone in flight
    record = only(land(made), "phases")
    assert record["ok_per_s"] == pytest.approx(11 / 25)
    assert record["steady_per_s"] == pytest.approx(10 / 5)


def test_there_is_no_steady_part_of_few_calls(land: Land) -> None:
    record = only(land(whole_run().attempt().attempt(at=11.0)), "phases")
    assert record["steady_per_s"] is None
    assert record["steady_reason"] == "needs more than twice as many attempts as were in flight"


def test_the_peak_of_a_component_is_its_busiest_second(land: Land) -> None:
    warehouse = land(control_plane_run())
    rows = warehouse.rows(
        "SELECT round(peak_millicores, 3), peak_at_s, n FROM component_peaks "
        "WHERE component = 'runsc' AND list_contains(operations, 'resume')"
    )
    assert rows == [(1800.0, 2.1 + 4, 12)]
    generator = warehouse.rows("SELECT DISTINCT component FROM component_use WHERE scope = 'generator'")
    assert generator == [("sandgauge",)]


def test_samples_too_close_and_counters_that_fell_give_no_peak(land: Land) -> None:
    made = whole_run().attempt()
    for at, cpu in ((1.0, 5.0), (1.1, 6.0), (2.1, 0.5), (3.1, None)):
        reason = "gone" if cpu is None else None
        made.sample("cpu_seconds_total", cpu, at, "component", subject="router", unit="s", reason=reason)
    record = only(land(made), "component_peaks")
    assert (record["peak_millicores"], record["mean_millicores"]) == (None, None)
    assert record["peak_reason"] == "no two samples of the step lie 0.25 s apart"


def test_programs_are_timed_inside_and_outside(land: Land) -> None:
    record = only(
        land(neighbours_run()), "programs WHERE program = 'cpu-benchmark' AND (matrix ->> 'neighbours') = 'none'"
    )
    assert (record["n"], record["ok"], record["inside_p50_s"]) == (30, 30, pytest.approx(0.396))
    assert record["service_p50_s"] == pytest.approx(0.446)
    # n = 30: ranks 10 and 21 of 0.4 s times (0.85, 0.86, ...).
    assert (record["inside_p50_low_s"], record["inside_p50_high_s"]) == (pytest.approx(0.376), pytest.approx(0.42))


def test_a_program_that_times_out_ranks_as_infinite_inside_as_well(land: Land) -> None:
    made = whole_run()
    for number in range(10):
        outcome = {"outcome": "timed_out"} if number < 6 else {"inside_s": 0.5}
        made.attempt("exec", 1.0, program="cpu-benchmark", **outcome)
    record = only(land(made), "programs")
    assert (record["inside_p50_s"], record["inside_reason"]) == (None, "the p50 fell on a time-out")
    assert (record["service_p50_s"], record["service_p50_censored"]) == (1.0, True)


def test_a_program_that_does_not_tell_its_time_has_none_inside(land: Land) -> None:
    made = whole_run()
    for _ in range(6):
        made.attempt("exec", 1.0, program="true")
    record = only(land(made), "programs")
    assert (record["inside_p50_s"], record["inside_reason"]) == (None, "the program does not tell its own time")


def test_slowdown_is_the_median_beside_neighbours_over_that_without(land: Land) -> None:
    rows = land(neighbours_run()).rows(
        "SELECT matrix_key, matrix_value, base_value, round(ratio, 6), round(ratio_low, 6), round(ratio_high, 6), n, "
        "base_n FROM slowdown WHERE program = 'cpu-benchmark' AND clock = 'inside' ORDER BY matrix_value"
    )
    low, high = round(0.94 / 1.05, 6), round(1.05 / 0.94, 6)
    assert rows == [
        ("neighbours", kind, "none", times, pytest.approx(times * low, abs=2e-6), pytest.approx(times * high, abs=3e-6),
         30, 30)
        for kind, times in (("cpu", 2.0), ("disk", 1.1), ("memory", 1.2))
    ]  # fmt: skip


def test_slowdown_asks_suspends_from_outside_and_nothing_from_before_the_neighbours(land: Land) -> None:
    rows = land(neighbours_run()).rows(
        "SELECT operation, how, clock, round(ratio, 3) FROM slowdown WHERE matrix_value = 'disk' AND program IS NULL "
        "ORDER BY operation"
    )
    assert rows == [("resume", "restored", "outside", 1.0), ("suspend", None, "outside", 2.0)]


def test_slowdown_says_why_a_ratio_is_missing(land: Land) -> None:
    made = neighbours_run()
    benchmarks = [row for row in made.rows if getattr(row, "program", None) == "cpu-benchmark" and row.trial == 1]
    made.rows = [row for row in made.rows if all(row is not gone for gone in benchmarks[3:])]
    record = only(land(made), "slowdown WHERE matrix_value = 'cpu' AND program = 'cpu-benchmark' AND clock = 'inside'")
    assert (record["ratio"], record["reason"]) == (None, "beside neighbours: n = 3, and a p50 needs 5")


@pytest.mark.parametrize("fate", ["loading", "ended", "stopped"])
def test_a_neighbour_that_no_longer_loads_is_seen(land: Land, fate: str) -> None:
    warehouse = land(neighbours_run(fate=fate))
    rows = warehouse.rows("SELECT DISTINCT sandbox, state FROM neighbours WHERE trial = 1 ORDER BY sandbox")
    assert rows[0] == ("sg-1-cpu-hogs-0", fate)
    assert {state for _, state in rows[1:]} == {"loading"}
    steps = warehouse.rows("SELECT DISTINCT step FROM neighbours WHERE trial = 1 ORDER BY step")
    assert steps == [(6,), (7,), (8,)]  # not the loads before it was resumed, nor its own
    assert warehouse.rows("SELECT * FROM neighbours WHERE trial = 0") == []


def hogged(
    readings: list[tuple[float, float | None]], until: float = 20.0, limit: int = 1000, workload: str = "cpu-hog"
) -> RunMaker:
    """One hog that is read during a load of others from 10 s to `until`."""
    made = RunMaker().run().trial().group(0, "hogs", 1, limit, workload=workload, background=True).inventory("end")
    made.attempt("resume", 1.0, 2.0, group_name="hogs", sandbox="hog").attempt("exec", 1.0, 10.0, step=3)
    made.step(0, 2, group_name="hogs", started_s=1.0, ended_s=5.0).step(0, 3, started_s=10.0, ended_s=until)
    for tick in range(11):
        made.sample("cpu_seconds_total", 1.0 + tick, 10.0 + tick * (until - 10) / 10, step=3, unit="s")
    for at, value in readings:
        made.sample("cpu_seconds_total", value, at, "sandbox", step=3, subject="hog", unit="s")
    return made


@pytest.mark.parametrize(
    ("readings", "limit", "state"),
    [
        ([(10.0, 1.0), (15.0, 2.0), (20.0, 3.0)], 1000, "loading"),
        ([(10.0, 1.0), (20.0, 2.1)], 1000, "loading"),  # 11% of its limit
        ([(10.0, 1.0), (20.0, 1.9)], 1000, "stopped"),  # 9%
        ([(10.0, 1.0), (20.0, 1.9)], 500, "loading"),
        ([(10.0, 1.0), (18.0, 8.0), (19.0, 8.0), (20.0, 8.0)], 1000, "stopped"),
        ([(10.0, 1.0), (19.0, 8.0), (20.0, 8.0)], 1000, "loading"),  # one sample without progress may be chance
        ([(10.0, 1.0), (19.0, 8.0)], 1000, "ended"),
        ([(10.0, 1.0), (19.0, 8.0), (20.0, None)], 1000, "ended"),
        ([(20.0, 8.0)], 1000, None),
    ],
)
def test_what_a_neighbour_did_follows_from_its_samples(
    land: Land, readings: list[tuple[float, float | None]], limit: int, state: str | None
) -> None:
    assert only(land(hogged(readings, limit=limit)), "neighbours")["state"] == state


@pytest.mark.parametrize(
    ("readings", "state"),
    [
        ([(10.0, 1.0), (18.0, 1.5), (19.0, 1.5), (20.0, 1.5)], "loading"),  # it syncs
        ([(10.0, 1.0), (14.0, 1.0), (19.0, 1.0)], "ended"),
        ([(14.0, 1.0), (17.0, 1.0), (20.0, 1.0)], "loading"),  # too short to tell
        ([(10.0, 1.0), (15.0, 1.1), (20.0, 1.1)], "stopped"),
    ],
)
def test_a_disk_hog_may_wait_for_the_disk(land: Land, readings: list[tuple[float, float | None]], state: str) -> None:
    assert only(land(hogged(readings, workload="disk-hog")), "neighbours")["state"] == state


def test_of_a_platform_that_samples_no_sandbox_nobody_can_tell(land: Land) -> None:
    record = only(land(hogged([])), "neighbours")
    assert (record["state"], record["reason"]) == (None, "the platform samples no single sandbox")


def test_a_neighbour_that_was_deleted_is_not_missed(land: Land) -> None:
    made = hogged([]).attempt("delete", 0.1, 8.0, group_name="hogs", sandbox="hog")
    assert land(made).rows("SELECT * FROM neighbours") == []


def test_a_whole_storm_is_durable_when_its_last_snapshot_is(land: Land) -> None:
    record = only(land(storm_run()), "durability")
    counts = [record[name] for name in ("suspended", "snapshots", "missing", "durable", "lost", "not_durable")]
    assert counts == [20, 20, 0, 20, 0, 0]
    assert (record["all_durable_after_s"], record["all_durable_reason"]) == (pytest.approx(324.0), None)
    assert (record["first_byte_after_s"], record["first_durable_after_s"]) == (299.5, 305.0)
    # The tenth of 20: 310 + 9 + 5.5, less its suspend at 10.95.
    assert (record["durable_p50_s"], record["durable_max_s"]) == (pytest.approx(313.55), pytest.approx(323.05))
    assert (record["restored"], record["restored_right"], record["restored_wrong"]) == (3, 3, 0)
    assert record["lost_upper_share"] == pytest.approx(0.1391083, abs=1e-7)
    assert record["wrong_upper_share"] == pytest.approx(1 - 0.05 ** (1 / 3))


def test_an_incomplete_storm_has_no_time_and_counts_only_known_fates(land: Land) -> None:
    record = only(land(storm_run(fates={3: "stuck", 5: "lost", 7: "local_only"})), "durability")
    assert [record[name] for name in ("durable", "lost", "not_durable")] == [17, 1, 3]
    assert record["all_durable_after_s"] is None
    assert record["all_durable_reason"] == "3 of 20 are not durable (local_only, lost, stuck)"
    assert (record["durable_max_s"], record["last_durable_after_s"]) == (None, 324.0)
    p = record["lost_upper_share"]  # of 1 in 18
    assert (1 - p) ** 18 + 18 * p * (1 - p) ** 17 == pytest.approx(0.05)


def test_a_suspended_sandbox_without_a_snapshot_is_not_durable(land: Land) -> None:
    made = storm_run()
    made.rows = [row for row in made.rows if not (hasattr(row, "generation") and row.sandbox == "sg-19")]
    record = only(land(made), "durability")
    assert (record["missing"], record["not_durable"], record["all_durable_after_s"]) == (1, 1, None)
    assert record["all_durable_reason"] == "1 of 20 suspended sandboxes have no snapshot in the ledger"


def test_a_restored_snapshot_without_a_nonce_is_wrong(land: Land) -> None:
    made = storm_run()
    for row in made.rows:
        if getattr(row, "restored_s", None) is not None and row.sandbox == "sg-3":
            row.memory_ok = False
    record = only(land(made), "durability")
    assert (record["restored"], record["restored_right"], record["restored_wrong"]) == (3, 2, 1)


def test_the_timeline_counts_from_the_first_suspend(land: Land) -> None:
    rows = land(storm_run(fates={1: "local_only"})).rows(
        "SELECT place, sandbox, suspended_after_s, first_byte_after_s, manifest_after_s, durable_after_s "
        "FROM snapshot_timeline WHERE sandbox IN ('sg-0', 'sg-1') ORDER BY place"
    )
    assert rows == [
        (1, "sg-0", 0.0, 299.5, 304.5, 305.0),
        (20, "sg-1", pytest.approx(0.05), None, None, None),
    ]


def test_memory_per_sandbox_has_the_interval_of_its_slope(land: Land) -> None:
    made = RunMaker().run().trial().step(outcome="refused").inventory("end")
    # x = 10, 20, 30, 40 and y = 100, 225, 325, 450 MiB: slope 11.5, residuals -2.5, 7.5, -7.5, 2.5,
    # s = sqrt(125 / 2), standard error s / sqrt(500), t(0.975, 2) = 4.30265.
    for batch, memory in enumerate((100, 225, 325, 450)):
        for _ in range(10):
            made.attempt("resume", 1.0, 10.0 + 10 * batch, batch=batch)
        made.sample("memory_bytes", memory * MIB, 15.0 + 10 * batch)
    record = only(land(made), "density_ceiling")
    assert record["bytes_per_sandbox"] / MIB == pytest.approx(11.5)
    reach = 4.30265 * (125 / 2) ** 0.5 / 500**0.5
    assert record["bytes_low"] / MIB == pytest.approx(11.5 - reach, abs=1e-4)
    assert record["bytes_high"] / MIB == pytest.approx(11.5 + reach, abs=1e-4)
