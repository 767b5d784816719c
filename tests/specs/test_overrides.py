"""`--set path=value`: what it may change, and what is said when it may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.specs.base import BASE, plan_of, problems_of

GROUP_OF_ALL = "groups.idle={count: 1, cpu: '{{ cpu }}', memory: 1Gi}"


@pytest.mark.parametrize(
    ("override", "where", "value"),
    [
        ("groups.idle.memory=1Gi", ("groups", "idle", "memory"), 2**30),
        ("groups.idle.env={A: b}", ("groups", "idle", "env", "A"), "b"),
        (GROUP_OF_ALL, ("groups", "idle", "count"), 1),
        ("steps.2.load.pacing.in_flight=7", ("steps", 2, "load", "pacing", "in_flight"), 7),
        ("steps.2.load.pacing=burst", ("steps", 2, "load", "pacing"), "burst"),
        ("steps.2.load.batch=5", ("steps", 2, "load", "batch"), 5),
        ("steps.2.load.do=[create, resume]", ("steps", 2, "load", "do"), ["create", "resume"]),
        ("parameters.hold=9s", ("steps", 2, "load", "hold"), 9.0),
        ("title=What = this?", ("title",), "What = this?"),
        ('title="no"', ("title",), "no"),
        (" checks.0.at_most = 2s ", ("checks", 0, "at_most"), "2s"),
    ],
)
def test_sets(override: str, where: tuple[str | int, ...], value: Any, tmp_path: Path) -> None:
    found: Any = plan_of(BASE, tmp_path, (override,)).trials[0].scenario
    for part in where:
        found = getattr(found, part) if isinstance(part, str) and hasattr(found, part) else found[part]
    assert found == value


def test_parameter_set_wins_over_the_size(tmp_path: Path) -> None:
    for overrides in (("size=demo", "parameters.hold=9s"), ("parameters.hold=9s", "size=demo")):
        step: Any = plan_of(BASE, tmp_path, overrides).trials[0].scenario.steps[2]
        assert step.load.hold == 9.0


def test_matrix_can_be_narrowed(tmp_path: Path) -> None:
    plan = plan_of(BASE, tmp_path, ("matrix.cpu=[50m]", "repetitions=3", "seed=7"))
    assert [trial.matrix for trial in plan.trials] == [{"cpu": "50m"}] * 3


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["hold=1s"], ["--set:1:1: hold: `hold` is under parameters; write parameters.hold=VALUE"]),
        (["cpu=1"], ["--set:1:1: cpu: `cpu` is under matrix; write matrix.cpu=[VALUE, ...]"]),
        (
            ["parameters.hld=1s"],
            ["--set:1:1: parameters.hld: `parameters` has no `hld`; did you mean `hold`?"],
        ),
        (["repetition=2"], ["--set:1:1: repetition: the scenario has no `repetition`; did you mean `repetitions`?"]),
        (
            ["steps.9.load.batch=1"],
            ["--set:1:1: steps.9.load.batch: `steps` is a list of 3; write an index from 0 to 2, not `9`"],
        ),
        (["groups.idle.cpus=1"], ["--set:1:1: groups.idle.cpus: `groups.idle` has no `cpus`; did you mean `cpu`?"]),
        (["title.x=1"], ["--set:1:1: title.x: `title` has no `x`"]),
        (["repetitions"], ["--set:1:1: 'repetitions' is not path=value"]),
        (["=1"], ["--set:1:1: '=1' is not path=value"]),
        (["repetitions="], ["--set:1:13: repetitions: a value on one line is missing after `=`"]),
        (["repetitions=two"], ["--set:1:13: repetitions: expected a whole number, found the text 'two'"]),
        (
            ["title=fine", "repetitions=1e1"],
            ["--set:2:13: repetitions: `1e1` is a number to some readers only; write 10 or quote it"],
        ),
        (
            ["matrix.cpu=[50m, [1"],
            ["--set:1:20: matrix.cpu: not YAML: a bracket is not closed"],
        ),
        (["size=dmo"], ["--set:1:6: size: no size is called `dmo`; known are demo, published; did you mean `demo`?"]),
        (
            ["groups.idle={count: 0, cpu: '{{ cpu }}', memory: 1Gi}"],
            ["--set:1:21: groups.idle.count: must be at least 1, found 0"],
        ),
    ],
)
def test_fault_is_told(overrides: list[str], expected: list[str], tmp_path: Path) -> None:
    assert problems_of(BASE, tmp_path, tuple(overrides)) == expected
