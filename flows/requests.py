"""What a run is asked for; the form that Prefect shows for a deployment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from specs.errors import Problem, SpecError
from specs.loading import load_scenario, load_target
from specs.plan import Plan, make_plan
from tasks.platforms.registry import PLATFORMS

T = TypeVar("T")


class InSuite(BaseModel):
    """Which pass through which suite a run belongs to."""

    model_config = ConfigDict(extra="forbid")

    name: str
    suite_run: str


class Request(BaseModel):
    """What every kind of run is asked for."""

    model_config = ConfigDict(extra="forbid")

    target: str = Field(default="local", title="Target", description="name of a built-in target, or path of a file")
    size: str | None = Field(default=None, title="Size", description="a size that scenarios declare, such as demo")
    overrides: list[str] = Field(
        default=[], title="Overrides", description="other values for scenarios, as path=value (repetitions=3)"
    )
    results: Path = Field(
        default=Path("results"), title="Results", description="folder of the warehouse and the reports"
    )

    @property
    def all_overrides(self) -> list[str]:
        """The size as an override, before the others."""
        return [*([f"size={self.size}"] if self.size else []), *self.overrides]


class RunRequest(Request):
    """One scenario on one target."""

    scenario: str = Field(
        default="density", title="Scenario", description="name of a built-in scenario, or path of a YAML file"
    )
    suite: InSuite | None = Field(default=None, title="Suite", description="set by a suite for its own runs")

    def plan(self) -> Plan:
        """Read the files and expand them.

        Raises:
            specs.errors.SpecError: with every problem found.
        """
        problems: list[Problem] = []
        document = _or_note(problems, load_scenario, self.scenario, self.all_overrides)
        target = _or_note(problems, load_target, self.target)
        if document is None or target is None:
            raise SpecError(problems)
        platform = PLATFORMS[target.platform]
        return make_plan(document, target, platform.operations, target.platform, platform.provides)


def _or_note(problems: list[Problem], load: Callable[..., T], *arguments: object) -> T | None:
    """What a loader gives; or None, with its problems noted, so that those of other files are found too."""
    try:
        return load(*arguments)
    except SpecError as error:
        problems += error.problems
        return None
