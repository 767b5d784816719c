"""The step `durability`: a group's snapshots, watched until each is durable or lost."""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from specs.models import DurabilityStep
from specs.plan import PlannedTrial, step_label
from tasks.engine.durability import DurabilityRun
from tasks.load import sandbox_names
from tasks.sampling import sampling
from tasks.session import Session


async def run_durability(session: Session, trial: PlannedTrial, index: int, step: DurabilityStep) -> None:
    """Watch, restore a sample, and record the ledger."""
    watch, label = step.durability, step_label(step)
    group = trial.scenario.groups[watch.group]
    session.observer.step_started(trial.index, label, 0)
    async with (
        session.step(trial, index, "durability", label, group_name=watch.group) as row,
        sampling(session, trial.index, index),
    ):
        row.outcome = await DurabilityRun(
            watch=watch,
            names=sandbox_names(session.run_id, trial.index, watch.group, group.count),
            trial=trial.index,
            step=index,
            seed=trial.seed,
            run_id=session.run_id,
            platform=session.platform,
            attempts=session.attempts,
            roster=session.roster,
            recorder=session.recorder,
            progress=session.observer.attempt_ended,
        ).run()


@task(name="durability", task_run_name="trial {number}: {label}", cache_policy=NO_CACHE, persist_result=False)
async def durability_step(
    session: Session, trial: PlannedTrial, index: int, step: DurabilityStep, number: int, label: str
) -> None:
    """The step `durability`."""
    await session.engine.call(run_durability(session, trial, index, step))
