"""A load step on the simulated platform in virtual time, and the rows it left."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specs.models import Load
from specs.targets import SimulatedTarget
from tasks.engine.attempts import Attempts, Roster
from tasks.engine.load import LoadRun
from tasks.engine.loops import EngineLoop
from tasks.engine.recorder import Recorder
from tasks.platforms.base import SandboxSpec
from tasks.platforms.simulated import SimulatedPlatform


@dataclass
class Played:
    outcome: str
    attempts: list[dict[str, Any]]
    took_s: float

    def of(self, operation: str, outcome: str | None = None) -> list[dict[str, Any]]:
        rows = [row for row in self.attempts if row["operation"] == operation]
        return [row for row in rows if row["outcome"] == outcome] if outcome else rows


def target(**settings: Any) -> SimulatedTarget:
    return SimulatedTarget.model_validate({"name": "model", "platform": "simulated", **settings})


def exact(**medians: str) -> dict[str, Any]:
    """Latencies without any spread."""
    return {operation: {"median": median, "spread": 0} for operation, median in medians.items()}


def segment(run_dir: Path, table: str) -> list[dict[str, Any]]:
    file = run_dir / "segments" / f"{table}.ndjson"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def play(run_dir: Path, load: dict[str, Any], count: int, seed: int = 1, **settings: Any) -> Played:
    """Play one load step over `count` sandboxes of 100m."""

    async def work() -> tuple[str, float]:
        loop = asyncio.get_running_loop()
        run = LoadRun(
            load=Load.model_validate({"group": "boxes", **load}),
            names=[f"box-{number:04d}" for number in range(count)],
            spec=SandboxSpec(100, 64 * 2**20, ["sleep"]),
            trial=0,
            step=0,
            seed=seed,
            platform=SimulatedPlatform(target(**settings)),
            attempts=Attempts("run", recorder, loop.time),
            roster=Roster(),
            progress=lambda outcome: None,
        )
        outcome = await run.run()
        return outcome, loop.time()

    with Recorder(run_dir) as recorder, EngineLoop(virtual=True) as engine:
        outcome, took = engine.submit(work()).result(timeout=60)
    # Rows are written as attempts end; the order in which they began reads better in tests.
    return Played(outcome, sorted(segment(run_dir, "attempts"), key=lambda row: row["attempt"]), took)
