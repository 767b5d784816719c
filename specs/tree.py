"""A document as plain values that know where they came from, and what was found wrong with it.

`specs.reading` makes it; everything after that reports what it finds here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from specs.errors import Problem, SpecError

Loc = tuple[str | int, ...]
"""The way from the root of a document to one value: keys and indexes from 0."""

# Ten thousand mistakes of one kind are one mistake to whoever reads them.
MOST_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands; line and column count from 1."""

    file: str
    line: int
    column: int


def dotted(path: Loc) -> str:
    """A path as people write it: `steps.2.load.group`."""
    text = ".".join(str(part) for part in path)
    return text if len(text) <= 100 else text[:97] + "..."


@dataclass
class Tree:
    """A document as plain values, with the places they came from.

    Attributes:
        file: the label of the file in messages.
        data: dicts, lists, text, numbers, booleans and None.
        values: the place of each value.
        keys: the place of each key, by the path of its value.
        problems: what was found wrong so far.
        broken: mappings with a key that was refused, so that nothing is said of what they lack.
        spoiled: paths whose value is not what the user meant, so that nothing more is said of them.
    """

    file: str
    data: Any = None
    values: dict[Loc, Place] = field(default_factory=dict)
    keys: dict[Loc, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    broken: set[Loc] = field(default_factory=set)
    spoiled: set[Loc] = field(default_factory=set)

    def place(self, path: Loc, *, key: bool = False) -> Place:
        """The place of a value or of its key, or of the nearest thing around it."""
        if key and path in self.keys:
            return self.keys[path]
        for end in range(len(path), -1, -1):
            if path[:end] in self.values:
                return self.values[path[:end]]
        return Place(self.file, 1, 1)

    def report(self, path: Loc, message: str, *, key: bool = False, shown: Loc | None = None) -> None:
        """Note a problem, unless the value there, or around it, is known to be spoiled."""
        if path and path in self.broken and not key:
            return
        if any(path[:end] in self.spoiled for end in range(len(path) + 1)):
            return
        place = self.place(path, key=key)
        text = dotted(path if shown is None else shown)
        self.problems.append(Problem(place.file, place.line, place.column, text, message))

    def spoil(self, path: Loc, message: str, *, key: bool = False) -> None:
        """Note a problem and say nothing more about this value."""
        self.report(path, message, key=key)
        self.spoiled.add(path)

    def raise_problems(self) -> None:
        """Raise all problems noted, if any.

        Raises:
            SpecError: with every problem.
        """
        if self.problems:
            raise SpecError(sorted(set(self.problems))[:MOST_PROBLEMS])
