"""Every platform, opened for one test and ended at zero."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from specs.targets import LocalTarget, SimulatedTarget
from tasks.platforms.base import Platform, SandboxSpec
from tasks.platforms.simulated import SimulatedPlatform

MIB = 2**20


def acknowledge() -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Case:
    """One platform under test: how it is made, and a sandbox of which two fit beside each other."""

    make: Callable[..., Any]
    spec: SandboxSpec
    cpu: int = 1000
    memory: int = 1024 * MIB

    def run(self, body: Callable[[Any], Awaitable[None]], **settings: Any) -> None:
        """Open a platform, let the body use it, delete all, and see that nothing is left."""

        async def go() -> None:
            platform = self.make(**settings)
            await platform.open()
            try:
                await body(platform)
            finally:
                left = await empty(platform)
                await platform.close()
            assert left == {}

        asyncio.run(asyncio.wait_for(go(), 120))


async def empty(platform: Platform) -> dict[str, list[str]]:
    """Delete until nothing is listed; what the inventory still has."""
    for _ in range(5):
        for listed in await platform.list():
            await platform.delete(listed.name, acknowledge)
        await platform.sweep()
        left = {kind: names for kind, names in (await platform.inventory()).items() if names}
        if not left:
            break
    return left


@pytest.fixture
def state_dir() -> Iterator[Path]:
    # Short, and outside of pytest's own tree: sockets of some releases of runsc are made in it.
    directory = Path(tempfile.mkdtemp(prefix="sandgauge-test-"))
    yield directory / "state"
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def local(state_dir: Path) -> Case:
    # Here, so that the simulated platform is tested where this one cannot even be imported.
    from tasks.platforms.local import LocalPlatform, probe

    known = probe.ask_runsc(shutil.which("runsc") or "runsc")
    way = "systrap" if "systrap" in known.platforms else "ptrace"

    def make(**settings: Any) -> LocalPlatform:
        document = {
            "name": "local",
            "platform": "local",
            "state_dir": str(state_dir),
            "runsc_platform": way,
            "allocatable": {"cpu": 1, "memory": "1Gi"},
            "call_timeout": "10s",
            "snapshots": {"upload_delay": "0s"},
            **settings,
        }
        return LocalPlatform(LocalTarget.model_validate(document))

    return Case(make, SandboxSpec(500, 64 * MIB, ["/usr/bin/sleep", "infinity"]))


@pytest.fixture
def simulated() -> Case:
    def make(**settings: Any) -> SimulatedPlatform:
        operations = ("create", "resume", "suspend", "wake", "exec", "delete")
        document = {
            "name": "simulated",
            "platform": "simulated",
            "time": "real",
            "allocatable": {"cpu": 1, "memory": "1Gi"},
            "latencies": {operation: {"median": "1ms"} for operation in operations},
            "upload_delay": "0s",
            "upload": {"median": "1ms"},
            **settings,
        }
        return SimulatedPlatform(SimulatedTarget.model_validate(document))

    return Case(make, SandboxSpec(500, 64 * MIB, ["/usr/bin/sleep", "infinity"]))


@pytest.fixture(params=[pytest.param("local", marks=pytest.mark.local), "simulated"])
def case(request: pytest.FixtureRequest) -> Case:
    """Every platform in turn; a new one is one more entry."""
    found: Case = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def ack() -> Callable[[], None]:
    return acknowledge
