"""A plan: what would be run, trial by trial, before anything is.

The story continues in `flows.run_scenario`, which leads each trial through its steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from specs.loading import Document
from specs.models import (
    DurabilityStep,
    Group,
    InFlight,
    Load,
    LoadStep,
    Model,
    Need,
    Provision,
    ProvisionStep,
    Rate,
    Scenario,
    is_done,
    kind_of,
    operation_of,
)
from specs.targets import Target
from specs.tree import Loc


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One combination of the matrix in one repetition.

    Attributes:
        index: counts from 0 over the run.
        repetition: counts from 1.
        seed: of everything in the trial that is drawn; the same on every platform.
        attempts_at_most: attempts when no step ends early.
    """

    index: int
    repetition: int
    matrix: dict[str, Any]
    seed: int
    scenario: Scenario
    attempts_at_most: int

    @property
    def steps(self) -> list[tuple[int, str | Model]]:
        """The steps that are done with these matrix values, with their numbers in the scenario."""
        return _steps(self.scenario, self.matrix)

    @property
    def labels(self) -> list[str]:
        """What each step does, in one line."""
        return [step_label(step) for _, step in self.steps]

    @property
    def needs(self) -> frozenset[Need]:
        """What the steps need beside sandboxes: a `router` to wake them, a `store` for snapshots."""
        return _needs(step for _, step in self.steps)


@dataclass(frozen=True, slots=True)
class Estimates:
    """What a plan amounts to at most; `until: refused` ends steps earlier.

    Samples come once a second for as long as the run takes, so that no number of them is given.
    """

    trials: int
    attempts_at_most: int
    sandboxes_at_most: int
    rows_at_most: dict[str, int]

    def describe(self) -> list[str]:
        """The estimates as lines of text."""
        return [
            f"{self.trials:,} trials",
            f"at most {self.attempts_at_most:,} attempts",
            f"at most {self.sandboxes_at_most:,} sandboxes at once",
            *(f"at most {rows:,} rows in {table}" for table, rows in self.rows_at_most.items()),
            "samples once a second, for as long as the run takes",
        ]


@dataclass(frozen=True, slots=True)
class Plan:
    """One scenario on one target, with nothing left to choose."""

    document: Document
    target: Target
    trials: tuple[PlannedTrial, ...]
    estimates: Estimates


def make_plan(
    document: Document, target: Target, operations: frozenset[str], platform_name: str, provides: frozenset[Need]
) -> Plan:
    """Expand a document for a target.

    The trials of one repetition run before those of the next, so that a drift of the machine
    meets every combination alike.

    Args:
        document: a scenario that `load_scenario` found no fault with.
        target: what it runs on.
        operations: what the target's platform can do.
        platform_name: its name, for messages.
        provides: what it can start beside sandboxes: `router`, `store`.

    Raises:
        SpecError: the scenario needs what the platform cannot do.
    """
    _refuse_operations(document, operations, platform_name)
    _refuse_needs(document, provides, platform_name)
    attempts = [trial_attempts(scenario, matrix) for matrix, scenario in document.scenarios]
    trials = tuple(_trials(document, attempts))
    return Plan(document, target, trials, _estimates(document, trials))


def load_attempts(load: Load, group: Group) -> int:
    """Attempts of a load step when nothing ends it early."""
    return group.count * len(load.do) * load.repeat


# Of a snapshot that is restored from the store alone: resume, the program `verify`, delete.
_ATTEMPTS_A_RESTORE = 3


def trial_attempts(scenario: Scenario, matrix: Mapping[str, Any]) -> int:
    """Attempts of a whole trial when nothing ends a step early."""
    attempts = 0
    for _, step in _steps(scenario, matrix):
        if isinstance(step, LoadStep):
            attempts += load_attempts(step.load, scenario.groups[step.load.group])
        elif isinstance(step, DurabilityStep):
            watch = step.durability
            attempts += _ATTEMPTS_A_RESTORE * min(watch.restore, scenario.groups[watch.group].count)
    return attempts


def _steps(scenario: Scenario, matrix: Mapping[str, Any]) -> list[tuple[int, str | Model]]:
    return [(index, step) for index, step in enumerate(scenario.steps) if is_done(_when(step), matrix)]


def _when(step: str | Model) -> dict[str, Any]:
    if isinstance(step, LoadStep):
        return step.load.when
    return step.durability.when if isinstance(step, DurabilityStep) else {}


def _needs(steps: Iterable[str | Model]) -> frozenset[Need]:
    needs: set[Need] = set()
    for step in steps:
        if isinstance(step, DurabilityStep):
            needs.add("store")
        if isinstance(step, LoadStep) and "wake" in step.load.do:
            needs.add("router")
    return frozenset(needs)


def trial_seed(seed: int, index: int) -> int:
    """The seed of one trial: of the run's seed and its place, and of nothing else."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{index}".encode()).digest()[:4], "big") & 0x7FFFFFFF


def step_label(step: str | Model) -> str:
    """What a step does, in one line."""
    if isinstance(step, DurabilityStep):
        return f"{step.durability.group}: durability"
    if not isinstance(step, LoadStep):
        return kind_of(step)
    load = step.load
    actions = ", ".join(action if isinstance(action, str) else f"exec {action.program}" for action in load.do)
    return f"{load.group}: {actions} ({pacing_label(load.pacing)})"


def provision_of(step: str | Model) -> Provision:
    """The wishes of a provision step, written with or without any."""
    return step.provision if isinstance(step, ProvisionStep) else Provision()


def pacing_label(pacing: str | InFlight | Rate) -> str:
    """A pacing as a person says it."""
    if isinstance(pacing, InFlight):
        return f"{pacing.in_flight} in flight"
    if isinstance(pacing, Rate):
        return f"{pacing.rate:g} per second, {pacing.arrivals}"
    return pacing


def _trials(document: Document, attempts: list[int]) -> Iterator[PlannedTrial]:
    index = 0
    for repetition in range(1, document.repetitions + 1):
        for (matrix, scenario), at_most in zip(document.scenarios, attempts, strict=True):
            yield PlannedTrial(index, repetition, matrix, trial_seed(document.seed, index), scenario, at_most)
            index += 1


def _estimates(document: Document, trials: tuple[PlannedTrial, ...]) -> Estimates:
    attempts = sum(trial.attempts_at_most for trial in trials)
    sandboxes = (sum(group.count for group in scenario.groups.values()) for _, scenario in document.scenarios)
    rows = {
        "trials": len(trials),
        "groups": sum(len(trial.scenario.groups) for trial in trials),
        "steps": sum(len(trial.steps) for trial in trials),
        "attempts": attempts,
    }
    return Estimates(len(trials), attempts, max(sandboxes), rows)


def _refuse_needs(document: Document, provides: frozenset[Need], platform_name: str) -> None:
    """Raise for every durability step on a platform that has no store for snapshots."""
    if "store" in provides:
        return
    tree = replace(document.tree, problems=[], broken=set(), spoiled=set())
    for index, step in enumerate(document.scenarios[0][1].steps):
        if isinstance(step, DurabilityStep):
            tree.report(("steps", index), f"platform {platform_name} keeps no snapshots in a store")
    tree.raise_problems()


def _refuse_operations(document: Document, operations: frozenset[str], platform_name: str) -> None:
    """Raise for every place that asks an operation the platform lacks."""
    missing: Mapping[Loc, str] = {
        ("steps", step_number, "load", "do", position): operation_of(action)
        for _, scenario in document.scenarios
        for step_number, step in enumerate(scenario.steps)
        if isinstance(step, LoadStep)
        for position, action in enumerate(step.load.do)
        if operation_of(action) not in operations
    }
    tree = replace(document.tree, problems=[], broken=set(), spoiled=set())
    for path, operation in missing.items():
        can = ", ".join(sorted(operations))
        tree.report(path, f"platform {platform_name} cannot do {operation}; it can do {can}")
    tree.raise_problems()
