"""Suites: what is wrong with one is told with its place; its rows are those of the scenarios' matrices."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from specs.errors import SpecError
from specs.loading import BUILT_IN, builtin_names, load_scenario
from specs.suites import load_suite

SUITE = """\
name: small
title: Two tests
reference: ax-eks-two-nodes
scenarios: [density, wake]
figures:
  - test: density
    what: "{cpu} sandboxes"
    scenario: density
    of: density.running
    each: [cpu]
    published: {test: density, conditions: ["cpu={cpu}"], metric: max_running}
  - {test: wake, what: lost, scenario: wake, of: wake.lost_state}
"""


def write(folder: Path, *changes: tuple[str, str]) -> Path:
    text = SUITE
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "s.yaml"
    path.write_text(text)
    return path


def problems_of(path: Path, overrides: tuple[str, ...] = ()) -> list[str]:
    with pytest.raises(SpecError) as caught:
        load_suite(path, overrides)
    return [str(problem).removeprefix(f"{path.parent}/") for problem in caught.value.problems]


def test_each_gives_a_row_for_each_matrix_value(tmp_path: Path) -> None:
    rows = load_suite(write(tmp_path), ["size=demo"]).rows()
    assert [(row["what"], row["where"]) for row in rows] == [
        ("50m sandboxes", {"cpu": "50m"}),
        ("250m sandboxes", {"cpu": "250m"}),
        ("lost", {}),
    ]
    assert rows[1]["reference"] == {"test": "density", "conditions": ["cpu=250m"], "metric": "max_running"}
    assert rows[2]["reference"] is None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("of: density.running", "of: density.runing"), "s.yaml:9:9: figures.0.of: "),
        (
            ("of: wake.lost_state", "of: resume.p50, where: {group: sleeper}"),
            "s.yaml:12:77: figures.1.where.group: no group has the text 'sleeper'; it has sleepers",
        ),
        (("of: wake.lost_state", "of: exec.p50"), "s.yaml:12:50: figures.1.of: no step does exec; steps do"),
        (("each: [cpu]", "each: [cpus]"), "s.yaml:10:11: figures.0.each: the matrix of density has no key `cpus`"),
        (('"cpu={cpu}"', '"cpu={n}"'), "s.yaml:6:5: figures.0: what stands in braces must be among `each`"),
        (
            ("scenario: density", "scenario: dens"),
            "s.yaml:8:15: figures.0.scenario: no scenario of the suite is called",
        ),
        (("[density, wake]", "[density, wakes]"), "s.yaml:4:22: scenarios.1: no scenario is called `wakes`"),
        (("title: Two tests\n", ""), "s.yaml:1:1: the key `title` is missing"),
        (("figures:", "figurs:"), "s.yaml:5:1: figurs: unknown key `figurs`; did you mean `figures`?"),
    ],
    ids=str,
)
def test_fault_is_told(change: tuple[str, str], expected: str, tmp_path: Path) -> None:
    assert any(problem.startswith(expected) for problem in problems_of(write(tmp_path, change))), problems_of(
        write(tmp_path, change)
    )


def test_an_override_that_no_scenario_has_is_told(tmp_path: Path) -> None:
    assert problems_of(write(tmp_path), ("size=demoo",)) == [
        "--set:1:6: size: no size is called `demoo`; known are demo, published; did you mean `demo`?"
    ]


@pytest.mark.parametrize("name", builtin_names("suites"))
@pytest.mark.parametrize("size", ["published", "demo"])
def test_built_in_suites_load_in_every_size(name: str, size: str) -> None:
    suite = load_suite(name, [f"size={size}"])
    assert suite.file.name == name
    assert len(suite.rows()) > len(suite.file.figures)


def _found(row: dict[str, Any], published: set[tuple[str, str, str]]) -> dict[str, Any]:
    """The row with the first of its conditions that was published."""
    one = next(
        (one for one in row["conditions"] if (row["test"], one, row["metric"]) in published), row["conditions"][0]
    )
    return {**row, "conditions": one}


def test_published_conditions_are_those_of_the_reference() -> None:
    with (BUILT_IN.parent / "warehouse/reference/ax-eks-two-nodes.csv").open() as file:
        published = {(row["test"], row["condition"], row["metric"]) for row in csv.DictReader(file)}
    rows = [row["reference"] for row in load_suite("published-ax").rows() if row["reference"]]
    asked = {(row["test"], row["conditions"], row["metric"]) for row in rows for row in [_found(row, published)]}
    # The study gives no p50 for these.
    assert {test for test, _, _ in asked} == {
        "density", "latency", "wake", "control-plane", "noisy", "snapshot-storm",
    }  # fmt: skip
    assert asked - published == {("wake", "cpu=250m burst=1", "errors"), ("wake", "cpu=250m burst=10", "errors")}


@pytest.mark.parametrize("size", ["published", "demo"])
def test_the_six_tests_are_sized_as_the_study_was(size: str) -> None:
    storm = load_scenario("snapshot-storm", [f"size={size}"]).scenarios[0][1]
    small = size == "demo"
    assert storm.groups["tasks"].count == (8 if small else 20)
    neighbours = load_scenario("noisy-neighbours", [f"size={size}"]).scenarios[0][1].groups
    assert [(name, group.count, group.background) for name, group in neighbours.items()] == [
        ("victims", 6, False),
        ("cpu-hogs", 4, True),
        ("disk-hogs", 4, True),
        ("memory-hogs", 4, True),
    ]
    tiny = load_scenario("control-plane", [f"size={size}"]).scenarios[0][1].groups["tiny"]
    assert (tiny.count, tiny.cpu) == ((40, 50) if small else (120, 25))
