"""Wakes through the router, against what they cannot do without: a restore, and the answer of the program.

Both sides have a sandbox of the same size with the same program, and take turns in one run. The
bare side times `runsc restore` and the same request by `runsc exec`, from a plain subprocess.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

from specs.workloads import WORKLOADS
from tasks.cleanup import clean_up
from tasks.engine.attempts import Attempts
from tasks.platforms.local.relay import Asked, Exchange
from tests.bench import local
from tests.bench.local import Bench, timed

WAKES = 20


class Keeper(Bench):
    """The bench with a program that answers in each sandbox."""

    spec = replace(local.SPEC, command=WORKLOADS["keeper"].argv())


async def _bare(bench: Keeper, container: str, number: int) -> tuple[str, float]:
    """Suspend by hand, then time a restore and the answer."""
    image = f"-image-path={bench.directory}/image-{number}"
    await asyncio.to_thread(timed, bench.bare("checkpoint", container, image))
    await asyncio.to_thread(bench.platform._containers.end, container)
    container = bench.bundle()
    program = Exchange(Asked("GET", "/", [(b"host", b"bench")], b"")).program()
    restored = await asyncio.to_thread(timed, bench.start("restore", container, image))
    answered = await asyncio.to_thread(timed, [*bench.bare("exec", container), *program])
    return container, restored + answered


async def compare() -> list:  # type: ignore[type-arg]
    """The median wake, over the median of a bare restore and an answer."""
    from tests.bench.__main__ import Ratio

    wakes: list[float] = []
    bare: list[float] = []
    with tempfile.TemporaryDirectory(prefix="sandgauge-bench-") as directory:
        bench = Keeper(Path(directory))
        await bench.platform.open()
        await bench.platform.provision(frozenset({"router"}))
        try:
            with bench.recorder:
                bench.attempts = Attempts("bench", bench.recorder, asyncio.get_running_loop().time)
                await bench.engine(["keeper"], "create", "wake")
                container = bench.bundle()
                await asyncio.to_thread(timed, bench.start("run", container))
                for number in range(WAKES):
                    for side in ("wake", "bare") if number % 2 else ("bare", "wake"):
                        if side == "bare":
                            container, took = await _bare(bench, container, number)
                            bare.append(took)
                        else:
                            _, row = await bench.engine(["keeper"], "suspend", "wake")
                            wakes.append(row["ready_s"] - row["started_s"])
                            await bench.platform._rest()
        finally:
            await clean_up(bench.platform)
            await bench.platform.close()
    return [
        Ratio(
            "median wake through the router, over bare runsc restore and the answer", median(wakes) / median(bare),
            at_most=1.3,
            measured=f"{median(wakes) * 1000:.1f} ms over {median(bare) * 1000:.1f} ms, n = {WAKES} each",
        )
    ]  # fmt: skip
