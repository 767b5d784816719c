"""Cleaning from a new process: with nothing but the marks and intents that a run left on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from specs.loading import load_target
from tasks.cleanup import CleanUp, clean_up
from tasks.engine.loops import EngineLoop
from tasks.platforms.base import Platform
from tasks.platforms.registry import make_platform
from warehouse.errors import WarehouseError
from warehouse.results import land_leftovers


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What a clean-up did: names found and left by kind, and the runs whose rows it landed.

    Attributes:
        trouble: why rows could not be landed; they stay in their segments.
    """

    target: str
    found: dict[str, list[str]]
    left: dict[str, list[str]]
    landed: list[str] = field(default_factory=list)
    trouble: str | None = None

    @property
    def clean(self) -> bool:
        """Whether nothing is left, neither on the target nor to be landed."""
        return not any(self.left.values()) and self.trouble is None


async def _clean(platform: Platform) -> CleanUp:
    await platform.open()
    try:
        return await clean_up(platform)
    finally:
        await platform.close()


def clean_target(target: str, results: Path) -> Cleaned:
    """Land what earlier runs left, then remove everything of ours from a target.

    Raises:
        specs.errors.SpecError: there is no such target.
        tasks.platforms.base.Unavailable: the platform cannot run here, or a run is using it.
    """
    try:
        landed, trouble = land_leftovers(results), None
    except WarehouseError as error:  # no reason to leave anything running
        landed, trouble = [], str(error)
    with EngineLoop() as engine:
        result = engine.submit(_clean(make_platform(load_target(target)))).result()
    return Cleaned(target, result.found, result.left, landed, trouble)
