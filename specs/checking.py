"""What makes no sense in a scenario although each part of it is well formed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from specs.figures import FIGURES, FILTERS, filters_of
from specs.models import (
    OPERATIONS,
    Check,
    Durability,
    DurabilityStep,
    Exec,
    Load,
    LoadStep,
    Model,
    Scenario,
    Step,
    is_done,
    kind_of,
    operation_of,
)
from specs.placeholders import UNKNOWN
from specs.quantities import parse_cpu, parse_duration, parse_memory
from specs.tree import Loc
from specs.validation import Fault, near, shown

_MANNERS = ("booted", "restored")


_STEP: TypeAdapter[Any] = TypeAdapter(Step)
_CHECK = TypeAdapter(Check)


@dataclass(frozen=True, slots=True)
class Parts:
    """What there is to check; a part that is not well formed is None, and told elsewhere."""

    groups: list[str]
    steps: list[str | Model | None]
    checks: list[Check | None]

    @property
    def loads(self) -> list[tuple[int, Load]]:
        """The load steps, with their numbers."""
        return [(index, step.load) for index, step in enumerate(self.steps) if isinstance(step, LoadStep)]

    @property
    def watches(self) -> list[tuple[int, Durability]]:
        """The durability steps, with their numbers."""
        return [(index, step.durability) for index, step in enumerate(self.steps) if isinstance(step, DurabilityStep)]

    @property
    def whole(self) -> bool:
        """Whether all steps are known, so that what is missing is missing indeed."""
        return None not in self.steps


def parts_of(scenario: Scenario) -> Parts:
    """The parts of a scenario without faults of form."""
    return Parts(list(scenario.groups), list(scenario.steps), list(scenario.checks))


def salvage(data: dict[str, Any]) -> Parts | None:
    """The parts that are well formed, of a scenario that is not; None when nothing can be said."""
    groups, steps, checks = data.get("groups"), data.get("steps"), data.get("checks", [])
    if not isinstance(groups, dict) or not isinstance(steps, list) or not isinstance(checks, list):
        return None
    if any("\0" in name for name in groups):
        return None
    return Parts(list(groups), [_try(_STEP, step) for step in steps], [_try(_CHECK, check) for check in checks])


def _try(kind: TypeAdapter[Any], value: Any) -> Any:
    try:
        return kind.validate_python(value)
    except ValidationError:
        return None


def check_parts(
    parts: Parts, matrix: Mapping[str, list[Any]], combination: Mapping[str, Any] | None = None
) -> Iterator[Fault]:
    """Everything that is surely a mistake, in the trials of one combination of matrix values."""
    if parts.steps and parts.steps[0] not in ("cleanup", None):
        yield Fault(("steps", 0), "the first step must be cleanup, so that the trial starts from zero")
    yield from _groups(parts)
    yield from _whens(parts, matrix)
    if parts.whole:
        yield from _lives(parts, combination or {})
    for index, check in enumerate(parts.checks):
        if check is not None:
            yield from _check(check, index, parts, matrix)


def _groups(parts: Parts) -> Iterator[Fault]:
    named = [(("steps", index, "load", "group"), load.group) for index, load in parts.loads]
    named += [(("steps", index, "durability", "group"), watch.group) for index, watch in parts.watches]
    for path, group in named:
        if group not in parts.groups:
            hint = near(group, parts.groups) or f"; groups are {', '.join(parts.groups)}"
            yield Fault(path, f"no group is called `{group}`{hint}")
    loaded = {load.group for _, load in parts.loads}
    # A group of another name is loaded by mistake: that one mistake is told above.
    if parts.whole and loaded <= set(parts.groups):
        for group in parts.groups:
            if group not in loaded:
                yield Fault(("groups", group), f"no step loads the group `{group}`", key=True)


def _whens(parts: Parts, matrix: Mapping[str, list[Any]]) -> Iterator[Fault]:
    steps: list[tuple[str, int, Load | Durability]] = [("load", index, load) for index, load in parts.loads]
    steps += [("durability", index, watch) for index, watch in parts.watches]
    for kind, index, step in steps:
        for key, wanted in step.when.items():
            path: Loc = ("steps", index, kind, "when", key)
            if key not in matrix:
                hint = near(key, matrix) or f"; its keys are {', '.join(matrix) or 'none: there is no matrix'}"
                yield Fault(path, f"no key of the matrix is called `{key}`{hint}", key=True)
                continue
            for value in wanted if isinstance(wanted, list) else [wanted]:
                if message := _not_among(key, value, matrix[key]):
                    yield Fault(path, message)


def _lives(parts: Parts, combination: Mapping[str, Any]) -> Iterator[Fault]:
    """Follow each group from step to step: absent, created, or booted at some time."""
    states: dict[str, str] = {}
    provisioned = False
    for index, step in enumerate(parts.steps):
        if step == "cleanup":
            states.clear()
        elif step is not None and kind_of(step) == "provision":
            provisioned = True
        elif isinstance(step, LoadStep) and step.load.group in parts.groups and is_done(step.load.when, combination):
            yield from _life(step.load, index, states)
        elif isinstance(step, DurabilityStep) and is_done(step.durability.when, combination):
            yield from _watched(step.durability, index, states, provisioned=provisioned)


def _watched(watch: Durability, index: int, states: dict[str, str], *, provisioned: bool) -> Iterator[Fault]:
    path: Loc = ("steps", index, "durability")
    if not provisioned:
        yield Fault(path, "durability needs a store, which the step provision starts; put provision before it")
    if states.get(watch.group) not in (None, "suspended"):
        yield Fault((*path, "group"), f"durability before any suspend of the group `{watch.group}`")
    elif watch.group not in states:
        yield Fault((*path, "group"), f"durability before any create of the group `{watch.group}`")


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
    return {
        "create": "created", "delete": "absent", "resume": "booted", "wake": "booted", "suspend": "suspended",
    }.get(operation, state)  # fmt: skip


def _check(check: Check, index: int, parts: Parts, matrix: Mapping[str, list[Any]]) -> Iterator[Fault]:
    path: Loc = ("checks", index)
    bound = "at_most" if check.at_most is not None else "at_least"
    if message := _unit(check.of, getattr(check, bound)):
        yield Fault((*path, bound), message)
    yield from check_figure(check.of, check.where, path, parts, matrix)


def check_figure(
    of: str, where: Mapping[str, Any], path: Loc, parts: Parts, matrix: Mapping[str, list[Any]]
) -> Iterator[Fault]:
    """What makes no sense in a figure that is asked of a scenario."""
    subject = of.split(".")[0]
    operations = sorted({operation_of(action) for _, load in parts.loads for action in load.do})
    if subject in OPERATIONS and subject not in operations and parts.whole:
        yield Fault((*path, "of"), f"no step does {subject}; steps do {', '.join(operations) or 'nothing'}")
    if subject == "durability" and not parts.watches and parts.whole:
        yield Fault((*path, "of"), "no step watches snapshots; add a step durability")
    for key, value in where.items():
        if key in FILTERS and key not in filters_of(of):
            yield Fault((*path, "where", key), f"{of} cannot be narrowed by `{key}`", key=True)
        elif message := _where(key, value, parts, matrix):
            yield Fault((*path, "where", key), message, key=key not in (*matrix, *FILTERS))
    doing = {load.group for _, load in parts.loads if subject in [operation_of(action) for action in load.do]}
    group = where.get("group")
    if doing and group in parts.groups and group not in doing and parts.whole:
        yield Fault((*path, "where", "group"), f"no step does {subject} on the group `{group}`")


def _unit(of: str, bound: Any) -> str | None:
    """What is wrong with a bound on a figure, by the figure's unit."""
    parsers = {"seconds": parse_duration, "bytes": parse_memory, "millicores": parse_cpu}
    unit = FIGURES[of]
    if unit in parsers:
        try:
            parsers[unit](bound)
        except ValueError as error:
            return str(error)
        return None
    name = of.split(".")[1]
    kinds, kind = (int, "whole number") if unit == "count" else (int | float, "number")
    if isinstance(bound, bool) or not isinstance(bound, kinds) or bound < 0:
        return f"expected a {kind} of at least 0 for {name}, found {shown(bound)}"
    return None


def _where(key: str, value: Any, parts: Parts, matrix: Mapping[str, list[Any]]) -> str | None:
    if key == "component":
        return None  # which there are is the platform's
    choices: list[Any]
    if key == "group":
        choices = parts.groups
    elif key == "how":
        choices = list(_MANNERS)
    elif key == "operation":
        choices = list(OPERATIONS)
    elif key == "program":
        choices = sorted({action.program for _, load in parts.loads for action in load.do if isinstance(action, Exec)})
    elif key in matrix:
        choices = matrix[key]
    else:
        known = [*matrix, *FILTERS]
        return f"unknown key `{key}`{near(key, known) or '; known are ' + ', '.join(known)}"
    return None if key == "program" and not parts.whole else _not_among(key, value, choices)


def _not_among(key: str, value: Any, choices: list[Any]) -> str | None:
    if UNKNOWN in choices:
        return None
    # True is 1 to Python, and is not to anybody else.
    if any(type(value) is type(choice) and value == choice for choice in choices):
        return None
    return f"no {key} has {shown(value)}; it has {', '.join(str(choice) for choice in choices[:20]) or 'none'}"
