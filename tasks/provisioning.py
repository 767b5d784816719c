"""The step `provision`: what a trial's load finds ready.

The platforms so far need nothing beforehand, so what remains is to sample the node while it is
idle. A scenario that could never start is told so by the platform's own refusal in the load,
which is a measurement, and not an error here.
"""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from specs.plan import PlannedTrial
from tasks.sampling import sample_once
from tasks.session import Session


async def provision(session: Session, trial: PlannedTrial, index: int) -> None:
    """Record samples of the node while it is idle."""
    session.observer.step_started(trial.index, "provision", 0)
    async with session.step(trial, index, "provision", "provision"):
        await sample_once(session, trial.index, index)


@task(name="provision", task_run_name="trial {number}: provision", cache_policy=NO_CACHE, persist_result=False)
async def provision_step(session: Session, trial: PlannedTrial, index: int, number: int) -> None:
    """The step `provision`."""
    await session.engine.call(provision(session, trial, index))
