"""Made-up runs of the other published tests, as their scenarios leave them; the truth of each is known by hand."""

from __future__ import annotations

import json
import math
import random
from typing import Any

from tests.warehouse.segments import MIB, RunMaker

CHECKED: list[dict[str, Any]] = [{"of": "wake.failed", "at_most": 0}, {"of": "wake.lost_state", "at_most": 0}]


def answer(count: int, boot: str = "b0", **more: Any) -> dict[str, Any]:
    """What a wake brings back."""
    told = json.dumps({"count": count, "boot": boot, "nonce": ""})
    return {"status": 200, "answer": told, "parked_s": 0, "way": "exec", **more}


def wake_run(run_id: str = "20261201-100000-wake-aa11", *, lose: bool = False) -> RunMaker:
    """One sandbox a CPU size, woken five times; with `lose`, the third wake of the first one finds another boot."""
    cpus = {"50m": (50, 2.1), "250m": (250, 0.3), 1: (1000, 0.09)}
    made = RunMaker(run_id, "wake").run(
        title="How long does a request wait for a suspended sandbox, by its CPU limit?", trials_planned=3,
        checks_spec=CHECKED,
    )  # fmt: skip
    at = 1.0
    for trial, (value, (cpu, base)) in enumerate(cpus.items()):
        made.trial(trial, {"cpu": value}, cpu=cpu, memory=256 * MIB, group="sleepers")
        made.step(trial, 2, group_name="sleepers", started_s=at, ended_s=at + 3)
        shared: dict[str, Any] = {"trial": trial, "group_name": "sleepers", "sandbox": f"sg-{trial}-sleepers-0"}
        for operation in ("create", "resume", "suspend"):
            how = "booted" if operation == "resume" else None
            made.attempt(operation, 0.2, at, how=how, **shared)
            at += 0.5
        made.step(trial, 3, group_name="sleepers", in_flight=1, started_s=at, ended_s=at + 30)
        for round_number in range(5):
            lost = lose and trial == 0 and round_number == 2
            count = round_number + 1 if not lose or trial or round_number < 2 else round_number - 1
            boot = f"b{trial}" if not lose or trial or round_number < 2 else "other"
            seconds = base * (1 + 0.1 * round_number)
            placed = {**shared, "step": 3, "round": round_number, "batch": round_number}
            made.attempt(
                "wake", seconds, at, how="booted" if lost else "restored", detail=answer(count, boot), **placed
            )
            made.attempt("suspend", 0.1, at + seconds + 0.1, **placed)
            at += seconds + 0.5
        at += 1
    return made.inventory("end")


def wake_burst_run(run_id: str = "20261201-101000-wake-burst-aa22") -> RunMaker:
    """1, 10 and 30 wakes at once, three rounds; in the last round of 30, two are parked and refused."""
    made = RunMaker(run_id, "wake-burst").run(
        title="How long do requests wait when many suspended sandboxes are asked at once?", trials_planned=3,
        checks_spec=CHECKED,
    )  # fmt: skip
    at, random_ = 1.0, random.Random(3)
    for trial, burst in enumerate((1, 10, 30)):
        made.trial(trial, {"burst": burst}, cpu=250, memory=256 * MIB, group="sleepers", count=burst)
        made.step(trial, 3, group_name="sleepers", in_flight=burst, started_s=at, ended_s=at + 30)
        for round_number in range(3):
            for n in range(burst):
                placed: dict[str, Any] = {"trial": trial, "step": 3, "round": round_number, "batch": round_number,
                                          "group_name": "sleepers", "sandbox": f"sg-{trial}-{n}"}  # fmt: skip
                if burst == 30 and round_number == 2 and n < 2:
                    made.attempt("wake", 5.0, at, outcome="refused", resource="cpu", error="no worker has room",
                                 detail={"status": 503, "parked_s": 5.0}, **placed)  # fmt: skip
                    continue
                seconds = random_.lognormvariate(math.log(0.3 * (1 + burst / 15)), 0.2)
                detail = answer(round_number + 1, f"b{trial}-{n}")
                made.attempt("wake", seconds, at, how="restored", detail=detail, **placed)
            at += 8
    return made.inventory("end")


def control_plane_run(run_id: str = "20261201-102000-control-plane-bb11") -> RunMaker:
    """120 sandboxes through four phases, 20 in flight: each phase takes six rounds of one time."""
    made = RunMaker(run_id, "control-plane").run(
        title="How many sandboxes a second can the control plane create, resume, suspend and delete?",
        checks_spec=[{"of": "create.rate", "at_least": 100}, {"of": "component.cpu_peak", "at_most": "2",
                      "where": {"component": "runsc", "operation": "resume"}}],
    )  # fmt: skip
    made.trial(0, cpu=25, memory=64 * MIB, group="tiny", count=120)
    at, cpu = 1.0, {"runsc": 10.0, "router": 1.0, "uploader": 2.0, "sandgauge": 5.0}
    cores = {"create": 0.2, "resume": 1.5, "suspend": 0.7, "delete": 0.3}
    for step, (operation, each) in enumerate({"create": 0.1, "resume": 2.0, "suspend": 0.5, "delete": 0.25}.items(), 2):
        begun = at
        for n in range(120):
            how = "booted" if operation == "resume" else None
            made.attempt(operation, each, at + n // 20 * each, step=step, group_name="tiny", sandbox=f"sg-{n}", how=how)
        seconds = 6 * each
        ticks = [*range(math.floor(seconds) + 1), seconds] if seconds % 1 else list(range(math.floor(seconds) + 1))
        for number, tick in enumerate(ticks):
            passed = tick - ticks[number - 1] if number else 0.0
            for component, share in (("runsc", 1.0), ("router", 0.05), ("uploader", 0.1), ("sandgauge", 0.4)):
                busy = 1.2 if operation == "resume" and number == 4 else 1.0
                cpu[component] += passed * cores[operation] * share * busy
                scope = "generator" if component == "sandgauge" else "component"
                made.sample("cpu_seconds_total", cpu[component], begun + tick, scope, step=step, subject=component,
                            unit="s")  # fmt: skip
            made.sample("cpu_seconds_total", 20 + begun + tick, begun + tick, step=step, unit="s")
        at += seconds
        made.step(0, step, group_name="tiny", in_flight=20, pacing="20 in flight", started_s=begun, ended_s=at)
        at += 0.5
    return made.inventory("end")


def neighbours_run(run_id: str = "20261201-103000-noisy-neighbours-cc11", fate: str = "loading") -> RunMaker:
    """Six victims alone and beside four hogs of each kind.

    The CPU benchmark takes 0.4 s alone, and twice as long beside CPU hogs. With `fate` ended or
    stopped, one of the four CPU hogs does so in the middle of the benchmark.
    """
    kinds: dict[str, tuple[float, float, float]] = {
        "none": (0.4, 0.1, 0.3), "cpu": (0.8, 0.12, 0.5), "disk": (0.44, 0.3, 0.6), "memory": (0.48, 0.11, 0.33),
    }  # fmt: skip
    made = RunMaker(run_id, "noisy-neighbours").run(
        title="What do busy neighbours cost a sandbox that has a CPU limit of its own?", trials_planned=4,
        checks_spec=[{"of": "exec.failed", "at_most": 0}, {"of": "neighbours.stopped", "at_most": 0},
                     {"of": "exec.inside_p50", "at_most": "600ms",
                      "where": {"neighbours": "cpu", "program": "cpu-benchmark"}}],
    )  # fmt: skip
    at = 1.0
    for trial, (kind, (cpu_s, write_s, suspend_s)) in enumerate(kinds.items()):
        made.trial(trial, {"neighbours": kind}, cpu=250, memory=256 * MIB, group="victims", count=6)
        names = [f"sg-{trial}-victims-{n}" for n in range(6)]
        shared: dict[str, Any] = {"trial": trial, "group_name": "victims"}
        for name in names:
            made.attempt("create", 0.01, at, sandbox=name, **shared)
            made.attempt("resume", 0.5, at + 0.1, sandbox=name, how="booted", **shared)
        made.step(trial, 2, group_name="victims", started_s=at, ended_s=at + 1)
        at += 1
        hogs = [] if kind == "none" else [f"sg-{trial}-{kind}-hogs-{n}" for n in range(4)]
        if hogs:
            made.group(
                trial, f"{kind}-hogs", count=4, cpu=1000, memory=512 * MIB, workload=f"{kind}-hog", background=True
            )
            placed: dict[str, Any] = {"trial": trial, "step": 3, "group_name": f"{kind}-hogs"}
            for name in hogs:
                made.attempt("create", 0.01, at, sandbox=name, **placed)
                made.attempt("resume", 0.6, at + 0.1, sandbox=name, how="booted", **placed)
            made.step(trial, 3, group_name=f"{kind}-hogs", started_s=at, ended_s=at + 3)
            at += 3
        for step, program, seconds in ((6, "cpu-benchmark", cpu_s), (7, "write-benchmark", write_s)):
            begun = at
            for round_number in range(5):
                for n, name in enumerate(names):
                    took = seconds * (1 + 0.01 * (round_number * 6 + n - 15))
                    made.attempt("exec", took + 0.05, at, step=step, sandbox=name, program=program, inside_s=took,
                                 round=round_number, batch=round_number, **shared)  # fmt: skip
                at += 1
            made.step(trial, step, group_name="victims", in_flight=6, started_s=begun, ended_s=at)
            _hog_samples(made, trial, step, begun, at, hogs, fate if kind == "cpu" else "loading")
        begun = at
        for round_number in range(5):
            for n, name in enumerate(names):
                placed = {"step": 8, "sandbox": name, "round": round_number, "batch": round_number, **shared}
                made.attempt("suspend", suspend_s * (1 + 0.01 * n), at, **placed)
                made.attempt("resume", 0.3, at + 1, how="restored", **placed)
            at += 2
        made.step(trial, 8, group_name="victims", in_flight=6, started_s=begun, ended_s=at)
        _hog_samples(made, trial, 8, begun, at, hogs, fate if kind == "cpu" else "loading", "late")
        at += 2
    return made.inventory("end")


def _hog_samples(
    made: RunMaker, trial: int, step: int, begun: float, ended: float, hogs: list[str], fate: str, when: str = "half"
) -> None:
    """Each hog gets half its CPU; the first one meets its fate after two seconds of step 6, and stays so."""
    for tick in range(int(ended - begun) + 1):
        at = begun + tick
        made.sample("cpu_seconds_total", 100 + at * 2, at, trial=trial, step=step, unit="s")
        for number, name in enumerate(hogs):
            over = number == 0 and fate != "loading" and (step > 6 or tick > 2)
            if over and fate == "ended":
                if when == "half":
                    made.sample("cpu_seconds_total", None, at, "sandbox", trial=trial, step=step, subject=name,
                                unit="s", reason="its cgroup is gone")  # fmt: skip
                continue
            used = (begun + 2 if step == 6 else 12.0) if over else at
            made.sample("cpu_seconds_total", used * 0.5, at, "sandbox", trial=trial, step=step, subject=name, unit="s")


def storm_run(run_id: str = "20261201-104000-snapshot-storm-dd11", fates: dict[int, str] | None = None) -> RunMaker:
    """Twenty snapshots: suspended within a second, nothing sent for 300 s, durable one after the other from 306 s.

    `fates` gives some another state than durable. Three durable ones are restored.
    """
    made = RunMaker(run_id, "snapshot-storm").run(
        title="When many sandboxes are suspended at once, how long until every snapshot is durable?",
        checks_spec=[{"of": "suspend.failed", "at_most": 0}, {"of": "durability.lost", "at_most": 0},
                     {"of": "durability.not_durable", "at_most": 0}, {"of": "durability.restored_wrong", "at_most": 0},
                     {"of": "durability.all_durable_after", "at_most": "6m"}],
    )  # fmt: skip
    made.trial(0, cpu=100, memory=512 * MIB, group="tasks", count=20)
    for n in range(20):
        placed: dict[str, Any] = {"group_name": "tasks", "sandbox": f"sg-{n}"}
        made.attempt("create", 0.01, 1.0, **placed)
        made.attempt("resume", 0.5, 2.0, how="booted", **placed)
        made.attempt("exec", 0.5, 3.0, step=3, program="write-random", inside_s=0.4, **placed)
        made.attempt("suspend", 0.5 + 0.05 * n, 10.0, step=4, **placed)
    made.step(0, 2, started_s=1.0, ended_s=3.0).step(0, 3, started_s=3.0, ended_s=9.0)
    made.step(0, 4, started_s=10.0, ended_s=12.0)
    made.step(0, 5, kind="durability", in_flight=None, pacing=None, started_s=12.0, ended_s=340.0)
    size, sent = 105 * MIB, 0
    for n in range(20):
        state = (fates or {}).get(n, "durable")
        suspended = 10.5 + 0.05 * n
        first = 310.0 + n
        done = state == "durable"
        columns: dict[str, Any] = {"state": state, "suspended_s": suspended, "size_bytes": size, "tries": 1}
        if state != "local_only":
            columns |= {"first_byte_s": first, "uploaded_bytes": size if done else 30 * MIB}
        if done:
            columns |= {"manifest_s": first + 5, "durable_s": first + 5.5, "objects": 5, "checksum": "ab"}
            if n in (3, 8, 13):
                columns |= {"restored_s": 338.0, "files_ok": True, "memory_ok": True}
        made.snapshot(f"sg-{n}", step=5, **columns)
    for tick in range(329):
        at = 12.0 + tick
        sent = min(20 * size, max(0, int((at - 310) / 24 * 20 * size)))
        made.sample("uploaded_bytes_total", sent, at, "component", step=5, subject="uploader")
        made.sample("cpu_seconds_total", 1 + max(0.0, at - 310) * 0.4, at, "component", step=5, subject="uploader",
                    unit="s")  # fmt: skip
    return made.inventory("after", 0, 20).inventory("end")
