"""Parameters, sizes and the matrix: one document becomes one scenario for each combination."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from specs.checking import check_parts, parts_of, salvage
from specs.figures import FILTERS
from specs.models import Head, Scenario, ScenarioFile
from specs.placeholders import UNKNOWN, Filler, names_in, refuse_placeholders
from specs.tree import Loc, Tree
from specs.validation import Fault, clip, near, shown, validate

MOST_TRIALS = 10_000
_PARTS = ("groups", "steps", "checks")
_PLACELESS = ("name", "version", "size", "parameters", "sizes")

Combination = dict[str, Any]


@dataclass(frozen=True)
class Resolved:
    """A document with nothing left to choose but the trial."""

    head: Head
    parameters: dict[str, Any]
    matrix: dict[str, list[Any]]
    scenarios: list[tuple[Combination, Scenario]]


def resolve(tree: Tree, changed: dict[Loc, Any], replaced: list[Any]) -> Resolved | None:
    """Resolve a document; what is wrong with it is noted in the tree.

    Args:
        tree: the document.
        changed: what overrides set: a parameter set so wins over the size.
        replaced: the values that overrides replaced; a parameter used there is not unused.
    """
    data = tree.data
    for key in _PLACELESS:
        refuse_placeholders(tree, data.get(key), (key,))
    parameters, origins = _parameters(tree, changed)
    _forget_spoiled(tree, parameters, origins)
    complete = all(
        isinstance(data.get(key, {}), dict) and (key,) not in tree.broken for key in ("parameters", "matrix")
    )
    reason = "a matrix value has its place in groups and steps only; this is about all trials"
    filler = Filler(tree, dict.fromkeys(data.get("matrix", {}) if complete else {}, reason), complete=complete)
    filler.used.update(*(names_in(value) for value in replaced))
    # A matrix that is no mapping is a fault whatever its placeholders stand for.
    whole = _PLACELESS if isinstance(data.get("matrix"), dict) else (*_PLACELESS, "matrix")
    filled = {
        key: value if key in whole else filler.fill(value, parameters, (key,))
        for key, value in data.items()
        if key not in _PARTS
    }
    filler = Filler(tree, used=filler.used, complete=complete)
    head = _head(tree, filled)
    _forget_spoiled(tree, parameters, origins)
    matrix = _matrix(tree, filled.get("matrix"), parameters)
    _count_trials(tree, matrix, head)
    checks = _checks(tree, filler, data.get("checks", []), parameters, matrix)
    scenarios = _scenarios(tree, filler, filled, checks, parameters, matrix)
    _report_unused(tree, filler.used, parameters, matrix)
    if head is None or tree.problems:
        return None
    return Resolved(head, parameters, matrix, scenarios)


def _parameters(tree: Tree, changed: dict[Loc, Any]) -> tuple[dict[str, Any], dict[str, Loc]]:
    """The parameters after size and overrides, and where each has its value from."""
    declared = tree.data.get("parameters", {})
    if not isinstance(declared, dict):
        return {}, {}
    sizes = tree.data.get("sizes", {})
    sizes = sizes if isinstance(sizes, dict) else {}
    for name, values in sizes.items():
        for key in values if isinstance(values, dict) else ():
            if key not in declared:
                message = f"size `{name}` sets `{key}`, which is not among parameters{near(key, list(declared))}"
                tree.spoil(("sizes", name, key), message, key=True)
    values = dict(declared)
    origins: dict[str, Loc] = {key: ("parameters", key) for key in declared}
    size = _size(tree, sizes)
    chosen = sizes.get(size)
    for key, value in chosen.items() if isinstance(chosen, dict) else ():
        if key in declared and not any(path[:2] == ("parameters", key) for path in changed):
            values[key] = value
            origins[key] = ("sizes", size, key)
    return values, origins


def _forget_spoiled(tree: Tree, parameters: dict[str, Any], origins: dict[str, Loc]) -> None:
    """Make parameters unknown that have no value to judge anything by."""
    for name, origin in origins.items():
        if any(path[: len(origin)] == origin for path in tree.spoiled):
            parameters[name] = UNKNOWN


def _size(tree: Tree, sizes: dict[str, Any]) -> str:
    size = tree.data.get("size", "published")
    if not isinstance(size, str):
        return ""
    if size not in sizes and size != "published":
        known = [name for name in dict.fromkeys([*sizes, "published"]) if "\0" not in name]
        tree.spoil(("size",), f"no size is called `{size[:60]}`; known are {', '.join(known)}{near(size, known)}")
    return size


def _head(tree: Tree, filled: dict[str, Any]) -> Head | None:
    """Validate what stands around groups, steps and checks; what is at fault there is spoiled."""
    head, faults = validate(Head, {key: value for key, value in filled.items() if key in Head.model_fields})
    for key in filled:
        if key not in ScenarioFile.model_fields:
            tree.report((key,), f"unknown key `{clip(key)}`{near(key, list(ScenarioFile.model_fields))}", key=True)
    for fault in faults:
        tree.report(fault.path, fault.message, key=fault.key)
    tree.spoiled.update(fault.path for fault in faults if len(fault.path) > 1 and not fault.key)
    return head


def _matrix(tree: Tree, matrix: Any, parameters: dict[str, Any]) -> dict[str, list[Any]]:
    """The values of each key; a key whose values are at fault has one value, unknown."""
    if not isinstance(matrix, dict):
        return {}
    return {key: _matrix_values(tree, key, values, parameters) for key, values in matrix.items() if "\0" not in key}


def _matrix_values(tree: Tree, key: str, values: Any, parameters: dict[str, Any]) -> list[Any]:
    path = ("matrix", key)
    if key in parameters:
        tree.report(path, f"`{key}` is a parameter too; give one of them another name", key=True)
    if key in FILTERS:  # these narrow a check besides the matrix
        tree.report(path, f"a matrix key cannot be called `{key}`: checks use that word in `where`", key=True)
    if not isinstance(values, list) or values == []:
        if values == []:
            tree.report(path, "the list is empty, so that there would be no trial")
        return [UNKNOWN]
    seen: set[tuple[type, Any]] = set()
    for index, value in enumerate(values):
        typed = (type(value), value)
        if not isinstance(value, str | int | float | bool):
            values = [UNKNOWN]
            break
        if typed in seen:
            tree.report((*path, index), f"{shown(value)} is in the list twice")
        seen.add(typed)
    return list(values)


def _count_trials(tree: Tree, matrix: dict[str, list[Any]], head: Head | None) -> None:
    combinations = math.prod(len(values) for values in matrix.values())
    trials = combinations * (head.repetitions if head else 1)
    if trials > MOST_TRIALS:
        key = ("matrix",) if combinations > 1 else ("repetitions",)
        repeated = f" in {head.repetitions} repetitions" if head and head.repetitions > 1 else ""
        tree.report(key, f"{combinations:,} combinations{repeated} are more than {MOST_TRIALS:,} trials", key=True)


def _checks(tree: Tree, filler: Filler, checks: Any, parameters: dict[str, Any], matrix: dict[str, list[Any]]) -> Any:
    """Checks are about all trials at once, so that no matrix value can stand in them."""
    reason = "a check is about all trials; narrow it to some with `where: {{{}: VALUE}}`"
    elsewhere = {key: reason.format(key) for key in matrix}
    return Filler(tree, elsewhere, filler.used, filler.complete).fill(checks, parameters, ("checks",))


def _scenarios(
    tree: Tree,
    filler: Filler,
    filled: dict[str, Any],
    checks: Any,
    parameters: dict[str, Any],
    matrix: dict[str, list[Any]],
) -> list[tuple[Combination, Scenario]]:
    """Fill in and validate each combination; a fault that several share is told once."""
    common: dict[str, Any] = {key: filled[key] for key in ("name", "title", "description") if key in filled}
    if "checks" in tree.data:
        common["checks"] = checks
    varying = {key: tree.data[key] for key in ("groups", "steps") if key in tree.data}
    used = set().union(*(names_in(part) for part in varying.values()), _names_of_whens(tree.data.get("steps")))
    scenarios: list[tuple[Combination, Scenario]] = []
    faults: dict[Fault, list[int]] = defaultdict(list)
    combinations = list(_combinations(matrix))
    for number, combination in enumerate(combinations):
        names = {**parameters, **combination}
        own = {key: filler.fill(part, names, (key,)) for key, part in varying.items()}
        scenario, found = validate(Scenario, {**common, **own})
        parts = salvage({**common, **own}) if scenario is None else parts_of(scenario)
        if scenario is not None:
            scenarios.append((combination, scenario))
        if parts is not None:
            found += check_parts(parts, matrix, combination)
        for fault in found:
            faults[fault].append(number)
    filler.used |= used
    for fault, numbers in faults.items():
        suffix = _failing(matrix, [combinations[number] for number in numbers], len(combinations))
        tree.report(fault.path, fault.message + suffix, key=fault.key)
    return scenarios


def _names_of_whens(steps: Any) -> set[str]:
    """Matrix keys on which steps depend."""
    bodies = (
        [body for step in steps if isinstance(step, dict) for body in step.values()] if isinstance(steps, list) else []
    )
    whens = [body.get("when") for body in bodies if isinstance(body, dict)]
    return {key for when in whens if isinstance(when, dict) for key in when}


def _combinations(matrix: dict[str, list[Any]]) -> Iterable[Combination]:
    """Every combination, the last key changing fastest; no more than may be planned."""
    product = itertools.product(*matrix.values())
    return (dict(zip(matrix, values, strict=True)) for values in itertools.islice(product, MOST_TRIALS))


def _failing(matrix: dict[str, list[Any]], failing: list[Combination], total: int) -> str:
    """Which matrix values a fault goes with, when it is not all of them."""
    if len(failing) == total:
        return ""
    told = []
    for key, values in matrix.items():
        bad = list(dict.fromkeys(combination[key] for combination in failing))
        if len(bad) < len(values):
            told.append(
                f"{key} = {' or '.join(clip(str(value)) for value in bad[:5])}{' or ...' if len(bad) > 5 else ''}"
            )
    return f" (with {', '.join(told)})" if told else ""


def _report_unused(tree: Tree, used: set[str], parameters: dict[str, Any], matrix: dict[str, list[Any]]) -> None:
    if tree.spoiled or not all(isinstance(tree.data.get(key), dict | list) for key in ("groups", "steps")):
        # What could not be read may be where they are used.
        return
    for key in matrix:
        if key not in used:
            tree.report(("matrix", key), f'nothing uses this key; write "{{{{ {key} }}}}" where it belongs', key=True)
    for name in parameters:
        if name not in used:
            tree.report(("parameters", name), f'nothing uses "{{{{ {name} }}}}"; use it or remove it', key=True)
