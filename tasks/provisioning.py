"""The step `provision`: what a trial's load finds ready, written down.

On platforms whose sandboxes need nothing beforehand it records what the groups ask for, and that
the platform can hold at least one sandbox of each: a scenario that could never start is told so
by the platform's own refusal in the load, which is a measurement, and not an error here.
"""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from specs.plan import PlannedTrial
from tasks.sampling import sample_once
from tasks.session import Session
from warehouse.rows import Group


async def provision(session: Session, trial: PlannedTrial, index: int) -> None:
    """Record the groups of a trial, and samples of the node while it is idle."""
    session.observer.step_started(trial.index, "provision", 0)
    async with session.step(trial, index, "provision", "provision"):
        record_groups(session, trial)
        await sample_once(session, trial.index, index)


def record_groups(session: Session, trial: PlannedTrial) -> None:
    """Write down the size of every group's sandboxes."""
    for name, group in trial.scenario.groups.items():
        session.recorder.write(
            Group(session.run_id, trial.index, name, group.count, group.cpu, group.memory, group.command)
        )


@task(name="provision", task_run_name="trial {number}: provision", cache_policy=NO_CACHE, persist_result=False)
async def provision_step(session: Session, trial: PlannedTrial, index: int, number: int) -> None:
    """The step `provision`."""
    await session.engine.call(provision(session, trial, index))
