"""A plan: what would be run, trial by trial, before anything is.

The story continues in `flows.run_scenario`, which leads each trial through its steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from specs.loading import Document
from specs.models import Group, InFlight, Load, LoadStep, Rate, Scenario, operation_of
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
    def labels(self) -> list[str]:
        """What each step does, in one line."""
        return [step_label(step) for step in self.scenario.steps]


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


def make_plan(document: Document, target: Target, operations: frozenset[str], platform_name: str) -> Plan:
    """Expand a document for a target.

    The trials of one repetition run before those of the next, so that a drift of the machine
    meets every combination alike.

    Args:
        document: a scenario that `load_scenario` found no fault with.
        target: what it runs on.
        operations: what the target's platform can do.
        platform_name: its name, for messages.

    Raises:
        SpecError: the scenario needs an operation that the platform cannot do.
    """
    _refuse_operations(document, operations, platform_name)
    attempts = [trial_attempts(scenario) for _, scenario in document.scenarios]
    trials = tuple(_trials(document, attempts))
    return Plan(document, target, trials, _estimates(document, trials))


def load_attempts(load: Load, group: Group) -> int:
    """Attempts of a load step when nothing ends it early."""
    return group.count * len(load.do) * load.repeat


def trial_attempts(scenario: Scenario) -> int:
    """Attempts of a whole trial when nothing ends a step early."""
    return sum(
        load_attempts(step.load, scenario.groups[step.load.group])
        for step in scenario.steps
        if isinstance(step, LoadStep)
    )


def trial_seed(seed: int, index: int) -> int:
    """The seed of one trial: of the run's seed and its place, and of nothing else."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{index}".encode()).digest()[:4], "big") & 0x7FFFFFFF


def step_label(step: str | LoadStep) -> str:
    """What a step does, in one line."""
    if isinstance(step, str):
        return step
    load = step.load
    operations = ", ".join(operation_of(action) for action in load.do)
    return f"{load.group}: {operations} ({pacing_label(load.pacing)})"


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
        "steps": sum(len(trial.scenario.steps) for trial in trials),
        "attempts": attempts,
    }
    return Estimates(len(trials), attempts, max(sandboxes), rows)


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
