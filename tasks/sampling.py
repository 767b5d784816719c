"""Samplers: what the node, every sandbox and the generator itself use, once a second.

They run beside a step in the engine's thread; reading is the platform's, off that thread. The
generator's own row says how late the event loop was: lateness here is lateness in every latency.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tasks.platforms.base import PlatformError, Reading
from tasks.session import Session
from warehouse.rows import Sample

EVERY_S = 1.0


@asynccontextmanager
async def sampling(session: Session, trial: int, step: int) -> AsyncIterator[None]:
    """Sample while the context is open, at whole seconds from its beginning, and once at its end."""
    sampler = asyncio.create_task(_keep_sampling(session, trial, step))
    try:
        yield
    finally:
        sampler.cancel()
        with suppress(asyncio.CancelledError):
            await sampler
    await sample_once(session, trial, step)


async def _keep_sampling(session: Session, trial: int, step: int) -> None:
    clock = asyncio.get_running_loop().time
    origin = clock()
    tick = 0
    while True:
        due = origin + tick * EVERY_S
        await asyncio.sleep(due - clock())
        lag = clock() - due
        await sample_once(session, trial, step, lag)
        tick = max(tick + 1, int((clock() - origin) / EVERY_S) + 1)  # a late sampler skips, it does not catch up


async def sample_once(session: Session, trial: int, step: int, lag_s: float | None = None) -> None:
    """Take and record one set of samples; `lag_s` is how late the event loop woke the sampler."""
    at = session.now()
    try:
        readings = await session.platform.samples()
    except (PlatformError, OSError) as error:
        # A sample that is missing is a row as well.
        readings = [Reading("node", session.platform.name, "cpu_seconds_total", None, "s", "platform", str(error))]
    if lag_s is not None:
        readings.append(Reading("generator", "sandgauge", "loop_lag_s", lag_s, "s", "event loop"))
    # process_time counts every thread: the engine, the samplers, the recorder and Prefect's client.
    cpu = time.process_time()
    readings.append(Reading("generator", "sandgauge", "cpu_seconds_total", cpu, "s", "process_time"))
    for reading in readings:
        session.recorder.write(
            Sample(
                session.run_id, trial, step, at, reading.scope, reading.subject, reading.metric,
                reading.value, reading.unit, reading.source, reading.reason,
            )
        )  # fmt: skip
