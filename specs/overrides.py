"""`--set path=value`: other values for a document, from the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from specs.errors import Problem, SpecError
from specs.models import Check, Exec, Group, InFlight, Load, Rate, ScenarioFile
from specs.reading import read_text
from specs.tree import Loc, Place, Tree, dotted
from specs.validation import near

LABEL = "--set"
"""The file of places in overrides; their line is the number of the override, from 1."""

# What may be set although the file leaves it out: the optional keys of these, by where they stand.
_OPTIONAL: tuple[tuple[str, tuple[type[BaseModel], ...]], ...] = (
    (r"", (ScenarioFile,)),
    (r"groups\.[^.]+", (Group,)),
    (r"steps\.\d+\.load", (Load,)),
    (r"steps\.\d+\.load\.do\.\d+", (Exec,)),
    (r"steps\.\d+\.load\.pacing", (InFlight, Rate)),
    (r"checks\.\d+", (Check,)),
)


def apply_overrides(tree: Tree, overrides: Sequence[str]) -> tuple[dict[Loc, Any], list[Any]]:
    """Set values in a tree.

    Returns:
        The values set, by path, and the values that they replaced.
    """
    done: dict[Loc, Any] = {}
    replaced: list[Any] = []
    for number, override in enumerate(overrides, 1):
        name, equals, text = override.partition("=")
        name = name.strip()
        if not equals or not name:
            _problem(tree, number, 1, "", f"{override[:60]!r} is not path=value")
            continue
        path = _locate(tree, number, name)
        if path is None:
            continue
        value = _value(tree, number, path, text, len(override) - len(text))
        old = _put(tree.data, path, value)
        replaced.append(old)
        done[path] = value
    return done, replaced


def _problem(tree: Tree, number: int, column: int, path: str, message: str) -> None:
    tree.problems.append(Problem(LABEL, number, column, path, message))


def _locate(tree: Tree, number: int, name: str) -> Loc | None:
    """The path that a dotted name stands for, or None and a problem."""
    path: list[str | int] = []
    data = tree.data
    parts = name.split(".")
    for position, part in enumerate(parts):
        if isinstance(data, list) and re.fullmatch(r"[0-9]{1,6}", part) and int(part) < len(data):
            path.append(int(part))
        elif isinstance(data, dict) and (part in data or (position == len(parts) - 1 and part in _optional(path))):
            path.append(part)
        else:
            _problem(tree, number, 1, name[:80], _unknown(tree.data, data, path, part))
            return None
        data = data[path[-1]] if isinstance(data, list) else data.get(part)  # type: ignore[index]
    return tuple(path)


def _optional(path: list[str | int]) -> set[str]:
    place = dotted(tuple(path))
    return {
        key
        for pattern, models in _OPTIONAL
        if re.fullmatch(pattern, place)
        for model in models
        for key in model.model_fields
    }


def _unknown(root: Any, data: Any, path: list[str | int], part: str) -> str:
    """Why a path leads nowhere, and what may have been meant."""
    if not path and isinstance(root, dict):
        for section, example in (("parameters", "VALUE"), ("matrix", "[VALUE, ...]")):
            if isinstance(root.get(section), dict) and part in root[section]:
                return f"`{part[:60]}` is under {section}; write {section}.{part}={example}"
    where = f"`{dotted(tuple(path))}`" if path else "the scenario"
    if isinstance(data, list):
        return f"{where} is a list of {len(data)}; write an index from 0 to {len(data) - 1}, not `{part[:60]}`"
    known = [key for key in data if "\0" not in key] if isinstance(data, dict) else []
    if not known:
        return f"{where} has no `{part[:60]}`"
    return f"{where} has no `{part[:60]}`" + (
        near(part, [*known, *sorted(_optional(path))]) or f"; it has {', '.join(known[:20])}"
    )


def _value(tree: Tree, number: int, path: Loc, text: str, offset: int) -> Any:
    """Read a value as the file's own values are read, and put its places into the tree."""
    for places in (tree.values, tree.keys):
        for old in [loc for loc in places if loc[: len(path)] == path and (loc != path or places is tree.values)]:
            del places[old]
    tree.values[path] = Place(LABEL, number, offset + 1)
    tree.keys.setdefault(path, Place(LABEL, number, 1))
    try:
        if "\n" in text or not text.strip():
            raise SpecError([Problem(LABEL, 1, 1, "", "a value on one line is missing after `=`")])
        read = read_text(LABEL, text)
    except SpecError as error:
        for problem in error.problems:
            _problem(tree, number, offset + problem.column, dotted(path), problem.message)
        tree.spoiled.add(path)
        return None
    for places, found in ((tree.values, read.values), (tree.keys, read.keys)):
        places.update({(*path, *loc): Place(LABEL, number, offset + place.column) for loc, place in found.items()})
    for problem in read.problems:
        inner = f"{dotted(path)}.{problem.path}" if problem.path else dotted(path)
        _problem(tree, number, offset + problem.column, inner, problem.message)
    tree.spoiled.update((*path, *loc) for loc in read.spoiled)
    tree.broken.update((*path, *loc) for loc in read.broken)
    return read.data


def _put(data: Any, path: Loc, value: Any) -> Any:
    for part in path[:-1]:
        data = data[part]
    old = data.get(path[-1]) if isinstance(data, dict) else data[path[-1]]
    data[path[-1]] = value
    return old
