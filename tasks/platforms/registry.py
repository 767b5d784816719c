"""The platforms, by the name that a target's `platform` gives.

To add one, write a module with the protocol of `tasks.platforms.base`, a target model in
`specs.targets`, and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from specs.models import Operation
from specs.targets import BaseTarget
from tasks.platforms.base import Platform
from tasks.platforms.local import LocalPlatform
from tasks.platforms.simulated import SimulatedPlatform

PLATFORMS: dict[str, Callable[[Any], Platform]] = {
    "local": LocalPlatform,
    "simulated": SimulatedPlatform,
}
OPERATIONS_BY_PLATFORM: dict[str, frozenset[Operation]] = {
    "local": LocalPlatform.operations,
    "simulated": SimulatedPlatform.operations,
}


def make_platform(target: BaseTarget) -> Platform:
    """The platform of a target, not yet opened."""
    return PLATFORMS[target.platform](target)  # type: ignore[attr-defined]
