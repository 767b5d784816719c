"""The step `provision`: what a trial's load finds ready.

What the trial's steps need beside sandboxes is started: a router to wake them, a store for their
snapshots. Then the node is sampled while it is idle. A scenario that could never start is told so
by the platform's own refusal in the load, which is a measurement, and not an error here.
"""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from specs.models import Provision
from specs.plan import PlannedTrial
from tasks.sampling import sample_once
from tasks.session import Session


async def provision(session: Session, trial: PlannedTrial, index: int, wishes: Provision) -> None:
    """Start what the trial needs, and record samples of the node while it is idle."""
    session.observer.step_started(trial.index, "provision", 0)
    async with session.step(trial, index, "provision", "provision"):
        await session.platform.provision(trial.needs, wishes.upload_delay)
        await sample_once(session, trial.index, index)


@task(name="provision", task_run_name="trial {number}: provision", cache_policy=NO_CACHE, persist_result=False)
async def provision_step(session: Session, trial: PlannedTrial, index: int, number: int, wishes: Provision) -> None:
    """The step `provision`.

    Raises:
        tasks.platforms.base.Unavailable: what the trial needs cannot be started.
    """
    await session.engine.call(provision(session, trial, index, wishes))
