"""From a file to a document: everything that can be wrong with it is found here, all at once.

The text is read by `specs.reading`, changed by `specs.overrides`, and resolved by
`specs.resolving` into one scenario for each combination of the matrix. The story continues in
`specs.plan`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specs.errors import Problem, SpecError
from specs.models import Scenario
from specs.overrides import apply_overrides
from specs.reading import read_file, read_text
from specs.resolving import resolve
from specs.targets import TARGETS, Target
from specs.tree import Loc, Tree, dotted
from specs.validation import near, shown, validate

BUILT_IN = Path(__file__).parent


@dataclass(frozen=True)
class Document:
    """One scenario file, read, checked, and resolved for every combination of its matrix.

    Attributes:
        file: the label of the file in messages.
        raw: the document as plain values, with overrides, and placeholders not filled in.
        parameters: their values after size and overrides.
        overrides: what `--set` changed, by dotted path.
        scenarios: each combination of matrix values with its scenario.
    """

    name: str
    title: str
    description: str
    file: str
    text: str
    sha256: str
    size: str
    repetitions: int
    seed: int
    parameters: dict[str, Any]
    matrix: dict[str, list[Any]]
    overrides: dict[str, Any]
    scenarios: tuple[tuple[dict[str, Any], Scenario], ...]
    tree: Tree = field(repr=False)

    @property
    def raw(self) -> dict[str, Any]:
        data: dict[str, Any] = self.tree.data
        return data

    @property
    def positions(self) -> dict[Loc, tuple[int, int]]:
        """Line and column of every value, by its path."""
        return {path: (place.line, place.column) for path, place in self.tree.values.items()}


def builtin_names(kind: str = "scenarios") -> list[str]:
    """The names of what comes with the program: `scenarios` or `targets`."""
    return sorted(path.stem for path in (BUILT_IN / kind).glob("*.yaml"))


def load_scenario(source: str | Path, overrides: Sequence[str] = ()) -> Document:
    """Read a scenario: the name of a built-in one, or the path of a file.

    Raises:
        SpecError: with every problem found.
    """
    label, text = _read(source, "scenarios")
    tree = _mapping(label, text)
    changed, replaced = apply_overrides(tree, overrides)
    resolved = resolve(tree, changed, replaced)
    tree.raise_problems()
    if resolved is None:
        # Every way here is told about before; were one forgotten, this is still no traceback.
        raise SpecError([Problem(label, 1, 1, "", "this scenario cannot be resolved; compare it with a built-in one")])
    head = resolved.head
    return Document(
        name=resolved.scenarios[0][1].name,
        title=resolved.scenarios[0][1].title,
        description=resolved.scenarios[0][1].description,
        file=label,
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        size=head.size,
        repetitions=head.repetitions,
        seed=head.seed,
        parameters=resolved.parameters,
        matrix=resolved.matrix,
        overrides={dotted(path): value for path, value in changed.items()},
        scenarios=tuple(resolved.scenarios),
        tree=tree,
    )


def load_mapping(source: str | Path, kind: str) -> Tree:
    """Read a file of another kind: the name of a built-in one, or a path.

    Raises:
        SpecError: there is none, or it is no mapping.
    """
    return _mapping(*_read(source, kind))


def load_target(source: str | Path) -> Target:
    """Read a target: the name of a built-in one, or the path of a file.

    Raises:
        SpecError: with every problem found.
    """
    label, text = _read(source, "targets")
    tree = _mapping(label, text)
    platform = tree.data.get("platform")
    model = TARGETS.get(platform) if isinstance(platform, str) else None
    if model is None:
        if "platform" not in tree.data:
            tree.report((), f"the key `platform` is missing; known are {', '.join(TARGETS)}")
        else:
            hint = near(platform, list(TARGETS)) or f"; known are {', '.join(TARGETS)}"
            tree.report(("platform",), f"expected a platform, found {shown(platform)}{hint}")
        tree.raise_problems()
    assert model is not None, "an unknown platform is a problem"
    target, faults = validate(model, tree.data)
    for fault in faults:
        tree.report(fault.path, fault.message, key=fault.key)
    tree.raise_problems()
    assert target is not None, "what is not valid has problems"
    return target


def _mapping(label: str, text: str) -> Tree:
    tree = read_text(label, text)
    if tree.data is None and not tree.problems:
        raise SpecError([Problem(label, 1, 1, "", "the file is empty")])
    if not isinstance(tree.data, dict):
        tree.report((), f"expected a mapping (key: value), found {shown(tree.data)}")
        tree.raise_problems()
    return tree


def _read(source: str | Path, kind: str) -> tuple[str, str]:
    """The label and the text of a file, or of a built-in by its name."""
    if isinstance(source, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,80}", source):
        if source in builtin_names(kind):
            path = BUILT_IN / kind / f"{source}.yaml"
            return _label(path), read_file(path)
        if not Path(source).exists():
            names = builtin_names(kind)
            hint = near(source, names)
            message = f"no {kind[:-1]} is called `{source}`{hint or ';'} built in are {', '.join(names)}"
            raise SpecError([Problem(source, 1, 1, "", f"{message}; or give the path of a YAML file")])
    return str(source), read_file(Path(source))


def _label(path: Path) -> str:
    """A path as short as it can be said from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
