"""Every committed scenario and target loads and plans, in each of its sizes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from specs.errors import SpecError
from specs.loading import BUILT_IN, builtin_names, load_scenario, load_target
from specs.plan import make_plan
from tests.specs.base import ALL, ALL_NEEDS, BASE, write

SIZES = [
    (name, size) for name in builtin_names() for size in dict.fromkeys(["published", *load_scenario(name).raw["sizes"]])
]


@pytest.mark.parametrize("target", builtin_names("targets"))
@pytest.mark.parametrize(("name", "size"), SIZES)
def test_scenario_plans_on_every_target(name: str, size: str, target: str) -> None:
    document = load_scenario(name, [f"size={size}"])
    plan = make_plan(document, load_target(target), ALL, target, ALL_NEEDS)
    assert (document.name, document.size) == (name, size)
    assert plan.estimates.trials == len(plan.trials) > 0
    assert plan.trials[0].labels[:2] == ["cleanup", "provision"]


@pytest.mark.parametrize("kind", ["scenarios", "targets"])
def test_names_are_those_of_the_files(kind: str) -> None:
    names = builtin_names(kind)
    assert names == sorted(path.stem for path in (BUILT_IN / kind).iterdir())
    for name in names:
        assert (load_scenario(name) if kind == "scenarios" else load_target(name)).name == name


@pytest.mark.parametrize("name", builtin_names())
def test_published_sizes_are_those_of_the_study(name: str) -> None:
    trials = load_scenario(name).scenarios
    assert [list(matrix.values()) for matrix, _ in trials] == {
        "density": [["50m"], ["250m"], [1]],
        "latency": [[1], [5], [10], [20], [40]],
    }.get(name, [list(matrix.values()) for matrix, _ in trials])


@pytest.mark.parametrize("name", builtin_names())
def test_demo_is_no_larger(name: str) -> None:
    attempts = [
        make_plan(
            load_scenario(name, [f"size={size}"]), load_target("local"), ALL, "local", ALL_NEEDS
        ).estimates.attempts_at_most
        for size in ("published", "demo")
    ]
    assert attempts[1] <= attempts[0]


def test_document_says_where_it_is_from(tmp_path: Path) -> None:
    path = write(tmp_path, BASE)
    document = load_scenario(path, ["size=demo", "repetitions=2"])
    assert document.file == str(path)
    assert document.text == BASE
    assert document.sha256 == hashlib.sha256(BASE.encode()).hexdigest()
    assert document.parameters == {"sizes-of-cpu": ["50m", 1], "hold": "1s"}
    assert document.matrix == {"cpu": ["50m", 1]}
    assert document.overrides == {"size": "demo", "repetitions": 2}
    assert document.raw["matrix"] == {"cpu": "{{ sizes-of-cpu }}"}
    assert document.positions["steps", 2, "load", "group"] == (16, 14)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "densty",
            "densty:1:1: no scenario is called `densty`; did you mean `density`? built in are control-plane, density, ",
        ),
        (
            "zzz",
            f"zzz:1:1: no scenario is called `zzz`; built in are {', '.join(builtin_names())}; "
            "or give the path of a YAML file",
        ),
        ("no/such.yaml", "no/such.yaml:1:1: cannot be read: no such file or directory"),
        ("/", "/:1:1: cannot be read: is a directory"),
        ("a\0b", "a\0b:1:1: cannot be read: embedded null byte"),
        ("x" * 5000, "cannot be read: file name too long"),
    ],
)
def test_unknown_source(source: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_scenario(source)
    assert message in str(caught.value)


def test_a_file_is_found_by_a_bare_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text(BASE)
    assert load_scenario("mine").name == "base"
