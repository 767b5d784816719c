"""The platform `local` through the engine, against the same `runsc` commands without it.

Both sides use the same bundles, flags and limits, and take turns in one run, so that a machine
that slows down slows both. The bare side boots with `xargs -P 10`, and times single commands
from a plain subprocess.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
import threading
import time
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any

from specs.models import Load
from specs.targets import LocalTarget
from tasks.cleanup import clean_up
from tasks.engine.attempts import Attempts, Roster
from tasks.engine.load import LoadRun
from tasks.engine.recorder import Recorder
from tasks.platforms.base import SandboxSpec
from tasks.platforms.local import LocalPlatform
from tasks.platforms.local.bundle import oci_config, write_bundle

ROUNDS = 6
BOOTS = 40
IN_FLIGHT = 10
SINGLES = 25
BOUND_S = 120.0
SPEC = SandboxSpec(1000, 128 * 2**20, ["/usr/bin/sleep", "infinity"])


class Bench:
    """Both sides over one state directory, with sandboxes of one spec."""

    spec = SPEC

    def __init__(self, directory: Path) -> None:
        self.platform = LocalPlatform(
            LocalTarget.model_validate(
                {
                    "name": "bench", "platform": "local", "state_dir": str(directory / "state"),
                    "allocatable": {"cpu": 1000, "memory": "1Ti"},
                }
            )
        )  # fmt: skip
        self.directory = directory
        self.recorder = Recorder(directory)
        self.roster = Roster()
        self.attempts: Attempts
        (directory / "workspace").mkdir()

    async def engine(self, names: list[str], *operations: str, in_flight: int = 1) -> list[dict[str, Any]]:
        """Lead sandboxes through operations by the engine; returns the rows."""
        first = self.attempts.made
        load = Load.model_validate(
            {"group": "boxes", "do": list(operations), "pacing": {"in_flight": in_flight}, "timeout": "60s"}
        )
        await LoadRun(
            load, names, self.spec, 0, 0, 1, self.platform, self.attempts, self.roster, lambda outcome: None
        ).run()  # fmt: skip
        self.recorder.flush()
        lines = (self.directory / "segments" / "attempts.ndjson").read_text().splitlines()[first:]
        rows = [json.loads(line) for line in lines]
        assert all(row["outcome"] == "ok" for row in rows), rows
        return rows

    def bare(self, command: str, container: str, *arguments: str) -> list[str]:
        """The arguments of a runsc command, as the platform would give them."""
        log = self.directory / "bundles" / container / "log"
        return self.platform._runsc.argv(log, command, *arguments, container)

    def bundle(self) -> str:
        """Write a new bundle; returns the id of its container."""
        store = self.platform._store
        container = store.new_container_id()
        config = oci_config(self.spec, "bench", store.rootfs, self.directory / "workspace", store.cgroup_of(container))
        write_bundle(self.directory / "bundles" / container, config)
        return container

    def start(self, command: str, container: str, *arguments: str) -> list[str]:
        """The arguments that boot or restore a container."""
        bundle = self.directory / "bundles" / container
        return self.bare(command, container, *arguments, "-detach", f"-bundle={bundle}")


def timed(arguments: list[str], lines: str = "") -> float:
    """Seconds that a command takes.

    `subprocess.run(timeout=...)` polls with pauses of up to 50 ms, which would be measured as
    well; so the bound is a timer that kills.
    """
    with tempfile.TemporaryFile("w+") as stdin:
        stdin.write(lines)
        stdin.seek(0)
        began = time.perf_counter()
        child = subprocess.Popen(arguments, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        bound = threading.Timer(BOUND_S, child.kill)
        bound.start()
        code = child.wait()
        took = time.perf_counter() - began
        bound.cancel()
    if code != 0:
        raise subprocess.CalledProcessError(code, arguments)
    return took


def boot_bare(bench: Bench) -> float:
    """Boots a second of `xargs -P 10`."""
    commands = [bench.start("run", bench.bundle()) for _ in range(BOOTS)]
    lines = "\n".join(" ".join(command[1:]) for command in commands)
    return BOOTS / timed(["xargs", "-P", str(IN_FLIGHT), "-L", "1", commands[0][0]], lines)


async def boot_engine(bench: Bench, round_number: int) -> float:
    """Boots a second through the engine."""
    names = [f"boot-{round_number}-{number:03d}" for number in range(BOOTS)]
    await bench.engine(names, "create", in_flight=IN_FLIGHT)
    rows = await bench.engine(names, "resume", in_flight=IN_FLIGHT)
    return BOOTS / (max(row["ready_s"] for row in rows) - min(row["started_s"] for row in rows))


async def boots(bench: Bench) -> tuple[list[float], list[float]]:
    """Rates of both sides, by turns; the one that begins changes too."""
    engine, bare = [], []
    for number in range(ROUNDS):
        for side in ("engine", "bare") if number % 2 else ("bare", "engine"):
            if side == "bare":
                bare.append(await asyncio.to_thread(boot_bare, bench))
            else:
                engine.append(await boot_engine(bench, number))
            await clean_up(bench.platform)
            bench.roster = Roster()
    return engine, bare


class Single:
    """One sandbox on each side, suspended and resumed by turns."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.times: dict[str, list[float]] = {"suspend": [], "resume": [], "checkpoint": [], "restore": []}
        self.container = bench.bundle()

    async def start(self) -> None:
        await self.bench.engine(["single"], "create", "resume")
        await asyncio.to_thread(timed, self.bench.start("run", self.container))

    async def engine(self, operation: str) -> None:
        [row] = await self.bench.engine(["single"], operation)
        self.times[operation].append(row["ready_s"] - row["started_s"])
        await self.bench.platform._rest()

    async def bare(self, operation: str, image: str) -> None:
        if operation == "suspend":
            command = self.bench.bare("checkpoint", self.container, image)
            self.times["checkpoint"].append(await asyncio.to_thread(timed, command))
            await asyncio.to_thread(self.bench.platform._containers.end, self.container)
        else:
            self.container = self.bench.bundle()
            command = self.bench.start("restore", self.container, image)
            self.times["restore"].append(await asyncio.to_thread(timed, command))


async def singles(bench: Bench) -> dict[str, list[float]]:
    """Times of suspend and resume, one at a time; the side that begins changes too."""
    single = Single(bench)
    await single.start()
    for number in range(SINGLES):
        image = f"-image-path={bench.directory}/image-{number}"
        for operation in ("suspend", "resume"):
            if number % 2:
                await single.engine(operation)
                await single.bare(operation, image)
            else:
                await single.bare(operation, image)
                await single.engine(operation)
    return single.times


async def compare() -> list:  # type: ignore[type-arg]
    """Rate of boots at ten in flight, median of the rounds' ratios, and medians of suspend and resume."""
    from tests.bench.__main__ import Ratio

    with tempfile.TemporaryDirectory(prefix="sandgauge-bench-") as directory:
        bench = Bench(Path(directory))
        await bench.platform.open()
        try:
            with bench.recorder:
                bench.attempts = Attempts("bench", bench.recorder, asyncio.get_running_loop().time)
                engine, bare = await boots(bench)
                times = await singles(bench)
        finally:
            await clean_up(bench.platform)
            await bench.platform.close()
    medians = {what: median(values) for what, values in times.items()}
    return [
        Ratio(
            f"boots per second at {IN_FLIGHT} in flight, engine over bare runsc",
            median(map(truediv, engine, bare)),
            at_least=0.9,
            measured=f"{median(engine):.1f}/s over {median(bare):.1f}/s, {ROUNDS} rounds of {BOOTS}",
        ),
        *(
            Ratio(
                f"median {ours}, engine over bare runsc {theirs}", medians[ours] / medians[theirs], at_most=1.15,
                measured=f"{medians[ours] * 1000:.1f} ms over {medians[theirs] * 1000:.1f} ms, n = {SINGLES} each",
            )
            for ours, theirs in (("suspend", "checkpoint"), ("resume", "restore"))
        ),
    ]  # fmt: skip
