"""Placeholders: `"{{ name }}"` in a document, and the values that take their place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specs.tree import Loc, Tree
from specs.validation import near

_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")


class Unknown:
    """The value of a name that is declared, but whose value is at fault itself."""


UNKNOWN = Unknown()


@dataclass
class Filler:
    """Fills placeholders in; notes what is wrong with them, and which names were used.

    Attributes:
        tree: the document, for places of problems.
        elsewhere: names that exist but have no value here, with the reason.
        complete: whether all names are known; when a section could not be read, none is called undefined.
    """

    tree: Tree
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    complete: bool = True

    def fill(self, value: Any, names: Mapping[str, Any], path: Loc) -> Any:
        """The value with every placeholder filled in; recursion is bounded by the reader's depth."""
        if isinstance(value, dict):
            return {key: self.fill(inner, names, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner, names, (*path, index)) for index, inner in enumerate(value)]
        if isinstance(value, str) and "{{" in value:
            return self._text(value, names, path)
        return value

    def _text(self, text: str, names: Mapping[str, Any], path: Loc) -> Any:
        if "{{" in _PLACEHOLDER.sub("", text):
            self.tree.spoil(path, "`{{` begins a placeholder that is not complete; write {{ name }}")
            return text
        if whole := _PLACEHOLDER.fullmatch(text):
            return self._value(whole[1], names, path)
        return _PLACEHOLDER.sub(lambda found: self._embedded(found[1], names, path), text)

    def _value(self, name: str, names: Mapping[str, Any], path: Loc) -> Any:
        if name in names:
            self.used.add(name)
            if names[name] is UNKNOWN:
                self.tree.spoiled.add(path)
            return names[name]
        if name in self.elsewhere:
            self.used.add(name)
            self.tree.spoil(path, self.elsewhere[name])
        elif not self.complete:
            self.tree.spoiled.add(path)
        else:
            known = [*names, *self.elsewhere]
            listing = f"; defined are {', '.join(known)}" if known else "; no parameters and no matrix are defined"
            self.tree.spoil(path, f"placeholder `{name}` is not defined" + (near(name, known) or listing))
        return UNKNOWN

    def _embedded(self, name: str, names: Mapping[str, Any], path: Loc) -> str:
        value = self._value(name, names, path)
        if isinstance(value, list | dict):
            self.tree.spoil(path, f"placeholder `{name}` is a list; a list cannot stand inside text")
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)


def refuse_placeholders(tree: Tree, value: Any, path: Loc) -> None:
    """Note a problem for each placeholder in a part that is read before any has a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            refuse_placeholders(tree, inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            refuse_placeholders(tree, inner, (*path, index))
    elif isinstance(value, str) and "{{" in value:
        tree.spoil(path, "no placeholder can stand here; write the value out")


def names_in(value: Any) -> set[str]:
    """The names of all placeholders in a value."""
    if isinstance(value, dict):
        return set().union(*(names_in(inner) for inner in value.values()))
    if isinstance(value, list):
        return set().union(*(names_in(inner) for inner in value))
    return set(_PLACEHOLDER.findall(value)) if isinstance(value, str) else set()
