"""The platforms, by the name that a target's `platform` gives.

To add one, write a module with the protocol of `tasks.platforms.base`, a target model in
`specs.targets`, and an entry here.
"""

from __future__ import annotations

from typing import Any

from specs.targets import BaseTarget
from tasks.platforms.base import Platform
from tasks.platforms.local import LocalPlatform
from tasks.platforms.simulated import SimulatedPlatform

PLATFORMS: dict[str, type[LocalPlatform] | type[SimulatedPlatform]] = {
    "local": LocalPlatform,
    "simulated": SimulatedPlatform,
}


def make_platform(target: BaseTarget) -> Platform:
    """The platform of a target, not yet opened."""
    make: Any = PLATFORMS[target.platform]  # type: ignore[attr-defined]
    platform: Platform = make(target)
    return platform
