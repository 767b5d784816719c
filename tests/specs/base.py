"""A small scenario without faults, to be damaged."""

from __future__ import annotations

from pathlib import Path

from specs.errors import SpecError
from specs.loading import load_scenario, load_target
from specs.models import OPERATIONS
from specs.plan import Plan, make_plan

ALL = frozenset(OPERATIONS)
ALL_NEEDS = frozenset({"router", "store"})
BASE = """\
name: base
title: What does it cost?
parameters:
  sizes-of-cpu: [50m, 1]
  hold: 3s
sizes:
  demo: {hold: 1s}
matrix:
  cpu: "{{ sizes-of-cpu }}"
groups:
  idle: {count: 4, cpu: "{{ cpu }}", memory: 64Mi}
steps:
  - cleanup
  - provision
  - load:
      group: idle
      do: [create, resume, {exec: [ls]}]
      pacing: {in_flight: 2}
      hold: "{{ hold }}"
checks:
  - {of: resume.p50, where: {cpu: 50m}, at_most: 4s}
"""


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "s.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def changed(*changes: tuple[str, str]) -> str:
    text = BASE
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} is in the base {text.count(old)} times"
        text = text.replace(old, new)
    return text


def plan_of(text: str, folder: Path, overrides: tuple[str, ...] = (), operations: frozenset[str] = ALL) -> Plan:
    document = load_scenario(write(folder, text), overrides)
    return make_plan(document, load_target("simulated"), operations, "simulated", ALL_NEEDS)


def problems_of(
    text: str, folder: Path, overrides: tuple[str, ...] = (), operations: frozenset[str] = ALL
) -> list[str]:
    """The problems found, without the folder in front."""
    try:
        plan_of(text, folder, overrides, operations)
    except SpecError as error:
        return [str(problem).removeprefix(f"{folder}/") for problem in error.problems]
    return []
