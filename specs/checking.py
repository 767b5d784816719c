"""What makes no sense in a scenario although each part of it is well formed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from specs.models import FIGURES_IN_SECONDS, Check, Load, LoadStep, Scenario, Step, operation_of
from specs.placeholders import UNKNOWN
from specs.quantities import parse_duration
from specs.tree import Loc
from specs.validation import Fault, near, shown

_MANNERS = ("booted", "restored")


_STEP: TypeAdapter[Any] = TypeAdapter(Step)
_CHECK = TypeAdapter(Check)


@dataclass(frozen=True, slots=True)
class Parts:
    """What there is to check; a part that is not well formed is None, and told elsewhere."""

    groups: list[str]
    steps: list[str | LoadStep | None]
    checks: list[Check | None]

    @property
    def loads(self) -> list[tuple[int, Load]]:
        """The load steps, with their numbers."""
        return [(index, step.load) for index, step in enumerate(self.steps) if isinstance(step, LoadStep)]

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


def check_parts(parts: Parts, matrix: Mapping[str, list[Any]]) -> Iterator[Fault]:
    """Everything that is surely a mistake."""
    if parts.steps and parts.steps[0] not in ("cleanup", None):
        yield Fault(("steps", 0), "the first step must be cleanup, so that the trial starts from zero")
    yield from _groups(parts)
    if parts.whole:
        yield from _lives(parts)
    for index, check in enumerate(parts.checks):
        if check is not None:
            yield from _check(check, index, parts, matrix)


def _groups(parts: Parts) -> Iterator[Fault]:
    for index, load in parts.loads:
        if load.group not in parts.groups:
            hint = near(load.group, parts.groups) or f"; groups are {', '.join(parts.groups)}"
            yield Fault(("steps", index, "load", "group"), f"no group is called `{load.group}`{hint}")
    loaded = {load.group for _, load in parts.loads}
    # A group of another name is loaded by mistake: that one mistake is told above.
    if parts.whole and loaded <= set(parts.groups):
        for group in parts.groups:
            if group not in loaded:
                yield Fault(("groups", group), f"no step loads the group `{group}`", key=True)


def _lives(parts: Parts) -> Iterator[Fault]:
    """Follow each group from step to step: absent, created, or booted at some time."""
    states: dict[str, str] = {}
    for index, step in enumerate(parts.steps):
        if step == "cleanup":
            states.clear()
        if isinstance(step, LoadStep) and step.load.group in parts.groups:
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


def _check(check: Check, index: int, parts: Parts, matrix: Mapping[str, list[Any]]) -> Iterator[Fault]:
    path: Loc = ("checks", index)
    operation, figure = check.of.split(".")
    operations = sorted({operation_of(action) for _, load in parts.loads for action in load.do})
    if operation != "density" and operation not in operations and parts.whole:
        yield Fault((*path, "of"), f"no step does {operation}; steps do {', '.join(operations) or 'nothing'}")
    bound = "at_most" if check.at_most is not None else "at_least"
    if message := _unit(figure, getattr(check, bound)):
        yield Fault((*path, bound), message)
    for key, value in check.where.items():
        if message := _where(key, value, parts.groups, matrix):
            yield Fault((*path, "where", key), message, key=key not in (*matrix, "group", "how"))
    yield from _check_group(check, path, operation, parts)


def _check_group(check: Check, path: Loc, operation: str, parts: Parts) -> Iterator[Fault]:
    """A check of one group needs a step that does the operation on that group."""
    doing = {load.group for _, load in parts.loads if operation in [operation_of(action) for action in load.do]}
    group = check.where.get("group")
    if doing and group in parts.groups and group not in doing and parts.whole:
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


def _where(key: str, value: Any, groups: list[str], matrix: Mapping[str, list[Any]]) -> str | None:
    choices: list[Any]
    if key == "group":
        choices = groups
    elif key == "how":
        choices = list(_MANNERS)
    elif key in matrix:
        choices = matrix[key]
    else:
        known = [*matrix, "group", "how"]
        return f"unknown key `{key}`{near(key, known) or '; known are ' + ', '.join(known)}"
    if UNKNOWN in choices:
        return None
    # True is 1 to Python, and is not to anybody else.
    if any(type(value) is type(choice) and value == choice for choice in choices):
        return None
    return f"no {key} has {shown(value)}; it has {', '.join(str(choice) for choice in choices[:20])}"
