"""The engine alone, on a platform that answers at once: attempts recorded a second of CPU, and memory."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from specs.models import Load
from tasks.engine.attempts import Attempts, Roster
from tasks.engine.load import LoadRun
from tasks.engine.recorder import Recorder
from tasks.platforms.base import DONE, Acknowledge, Receipt, SandboxSpec

WANTED_PER_S = 20_000
ATTEMPTS = 1_000_000
_SPEC = SandboxSpec(100, 64 * 2**20, ["sleep"])


class Instant:
    """As much of a platform as this needs."""

    name = "instant"

    async def create(self, name: str, spec: SandboxSpec, acknowledged: Acknowledge) -> Receipt:
        return DONE

    async def delete(self, name: str, acknowledged: Acknowledge) -> Receipt:
        return DONE


async def _load(run_dir: Path, attempts: int) -> tuple[float, int]:
    """CPU seconds of the whole process for so many attempts, and how much its memory grew after the first tenth."""
    platform: Any = Instant()
    sandboxes = 10_000
    rounds = attempts // (2 * sandboxes)
    names = [f"box-{number:05d}" for number in range(sandboxes)]
    with Recorder(run_dir) as recorder:
        made = Attempts("run", recorder, asyncio.get_running_loop().time)

        def step(repeat: int) -> LoadRun:
            load = Load.model_validate(
                {"group": "boxes", "do": ["create", "delete"], "pacing": {"in_flight": 10}, "repeat": repeat}
            )
            return LoadRun(load, names, _SPEC, 0, 0, 1, platform, made, Roster(), lambda outcome: None)

        began = time.process_time()
        await step(max(1, rounds // 10)).run()
        before = psutil.Process().memory_info().rss
        await step(rounds - max(1, rounds // 10)).run()
        recorder.flush()
        return time.process_time() - began, psutil.Process().memory_info().rss - before


def compare() -> list:  # type: ignore[type-arg]
    """Attempts a second of CPU against 20,000, and growth of memory over a million."""
    from tests.bench.__main__ import Ratio

    with tempfile.TemporaryDirectory() as directory:
        seconds, grown = asyncio.run(_load(Path(directory), ATTEMPTS))
    rate = ATTEMPTS / seconds
    return [
        Ratio(
            "engine alone: attempts recorded per second of one core, over 20,000", rate / WANTED_PER_S,
            at_least=1.0, measured=f"{rate:,.0f}/s over {ATTEMPTS:,}",
        ),
        Ratio(
            "engine alone: memory grown from 100,000 to 1,000,000 attempts, over 32 MiB", max(0, grown) / 2**25,
            at_most=1.0, measured=f"{grown / 2**20:.1f} MiB",
        ),
    ]  # fmt: skip
