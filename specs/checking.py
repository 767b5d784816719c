"""What makes no sense in a scenario although each part of it is well formed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from specs.models import FIGURES_IN_SECONDS, Check, Load, LoadStep, Scenario, operation_of
from specs.quantities import parse_duration
from specs.reading import Loc
from specs.validation import Fault, near, shown

_MANNERS = ("booted", "restored")


def check_scenario(scenario: Scenario, matrix: Mapping[str, list[Any]]) -> Iterator[Fault]:
    """Everything that is surely a mistake."""
    if scenario.steps[0] != "cleanup":
        yield Fault(("steps", 0), "the first step must be cleanup, so that the trial starts from zero")
    loads = [(index, step.load) for index, step in enumerate(scenario.steps) if isinstance(step, LoadStep)]
    for index, load in loads:
        if load.group not in scenario.groups:
            hint = near(load.group, list(scenario.groups)) or f"; groups are {', '.join(scenario.groups)}"
            yield Fault(("steps", index, "load", "group"), f"no group is called `{load.group}`{hint}")
    for group in scenario.groups:
        if all(load.group != group for _, load in loads):
            yield Fault(("groups", group), f"no step loads the group `{group}`", key=True)
    yield from _lives(scenario)
    for index, check in enumerate(scenario.checks):
        yield from _check(check, index, scenario, [load for _, load in loads], matrix)


def _lives(scenario: Scenario) -> Iterator[Fault]:
    """Follow each group from step to step: absent, created, or booted at some time."""
    states: dict[str, str] = {}
    for index, step in enumerate(scenario.steps):
        if step == "cleanup":
            states.clear()
        if isinstance(step, LoadStep) and step.load.group in scenario.groups:
            yield from _life(step.load, index, states)


def _life(load: Load, index: int, states: dict[str, str]) -> Iterator[Fault]:
    # Twice shows what a round finds that another has left behind.
    for again in range(min(load.repeat, 2)):
        for position, action in enumerate(load.do):
            operation = operation_of(action)
            state = states.get(load.group, "absent")
            message = _misstep(operation, state, load.group, again=bool(again))
            if message:
                yield Fault(("steps", index, "load", "do", position), message)
                return
            states[load.group] = _after(operation, state)


def _misstep(operation: str, state: str, group: str, *, again: bool) -> str | None:
    if operation == "create" and state != "absent":
        if again:
            return f"create in round 2 finds the group `{group}` created already; add delete to `do`, or drop repeat"
        return f"create finds the group `{group}` created already"
    if operation != "create" and state == "absent":
        return f"{operation} before any create of the group `{group}`"
    if operation in ("suspend", "exec") and state == "created":
        return f"{operation} before any resume of the group `{group}`"
    return None


def _after(operation: str, state: str) -> str:
    return {"create": "created", "delete": "absent", "resume": "booted", "wake": "booted"}.get(operation, state)


def _check(
    check: Check, index: int, scenario: Scenario, loads: list[Load], matrix: Mapping[str, list[Any]]
) -> Iterator[Fault]:
    path: Loc = ("checks", index)
    operation, figure = check.of.split(".")
    groups = {load.group for load in loads if operation in [operation_of(action) for action in load.do]}
    if operation != "density" and not groups:
        done = sorted({operation_of(action) for load in loads for action in load.do})
        yield Fault((*path, "of"), f"no step does {operation}; steps do {', '.join(done) or 'nothing'}")
    bound = "at_most" if check.at_most is not None else "at_least"
    if message := _unit(figure, getattr(check, bound)):
        yield Fault((*path, bound), message)
    for key, value in check.where.items():
        if message := _where(key, value, scenario, matrix):
            yield Fault((*path, "where", key), message, key=key not in (*matrix, "group", "how"))
    group = check.where.get("group")
    if groups and group in scenario.groups and group not in groups:
        yield Fault((*path, "where", "group"), f"no step does {operation} on the group `{group}`")


def _unit(figure: str, bound: Any) -> str | None:
    if figure in FIGURES_IN_SECONDS:
        try:
            parse_duration(bound)
        except ValueError as error:
            return str(error)
        return None
    if isinstance(bound, bool) or not isinstance(bound, int) or bound < 0:
        return f"expected a whole number of at least 0 for {figure}, found {shown(bound)}"
    return None


def _where(key: str, value: Any, scenario: Scenario, matrix: Mapping[str, list[Any]]) -> str | None:
    choices: list[Any]
    if key == "group":
        choices = list(scenario.groups)
    elif key == "how":
        choices = list(_MANNERS)
    elif key in matrix:
        choices = matrix[key]
    else:
        known = [*matrix, "group", "how"]
        return f"unknown key `{key}`{near(key, known) or '; known are ' + ', '.join(known)}"
    # True is 1 to Python, and is not to anybody else.
    if any(type(value) is type(choice) and value == choice for choice in choices):
        return None
    return f"no {key} has {shown(value)}; it has {', '.join(str(choice) for choice in choices[:20])}"
