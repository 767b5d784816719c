"""The step `load`: the engine at work on one group, with the samplers beside it."""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from specs.models import Group, InFlight, Load, LoadStep, Rate
from specs.plan import PlannedTrial, load_attempts, pacing_label, step_label
from tasks.engine.load import LoadRun
from tasks.platforms.base import SandboxSpec
from tasks.sampling import sampling
from tasks.session import Session


def sandbox_names(run_id: str, trial: int, group: str, count: int) -> list[str]:
    """Names that are unique over runs and platforms, and valid where names are DNS labels."""
    return [f"sg-{run_id[-4:]}-{trial}-{group}-{number:05d}" for number in range(count)]


def pacing_columns(load: Load, group: Group) -> dict[str, float | int | None]:
    """The columns of a step that say how it was paced."""
    if isinstance(load.pacing, InFlight):
        return {"in_flight": load.pacing.in_flight}
    if isinstance(load.pacing, Rate):
        return {"rate_per_s": load.pacing.rate}
    return {"in_flight": min(load.batch or group.count, group.count)}


async def run_load(session: Session, trial: PlannedTrial, index: int, step: LoadStep) -> None:
    """Run one load step to its end and record it."""
    load, label = step.load, step_label(step)
    group = trial.scenario.groups[load.group]
    session.observer.step_started(trial.index, label, load_attempts(load, group))
    columns = pacing_columns(load, group)
    async with (
        session.step(
            trial, index, "load", label, group_name=load.group, pacing=pacing_label(load.pacing),
            schedule_seed=trial.seed, **columns,
        ) as row,
        sampling(session, trial.index, index),
    ):  # fmt: skip
        row.outcome = await LoadRun(
            load=load,
            names=sandbox_names(session.run_id, trial.index, load.group, group.count),
            spec=SandboxSpec(group.cpu, group.memory, group.argv, group.env),
            trial=trial.index,
            step=index,
            seed=trial.seed,
            platform=session.platform,
            attempts=session.attempts,
            roster=session.roster,
            progress=session.observer.attempt_ended,
        ).run()


@task(name="load", task_run_name="trial {number}: {label}", cache_policy=NO_CACHE, persist_result=False)
async def load_step(session: Session, trial: PlannedTrial, index: int, step: LoadStep, number: int, label: str) -> None:
    """The step `load`."""
    await session.engine.call(run_load(session, trial, index, step))
