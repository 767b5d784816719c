"""The published JSON Schemas: current, and of one mind with the models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from specs.loading import BUILT_IN, builtin_names
from specs.reading import read_text
from specs.schema import schema_files
from tests.specs.base import BASE, changed, problems_of


def faults(kind: str, text: str) -> list[str]:
    schema = json.loads((BUILT_IN / f"{kind}.schema.json").read_text())
    data: Any = read_text("schema", text).data
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(data)]


def test_files_are_current() -> None:
    for path, text in schema_files().items():
        assert path.read_text() == text, f"{path.name} is not current: run python -m specs.schema"
        jsonschema.Draft202012Validator.check_schema(json.loads(text))


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("scenario", "target", "suite") for name in builtin_names(f"{kind}s")]
)
def test_built_in_files_are_valid(kind: str, name: str) -> None:
    text = (BUILT_IN / f"{kind}s" / f"{name}.yaml").read_text()
    assert faults(kind, text) == []
    # Editors find the schema by this line.
    assert text.startswith(f"# yaml-language-server: $schema=../{kind}.schema.json\n")


@pytest.mark.parametrize(
    "change",
    [
        ("pacing: {in", "paceing: {in"),
        ("title: What does it cost?\n", ""),
        ("count: 4", "count: many"),
        ("count: 4", "count: 0"),
        ("64Mi", "64"),
        ("pacing: {in_flight: 2}", "pacing: bursty"),
        ("pacing: {in_flight: 2}", "pacing: {in_flight: 2, rate: 5}"),
        ("[create, resume,", "[create, resum,"),
        ("- provision", "- provison"),
        ("name: base", 'name: "{{ hold }}"'),
        ("name: base", "name: base\nversion: 2"),
        ("  idle: {", "  Idle: {"),
        ("resume.p50", "resume.p51"),
        ("name: base", "name: base\nextra: 1"),
    ],
    ids=str,
)
def test_wrong_files_are_not(change: tuple[str, str], tmp_path: Path) -> None:
    assert faults("scenario", changed(change))
    assert problems_of(changed(change), tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        ("count: 4", 'count: "{{ hold }}"'),
        ("[create, resume, {exec: [ls]}]", '"{{ hold }}"'),
        ("{exec: [ls]}", '"{{ hold }}"'),
        ("pacing: {in_flight: 2}", 'pacing: "{{ hold }}"'),
        ("64Mi", '"{{ hold }}Mi"'),
        ("at_most: 4s", 'at_most: "{{ hold }}"'),
        ("name: base", 'name: base\nrepetitions: "{{ hold }}"'),
        ("group: idle", 'group: "{{ hold }}"'),
    ],
    ids=str,
)
def test_placeholders_are_admitted(change: tuple[str, str]) -> None:
    assert faults("scenario", BASE) == []
    assert faults("scenario", changed(change)) == []


@pytest.mark.parametrize(
    "text", ["name: a\nplatform: lokal\n", "platform: local\n", "name: a\nplatform: local\nx: 1\n"]
)
def test_wrong_targets_are_not(text: str) -> None:
    assert faults("target", text)
