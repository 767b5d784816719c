"""Properties that hold of every plan."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specs.models import LoadStep
from specs.plan import Plan, load_attempts
from tests.specs.base import ALL, BASE, plan_of, problems_of

VALUES = {"count": st.integers(1, 30), "cpu": st.sampled_from(["50m", "0.5", "2"]), "repeat": st.integers(1, 4)}
PLACED = {"count": 3, "cpu": "100m", "repeat": 2}

quiet = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
matrices = st.fixed_dictionaries(
    {}, optional={key: st.lists(values, min_size=1, max_size=4, unique=True) for key, values in VALUES.items()}
)


def scenario(matrix: dict[str, list[Any]], repetitions: int, seed: int) -> str:
    """A scenario as YAML, which JSON is a part of, that uses every key of the matrix."""
    fill = {key: f"{{{{ {key} }}}}" if key in matrix else value for key, value in PLACED.items()}
    group = {"count": fill["count"], "cpu": fill["cpu"], "memory": "64Mi"}
    loads = [
        {"group": "g", "do": ["create"]},
        {"group": "g", "do": ["resume", "suspend"], "repeat": fill["repeat"]},
    ]
    document = {
        "name": "p", "title": "P", "repetitions": repetitions, "seed": seed, "matrix": matrix,
        "groups": {"g": group}, "steps": ["cleanup", *({"load": load} for load in loads)],
    }  # fmt: skip
    return json.dumps(document)


def enumerated(plan: Plan) -> int:
    """Attempts counted one by one, as the engine makes them."""
    total = 0
    for trial in plan.trials:
        for step in trial.scenario.steps:
            if isinstance(step, LoadStep):
                count = trial.scenario.groups[step.load.group].count
                total += sum(1 for _ in itertools.product(range(step.load.repeat), range(count), step.load.do))
    return total


@quiet
@given(matrix=matrices, repetitions=st.integers(1, 5), seed=st.integers(0, 2**31 - 1))
def test_plan(matrix: dict[str, list[Any]], repetitions: int, seed: int, tmp_path: Path) -> None:
    text = scenario(matrix, repetitions, seed)
    plan = plan_of(text, tmp_path)
    combinations = [dict(zip(matrix, values, strict=True)) for values in itertools.product(*matrix.values())]
    assert len(plan.trials) == len(combinations) * repetitions
    assert [trial.index for trial in plan.trials] == list(range(len(plan.trials)))
    found = Counter((trial.repetition, json.dumps(trial.matrix)) for trial in plan.trials)
    assert found == Counter((n, json.dumps(one)) for n in range(1, repetitions + 1) for one in combinations)
    assert plan.estimates.attempts_at_most == enumerated(plan) == sum(t.attempts_at_most for t in plan.trials)
    assert plan.estimates.sandboxes_at_most == max(t.scenario.groups["g"].count for t in plan.trials)
    assert plan.estimates.rows_at_most["steps"] == 3 * len(plan.trials)
    again = plan_of(text, tmp_path)
    assert again.trials == plan.trials
    assert len({trial.seed for trial in plan.trials}) == len(plan.trials)


@quiet
@given(matrix=matrices)
def test_values_reach_their_places(matrix: dict[str, list[Any]], tmp_path: Path) -> None:
    for trial in plan_of(scenario(matrix, 1, 1), tmp_path).trials:
        step = trial.scenario.steps[2]
        assert isinstance(step, LoadStep)
        values = {**PLACED, **trial.matrix}
        assert trial.scenario.groups["g"].count == values["count"]
        assert step.load.repeat == values["repeat"]
        assert load_attempts(step.load, trial.scenario.groups["g"]) == values["count"] * 2 * values["repeat"]


def test_seeds_are_the_same_for_ever(tmp_path: Path) -> None:
    # Runs of different versions are compared: a seed that changes makes another schedule.
    assert [trial.seed for trial in plan_of(BASE, tmp_path).trials] == [416735690, 624792847]
    assert [trial.seed for trial in plan_of(BASE, tmp_path, ("seed=2",)).trials] != [416735690, 624792847]


def test_repetitions_take_turns(tmp_path: Path) -> None:
    trials = plan_of(BASE, tmp_path, ("repetitions=2",)).trials
    assert [(trial.repetition, trial.matrix["cpu"]) for trial in trials] == [(1, "50m"), (1, 1), (2, "50m"), (2, 1)]


def test_operation_that_the_platform_lacks(tmp_path: Path) -> None:
    assert problems_of(BASE, tmp_path, operations=ALL - {"exec", "wake"}) == [
        "s.yaml:17:28: steps.2.load.do.2: platform simulated cannot do exec; it can do create, delete, resume, suspend"
    ]


def test_labels_and_estimates_read_well(tmp_path: Path) -> None:
    plan = plan_of(BASE, tmp_path)
    assert plan.trials[0].labels == ["cleanup", "provision", "idle: create, resume, exec ls (2 in flight)"]
    assert plan.estimates.describe()[:3] == ["2 trials", "at most 24 attempts", "at most 4 sandboxes at once"]


def test_placeholder_of_a_list_and_in_text(tmp_path: Path) -> None:
    text = BASE.replace("[create, resume, {exec: [ls]}]", '"{{ operations }}"').replace(
        "  hold: 3s", "  operations: [create, resume]\n  hold: 3s\n  n: 5\n  fast: true"
    )
    text = text.replace("memory: 64Mi}", 'memory: "64{{unit}}", command: [sleep, "{{ n }}", "n={{ n }} {{ fast }}"]}')
    text = text.replace("  n: 5", "  n: 5\n  unit: Mi")
    scenario = plan_of(text, tmp_path).trials[0].scenario
    assert scenario.groups["idle"].command == ["sleep", "5", "n=5 true"]
    assert scenario.groups["idle"].memory == 64 * 2**20
    step = scenario.steps[2]
    assert isinstance(step, LoadStep)
    assert step.load.do == ["create", "resume"]


@pytest.mark.parametrize("shape", [(100, 100, 1), (10, 1, 1000)])
def test_ten_thousand_trials_are_planned_quickly(shape: tuple[int, int, int], tmp_path: Path) -> None:
    matrix = {"count": list(range(1, shape[0] + 1)), "repeat": list(range(1, shape[1] + 1))}
    text = scenario(matrix, shape[2], 1)
    started = time.process_time()
    assert len(plan_of(text, tmp_path).trials) == 10_000
    # A processor of a busy builder may be four times slower than the one this was measured on (0.6 s).
    assert time.process_time() - started < 2.5
