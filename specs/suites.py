"""Suites: scenarios that belong together, and the table of figures that they are run for.

A suite is a file as well (`specs/suites/*.yaml`): it names scenarios, and figures of theirs, each
beside the published one that it is read against. What a figure is, is said in `specs.figures`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import Field

from specs.checking import Parts, check_figure
from specs.errors import SpecError
from specs.figures import FIGURES
from specs.loading import Document, load_mapping, load_scenario
from specs.models import Model, Name, Scalar
from specs.tree import Loc, Tree
from specs.validation import Fault, near, validate


class Published(Model):
    """Which published figure stands beside a figure; `{key}` in a condition is a matrix value."""

    test: str
    conditions: list[str] = Field(min_length=1, description="the first of them that was published counts")
    metric: str


class SuiteFigure(Model):
    """One row of the table, or one for each value of the matrix keys in `each`."""

    test: str = Field(description="the test of the study that the row belongs to")
    what: str = Field(description="the row in words; `{key}` in it is a matrix value")
    scenario: Name
    of: str = Field(pattern=rf"^({'|'.join(figure.replace('.', '[.]') for figure in FIGURES)})$")
    where: dict[str, Scalar] = {}
    each: list[str] = Field(default=[], description="matrix keys; each combination of their values gives a row")
    published: Published | None = None


class SuiteFile(Model):
    """The whole file."""

    name: Name
    title: str
    description: str = ""
    reference: Name = Field(description="the published figures, by their name in the warehouse")
    scenarios: list[Name] = Field(min_length=1, description="built-in scenarios, in the order in which they run")
    figures: list[SuiteFigure] = Field(min_length=1)


@dataclass(frozen=True)
class Suite:
    """A suite with its scenarios read, for one size."""

    file: SuiteFile
    documents: tuple[Document, ...]

    def rows(self) -> list[dict[str, Any]]:
        """The table's rows, as plain values, with `each` written out for the scenarios' matrices."""
        matrices = {document.name: document.matrix for document in self.documents}
        return [row for figure in self.file.figures for row in _rows(figure, matrices[figure.scenario])]


def load_suite(source: str | Path, overrides: Sequence[str] = ()) -> Suite:
    """Read a suite: the name of a built-in one, or the path of a file; and every scenario of it.

    Raises:
        SpecError: with every problem found, in the suite and in its scenarios.
    """
    tree = load_mapping(source, "suites")
    suite, faults = validate(SuiteFile, tree.data)
    for fault in faults:
        tree.report(fault.path, fault.message, key=fault.key)
    tree.raise_problems()
    assert suite is not None, "what is not valid has problems"
    documents = [_scenario(tree, number, name, overrides) for number, name in enumerate(suite.scenarios)]
    by_name = {document.name: document for document in documents}
    for number, figure in enumerate(suite.figures):
        for fault in _faults(figure, ("figures", number), by_name):
            tree.report(fault.path, fault.message, key=fault.key)
    tree.raise_problems()
    return Suite(suite, tuple(documents))


def _scenario(tree: Tree, number: int, name: str, overrides: Sequence[str]) -> Document:
    try:
        return load_scenario(name, overrides)
    except SpecError as error:
        if all(problem.path for problem in error.problems):
            raise
        tree.report(("scenarios", number), error.problems[0].message)
        tree.raise_problems()
        raise


def _faults(figure: SuiteFigure, path: Loc, documents: Mapping[str, Document]) -> Iterator[Fault]:
    document = documents.get(figure.scenario)
    if document is None:
        hint = near(figure.scenario, documents) or f"; they are {', '.join(documents)}"
        yield Fault((*path, "scenario"), f"no scenario of the suite is called `{figure.scenario}`{hint}")
        return
    for key in figure.each:
        if key not in document.matrix:
            hint = near(key, document.matrix) or f"; its keys are {', '.join(document.matrix) or 'none'}"
            yield Fault((*path, "each"), f"the matrix of {document.name} has no key `{key}`{hint}")
            return
    scenario = document.scenarios[0][1]
    parts = Parts(list(scenario.groups), list(scenario.steps), [])
    yield from check_figure(figure.of, figure.where, path, parts, document.matrix)
    try:
        list(_rows(figure, document.matrix))
    except (KeyError, IndexError, ValueError) as error:
        yield Fault(path, f"what stands in braces must be among `each`: {error}")


def _rows(figure: SuiteFigure, matrix: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*(matrix[key] for key in figure.each)):
        chosen = dict(zip(figure.each, values, strict=True))
        fill: Callable[..., str] = lambda text, chosen=chosen: text.format(**chosen)  # noqa: E731
        published = figure.published
        yield {
            "test": figure.test,
            "what": fill(figure.what),
            "scenario": figure.scenario,
            "of": figure.of,
            "where": {**figure.where, **chosen},
            "reference": published
            and {
                "test": published.test,
                "conditions": [fill(condition) for condition in published.conditions],
                "metric": published.metric,
            },
        }
