"""The rows that a run leaves behind, as they are written to segments.

One class a table, one file of JSON lines a table and run (`segments/attempts.ndjson`), one line a
row. A row with the same key may be written again, to add what was not known before: the last line
wins. Times ending in `_s` are seconds on the run's own monotonic clock, whose zero is
`Run.started_at`. The tables, with the unit of every column, are in `migrations/0001_tables.sql`;
a test keeps both alike. What is missing is None, and never zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Run:
    run_id: str
    scenario: str
    title: str
    size: str
    target: str
    platform: str
    simulated: bool
    started_at: str
    ended_at: str | None = None
    outcome: str | None = None  # finished, cancelled, failed; None while running or when killed
    error: str | None = None
    seed: int = 0
    trials_planned: int = 0
    attempts_planned: int = 0
    vantage: str = ""  # where the load came from: host and process
    scenario_sha256: str = ""
    scenario_yaml: str = ""
    overrides: dict[str, Any] = field(default_factory=dict)
    target_spec: dict[str, Any] = field(default_factory=dict)
    checks_spec: list[dict[str, Any]] = field(default_factory=list)
    flow_run_id: str | None = None
    sandgauge_version: str = ""
    suite: str | None = None
    suite_run: str | None = None


@dataclass(slots=True)
class Trial:
    run_id: str
    trial: int
    repetition: int
    seed: int
    matrix: dict[str, Any]
    started_s: float | None = None
    ended_s: float | None = None
    outcome: str | None = None  # finished, cancelled, failed
    error: str | None = None


@dataclass(slots=True)
class Group:
    run_id: str
    trial: int
    group_name: str
    count: int
    cpu_millicores: int
    memory_bytes: int
    command: list[str]
    workload: str | None = None  # the built-in program, where it runs one
    background: bool | None = None  # meant to load the node while other groups are measured


@dataclass(slots=True)
class Step:
    run_id: str
    trial: int
    step: int
    kind: str  # cleanup, provision, load, durability
    label: str
    group_name: str | None = None
    pacing: str | None = None
    in_flight: int | None = None  # the limit of a closed loop, the size of a burst
    rate_per_s: float | None = None
    schedule_seed: int | None = None
    started_s: float | None = None
    ended_s: float | None = None
    outcome: str | None = None  # finished, refused (ended by until: refused), cancelled, failed
    error: str | None = None


@dataclass(slots=True)
class Attempt:
    run_id: str
    trial: int
    step: int
    attempt: int  # counts from 0 over the run
    round: int
    batch: int
    group_name: str
    sandbox: str
    operation: str
    try_number: int
    running_before: int  # sandboxes running when it started, as the engine knew it
    in_flight: int | None  # attempts in flight when it started, itself included
    intended_s: float
    started_s: float | None
    acknowledged_s: float | None
    ready_s: float | None
    ended_s: float | None
    timeout_s: float
    outcome: str  # ok, refused, failed, timed_out, unknown, unsupported, cancelled, skipped
    how: str | None  # booted, restored
    resource: str | None  # the booking that was full
    error: str | None
    detail: dict[str, Any] | None
    program: str | None = None  # of an exec
    inside_s: float | None = None  # by the program's own clock


@dataclass(slots=True)
class SnapshotRow:
    run_id: str
    trial: int
    step: int
    group_name: str
    sandbox: str
    generation: int
    state: str  # local_only, uploading, durable, lost, stale, partial, stuck
    store: str | None = None
    suspended_s: float | None = None
    first_byte_s: float | None = None
    manifest_s: float | None = None
    durable_s: float | None = None
    size_bytes: int | None = None
    uploaded_bytes: int | None = None
    objects: int | None = None
    checksum: str | None = None
    tries: int | None = None
    restored_s: float | None = None
    files_ok: bool | None = None
    memory_ok: bool | None = None
    error: str | None = None


@dataclass(slots=True)
class Sample:
    run_id: str
    trial: int | None
    step: int | None
    at_s: float
    scope: str  # node, sandbox, component, generator
    subject: str
    metric: str  # cpu_seconds_total, memory_bytes, pressure_cpu_some_avg10, loop_lag_s, running ...
    value: float | None
    unit: str
    source: str
    reason: str | None = None


@dataclass(slots=True)
class Inventory:
    run_id: str
    trial: int | None
    at_s: float
    moment: str  # found (before a clean-up), start (after it), after (a trial's steps), end (after the last clean-up)
    kind: str  # sandboxes, processes, cgroups, mounts, ...
    count: int | None
    names: list[str]
    reason: str | None = None


@dataclass(slots=True)
class FactRow:
    run_id: str
    key: str
    value: str | None
    unit: str | None = None
    source: str | None = None
    reason: str | None = None


TABLES: dict[str, type] = {
    "runs": Run,
    "trials": Trial,
    "groups": Group,
    "steps": Step,
    "attempts": Attempt,
    "snapshots": SnapshotRow,
    "samples": Sample,
    "inventory": Inventory,
    "facts": FactRow,
}

KEYS: dict[str, tuple[str, ...]] = {
    "runs": ("run_id",),
    "trials": ("run_id", "trial"),
    "groups": ("run_id", "trial", "group_name"),
    "steps": ("run_id", "trial", "step"),
    "snapshots": ("run_id", "trial", "sandbox", "generation"),
    "facts": ("run_id", "key"),
}
"""Tables whose rows may be written again, and their keys; rows of the others are written once."""
