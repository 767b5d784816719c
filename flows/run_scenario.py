"""The main flow: a scenario on a target, from zero to zero.

Steps are Prefect tasks, calls are rows. What Prefect keeps of a run is for looking at; what was
measured is in the run's segments from the moment it happened, and nothing here may lose it:
rows are landed before the clean-up starts, and the clean-up does not depend on Prefect.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from pathlib import Path

from prefect import flow, get_run_logger
from prefect.runtime import flow_run

from flows.ending import end_early, interrupted_once
from flows.requests import RunRequest
from specs.models import DurabilityStep, LoadStep, kind_of
from specs.plan import Plan, PlannedTrial, provision_of, step_label
from tasks.cleanup import cleanup_step, final_cleanup, take_stock
from tasks.durability import durability_step
from tasks.landing import land_run
from tasks.load import load_step
from tasks.provisioning import provision_step
from tasks.reporting import RunResult, report_run
from tasks.session import Observer, Session, Unwatched

Watch = Callable[[Plan], AbstractContextManager[Observer]]


def _unwatched(_: Plan) -> AbstractContextManager[Observer]:
    return nullcontext(Unwatched())


watching: ContextVar[Watch] = ContextVar("watching", default=_unwatched)
"""Who watches the runs that start in this context; set by the command line."""


def _flow_run_name() -> str:
    request = RunRequest.model_validate(flow_run.parameters["request"])
    size = f" ({request.size})" if request.size else ""
    return f"{Path(request.scenario).stem}{size} on {Path(request.target).stem}"


@flow(name="run-scenario", flow_run_name=_flow_run_name, persist_result=False, retries=0)
async def run_scenario(request: RunRequest) -> RunResult:
    """Run a scenario on a target: every trial's steps, then landing, clean-up and report.

    Raises:
        specs.errors.SpecError: the scenario or the target cannot be used; nothing was started.
        tasks.platforms.base.Unavailable: the platform cannot run here; nothing was started.
    """
    plan = request.plan()
    with watching.get()(plan) as observer:
        session = Session(plan, request.results, observer)
        session.run.flow_run_id = flow_run.get_id()
        if request.suite is not None:
            session.run.suite, session.run.suite_run = request.suite.name, request.suite.suite_run
        with interrupted_once():
            await _run(session)
    return await report_run(request.results, session.run_id)


async def _run(session: Session) -> None:
    """Everything between opening the target and landing the last row; ends at zero, however it ends."""
    session.open()
    get_run_logger().info("run %s: %d trials", session.run_id, len(session.plan.trials))
    try:
        for trial in session.plan.trials:
            await run_trial(session, trial)
        session.end("finished")
        land_run(session.results, session.run_id)
        await final_cleanup(session)
    except BaseException as error:
        end_early(session, error)
        raise
    finally:
        session.close()
    land_run(session.results, session.run_id)


async def run_trial(session: Session, trial: PlannedTrial) -> None:
    """Lead one trial through the steps of its scenario."""
    number = trial.index + 1
    async with session.trial(trial):
        for index, step in trial.steps:
            if isinstance(step, LoadStep):
                await load_step(session, trial, index, step, number, step_label(step))
            elif isinstance(step, DurabilityStep):
                await durability_step(session, trial, index, step, number, step_label(step))
            elif kind_of(step) == "provision":
                await provision_step(session, trial, index, number, provision_of(step))
            else:
                await cleanup_step(session, trial, index, number)
        await session.engine.call(take_stock(session, trial.index))
