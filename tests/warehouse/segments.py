"""Makes the segments that a run leaves behind: exact small ones for tests, and ones to look at."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from warehouse.rows import TABLES, Attempt, FactRow, Group, Inventory, Run, Sample, SnapshotRow, Step, Trial

_TABLE_OF = {row_class: table for table, row_class in TABLES.items()}
MIB = 2**20


@dataclass
class RunMaker:
    """Collects the rows of one run and writes them as segments."""

    run_id: str = "20261130-120000-test-abcd"
    scenario: str = "test"
    rows: list[Any] = field(default_factory=list)
    made: int = 0

    def run(self, **columns: Any) -> RunMaker:
        defaults: dict[str, Any] = {
            "run_id": self.run_id, "scenario": self.scenario, "title": "What comes of it?", "size": "demo",
            "target": "here", "platform": "local", "simulated": False, "started_at": "2026-11-30T12:00:00+00:00",
            "ended_at": "2026-11-30T12:01:40+00:00", "outcome": "finished", "trials_planned": 1,
            "vantage": "host, process 1", "scenario_yaml": "name: test\n", "sandgauge_version": "0.1.0",
        }  # fmt: skip
        self.rows.append(Run(**defaults | columns))
        return self

    def trial(self, trial: int = 0, matrix: dict[str, Any] | None = None, **columns: Any) -> RunMaker:
        """A finished trial with a clean start, and one group."""
        defaults: dict[str, Any] = {"repetition": 1, "seed": 1, "started_s": 0.0, "ended_s": 90.0}
        cpu, memory = columns.pop("cpu", 100), columns.pop("memory", 128 * MIB)
        group, count = columns.pop("group", "tasks"), columns.pop("count", 40)
        columns.setdefault("outcome", "finished")
        self.rows.append(Trial(self.run_id, trial, matrix=matrix or {}, **defaults | columns))
        return self.group(trial, group, count, cpu, memory).inventory("start", trial)

    def group(
        self, trial: int, name: str, count: int = 40, cpu: int = 100, memory: int = 128 * MIB, **columns: Any
    ) -> RunMaker:
        command = ["/usr/bin/sleep", "infinity"]
        self.rows.append(Group(self.run_id, trial, name, count, cpu, memory, command, **columns))
        return self

    def snapshot(self, sandbox: str, state: str = "durable", **columns: Any) -> RunMaker:
        defaults: dict[str, Any] = {"trial": 0, "step": 2, "group_name": "tasks", "generation": 1}
        self.rows.append(SnapshotRow(self.run_id, sandbox=sandbox, state=state, **defaults | columns))
        return self

    def inventory(self, moment: str, trial: int | None = None, count: int | None = 0, **columns: Any) -> RunMaker:
        self.rows.append(Inventory(self.run_id, trial, 0.5, moment, "sandboxes", count, [], **columns))
        return self

    def step(self, trial: int = 0, step: int = 2, **columns: Any) -> RunMaker:
        defaults: dict[str, Any] = {
            "kind": "load", "label": "load", "group_name": "tasks", "pacing": "burst", "in_flight": 10,
            "started_s": 1.0, "ended_s": 80.0, "outcome": "finished",
        }  # fmt: skip
        self.rows.append(Step(self.run_id, trial, step, **defaults | columns))
        return self

    def attempt(self, operation: str = "resume", seconds: float = 1.0, at: float = 10.0, **columns: Any) -> RunMaker:
        """An attempt due at `at` that took `seconds` from then; it worked unless `outcome` says otherwise."""
        outcome = columns.setdefault("outcome", "ok")
        late = columns.pop("late", 0.0)
        started = None if outcome == "skipped" else at + late
        ready = at + seconds if outcome == "ok" else None
        defaults: dict[str, Any] = {
            "trial": 0, "step": 2, "round": 0, "batch": 0, "group_name": "tasks", "sandbox": f"sg-{self.made}",
            "try_number": 1, "running_before": 0, "in_flight": 1, "intended_s": at, "started_s": started,
            "acknowledged_s": ready, "ready_s": ready, "ended_s": at + seconds, "timeout_s": 15.0,
            "how": None, "resource": None, "error": None, "detail": None,
        }  # fmt: skip
        self.rows.append(Attempt(self.run_id, attempt=self.made, operation=operation, **defaults | columns))
        self.made += 1
        return self

    def sample(self, metric: str, value: float | None, at: float, scope: str = "node", **columns: Any) -> RunMaker:
        defaults: dict[str, Any] = {"trial": 0, "step": 2, "subject": scope, "unit": "bytes", "source": "/proc"}
        self.rows.append(Sample(self.run_id, at_s=at, scope=scope, metric=metric, value=value, **defaults | columns))
        return self

    def fact(self, key: str, value: str | None, unit: str | None = None, **columns: Any) -> RunMaker:
        self.rows.append(FactRow(self.run_id, key, value, unit, **columns))
        return self

    def write(self, results: Path) -> Path:
        """Append all rows to the segments below a results folder; returns the run's folder."""
        run_dir = results / "runs" / self.run_id
        (run_dir / "segments").mkdir(parents=True, exist_ok=True)
        for table in TABLES:
            lines = [orjson.dumps(row) + b"\n" for row in self.rows if _TABLE_OF[type(row)] == table]
            if lines:
                with (run_dir / "segments" / f"{table}.ndjson").open("ab") as file:
                    file.write(b"".join(lines))
        return run_dir


def whole_run(**columns: Any) -> RunMaker:
    """A run with one trial, one load and clean ends, to which attempts are added."""
    return RunMaker().run(**columns).trial().step().inventory("end")


def _facts(made: RunMaker) -> None:
    made.fact("node.cpu_count", "2", "cores", source="sched_getaffinity")
    made.fact("node.cpu_model", "AMD EPYC 7B13", source="/proc/cpuinfo")
    made.fact("node.memory_bytes", str(8 * 2**30), "bytes", source="/proc/meminfo")
    made.fact("node.kernel", "6.1.0-18-amd64", source="uname")
    made.fact("runsc.version", "release-20250319.0", source="runsc --version")
    made.fact("runsc.platform", "systrap", source="a sandbox booted with it")
    made.fact("node.swap_bytes", None, "bytes", reason="the kernel does not say")


def _samples(made: RunMaker, trial: int, step: int, start: float, end: float, running: Any, seed: int) -> None:
    random_ = random.Random(seed)
    cpu = 100.0
    for tick in range(math.ceil(end - start)):
        at, count = start + tick, running(start + tick)
        cpu += min(2.0, 0.2 + random_.random() * 1.6)
        memory = 900 * MIB + count * 11.3 * MIB + random_.random() * 4 * MIB
        made.sample("cpu_seconds_total", cpu, at, trial=trial, step=step, unit="s")
        made.sample("memory_bytes", memory, at, trial=trial, step=step)
        made.sample("running", count, at, trial=trial, step=step, unit="sandboxes")
        made.sample("loop_lag_s", 0.001, at, "generator", trial=trial, step=step, unit="s")


def density_run(
    run_id: str = "20261130-120000-density-ab12", simulated: bool = False, repetitions: int = 1
) -> RunMaker:
    """As the scenario `density` leaves it: idle sandboxes, ten at a time, until refused."""
    trials = [(cpu, n) for cpu in (50, 250, 1000) for n in range(repetitions)]
    made = RunMaker(run_id, "density").run(
        title="How many idle sandboxes fit, and does waking slow down as the host fills?", trials_planned=len(trials),
        simulated=simulated, checks_spec=[
            {"of": "resume.failed", "at_most": 0}, {"of": "resume.p50", "where": {"cpu": "50m"}, "at_most": "2s"},
            {"of": "resume.p95", "where": {"cpu": 1}, "at_most": "4s"},
        ], scenario_yaml="name: density\ntitle: How many idle sandboxes fit?\n",
    )  # fmt: skip
    _facts(made)
    at = 1.0
    for trial, (cpu, repetition) in enumerate(trials):
        begun = at
        made.trial(trial, {"cpu": f"{cpu}m" if cpu < 1000 else 1}, cpu=cpu, memory=64 * MIB, repetition=repetition + 1)
        made.inventory("found", trial)
        random_, most, running, history = random.Random(trial), 2000 // cpu, 0, [(at, 0)]
        for batch in range(100):
            names = [f"sg-ab12-{trial}-idle-{batch * 10 + n:05d}" for n in range(10)]
            shared: dict[str, Any] = {"trial": trial, "batch": batch}
            for name in names:
                made.attempt("create", 0.005, at, sandbox=name, **shared)
            ends, refused = at, False
            for name in names:
                took = random_.lognormvariate(math.log(0.8 + running * 0.02), 0.2)
                if running >= most:
                    refused = True
                    made.attempt("resume", 0.01, at + 0.1, sandbox=name, outcome="refused", resource="cpu",
                                 error="no worker has room", **shared)  # fmt: skip
                    continue
                running += 1
                made.attempt("resume", took, at + 0.1, sandbox=name, how="booted", **shared)
                ends = max(ends, at + 0.1 + took)
            history.append((ends, running))
            at = ends + 3
            if refused:
                break
        made.step(trial, started_s=begun, ended_s=at, outcome="refused", pacing="10 in flight")
        _samples(made, trial, 2, begun, at,
                 lambda now, known=history: max(n for end, n in known if end <= now or n == 0), trial)  # fmt: skip
        at += 5
    return made.inventory("end")


def latency_run(run_id: str = "20261130-130000-latency-cd34", *, simulated: bool = False) -> RunMaker:
    """As the scenario `latency` leaves it: N at once, three rounds, with one time-out and one failure."""
    limits = (1, 5, 10, 20, 40)
    made = RunMaker(run_id, "latency").run(
        title="What does concurrency cost, and how long do resume and suspend take with N in flight?",
        trials_planned=len(limits), simulated=simulated, checks_spec=[{"of": "resume.failed", "at_most": 0}],
    )  # fmt: skip
    _facts(made)
    at, random_ = 1.0, random.Random(7)
    for trial, limit in enumerate(limits):
        begun = at
        made.trial(trial, {"n": limit})
        shared: dict[str, Any] = {"trial": trial}
        for n in range(limit):
            made.attempt("create", 0.004, at, sandbox=f"s-{trial}-{n}", **shared)
        made.step(trial, 2, in_flight=limit, started_s=at, ended_s=at + 1)
        at += 1
        for round_number in range(3):
            shared = {"trial": trial, "step": 3, "round": round_number, "batch": round_number}
            for n in range(limit):
                how = "booted" if round_number == 0 else "restored"
                took = random_.lognormvariate(math.log((0.5 if how == "booted" else 0.25) * (1 + limit / 4)), 0.15)
                name = f"s-{trial}-{n}"
                if limit == 40 and n == 7 and round_number == 1:
                    made.attempt("resume", 15.0, at, sandbox=name, outcome="timed_out", error="no answer", **shared)
                else:
                    made.attempt("resume", took, at, sandbox=name, how=how, **shared)
            for n in range(limit):
                took = random_.lognormvariate(math.log(0.1 * (1 + limit / 8)), 0.2)
                failed = limit == 20 and n == 3 and round_number == 2
                made.attempt("suspend", took, at + 15, sandbox=f"s-{trial}-{n}", outcome="failed" if failed else "ok",
                             error="sg-cd34-tasks-3: checkpoint: exit 128" if failed else None, **shared)  # fmt: skip
            at += 20
        made.step(trial, 3, in_flight=limit, started_s=begun + 1, ended_s=at)
        _samples(made, trial, 3, begun + 1, at, lambda now, limit=limit: limit, trial)
        at += 3
    return made.inventory("end")
