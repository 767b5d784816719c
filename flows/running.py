"""Running scenarios from the command line, with or without a Prefect server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console
from rich.table import Table

from flows.output import BAD_INPUT, fail, plans_or_exit, suite_or_exit, tell
from flows.temporary_server import ServerError, use_server

if TYPE_CHECKING:
    from tasks.reporting import RunResult, SuiteResult

T = TypeVar("T")
UNUSABLE = 3


def quieten_prefect() -> None:
    """Keep Prefect's own output from the terminal, and its analytics from the network.

    To be called before Prefect is first imported. What a user has set stays as it is.
    """
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_INTERNAL_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    os.environ.setdefault("DO_NOT_TRACK", "1")


def run_all(
    scenarios: list[str], on: str, overrides: list[str], results: Path, *, as_json: bool, otherwise: str | None = None
) -> int:
    """Run scenarios one after the other; returns the exit code of the command.

    Everything that can be found wrong is found before the first of them starts.
    """
    on = _where_it_runs(on, otherwise, lambda target: plans_or_exit(scenarios, target, overrides, as_json=as_json))
    codes = _with_prefect(lambda console: _run_each(console, scenarios, on, overrides, results, as_json=as_json))
    return max(codes, key=_severity)


def run_suite_of(suite: str, on: str, overrides: list[str], results: Path, *, as_json: bool) -> int:
    """Run every scenario of a suite, and print its table; returns the exit code of the command."""
    on = _where_it_runs(on, None, lambda target: suite_or_exit(suite, target, overrides, as_json=as_json))
    return _with_prefect(lambda console: _run_suite(console, suite, on, overrides, results, as_json=as_json))


def _where_it_runs(on: str, otherwise: str | None, plan: Callable[[str], object]) -> str:
    """The target that can run here: the one asked for, or the other one where there is one."""
    from flows.doctor import why_not

    plan(on)
    reason = why_not(on)
    if reason is None:
        return on
    if otherwise is None:
        fail(reason)
    tell(f"{reason}; running on target {otherwise} instead: its figures are simulated, and no measurement")
    plan(otherwise)
    return otherwise


def _with_prefect(work: Callable[[Console], Coroutine[Any, Any, T]]) -> T:
    """Do work that runs flows, with a Prefect server to tell it to."""
    quieten_prefect()
    signal.signal(signal.SIGTERM, _terminate)
    console = Console(stderr=True)
    try:
        with console.status("starting Prefect") if console.is_terminal else nullcontext():
            renderer = threading.Thread(target=_start_renderer)
            renderer.start()
            wait_until_up = use_server()
            import flows.run_suite  # noqa: F401 - takes its time, while the server starts

            wait_until_up()
            renderer.join()  # before any load: nothing of ours may run beside it
        return _until_stopped(work(console))
    except ServerError as error:
        fail(str(error))


def _severity(code: int) -> int:
    return {0: 0, 1: 1, UNUSABLE: 2, BAD_INPUT: 3}.get(code, 4)


def _start_renderer() -> None:
    """What the report needs and takes a second to start; done on the other core, while Prefect is imported."""
    from warehouse.report import draw

    draw({"data": {"values": []}, "mark": "point"})


def _until_stopped(work: Coroutine[Any, Any, T]) -> T:
    from prefect.exceptions import TerminationSignal

    try:
        return asyncio.run(work)
    except TerminationSignal as error:  # Prefect's own handler, while a flow runs
        raise SystemExit(128 + error.signal) from None


def _terminate(*_: object) -> None:
    # Without this the default action would end the process and orphan the temporary server.
    raise SystemExit(128 + signal.SIGTERM)


async def _run_each(
    console: Console, scenarios: list[str], on: str, overrides: list[str], results: Path, *, as_json: bool
) -> list[int]:
    codes: list[int] = []
    for scenario in scenarios:
        codes.append(await _run_one(console, scenario, on, overrides, results, as_json=as_json))
        if codes[-1] not in (0, 1):
            break
    return codes


async def _run_one(
    console: Console, scenario: str, on: str, overrides: list[str], results: Path, *, as_json: bool
) -> int:
    from flows.requests import RunRequest
    from flows.run_scenario import run_scenario

    if console.is_terminal:
        console.print(f"[bold]{scenario}[/] on {on}", highlight=False)
    request = RunRequest(scenario=scenario, target=on, overrides=overrides, results=results)
    outcome = await _told(console, lambda: run_scenario(request))
    if isinstance(outcome, int):
        return outcome
    show_result(outcome, as_json=as_json)
    return outcome.exit_code


async def _run_suite(
    console: Console, suite: str, on: str, overrides: list[str], results: Path, *, as_json: bool
) -> int:
    from flows.run_suite import SuiteRequest, run_suite

    request = SuiteRequest(suite=suite, target=on, overrides=overrides, results=results)
    outcome = await _told(console, lambda: run_suite(request))
    if isinstance(outcome, int):
        return outcome
    show_suite(outcome, as_json=as_json)
    return outcome.exit_code


async def _told(console: Console, work: Callable[[], Awaitable[T]]) -> T | int:
    """Run a flow with its progress on the console; an exit code where it gave no result, after the reason."""
    from flows.progress import TerminalObserver
    from flows.run_scenario import watching
    from tasks.cleanup import NotClean
    from tasks.engine.recorder import RecordingError
    from tasks.platforms.base import Unavailable
    from warehouse.errors import WarehouseError

    token = watching.set(lambda plan: TerminalObserver(console, len(plan.trials), plan.document.name))
    try:
        return await work()
    except Unavailable as error:
        tell(f"sandgauge: {error}")
        return BAD_INPUT
    except (NotClean, RecordingError, WarehouseError) as error:
        tell(f"sandgauge: {error}")
        return UNUSABLE
    except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
        tell("stopped: everything measured is in the warehouse, and nothing is left running")
        raise
    finally:
        watching.reset(token)


def show_result(result: RunResult, *, as_json: bool = False) -> None:
    """Print what a run came to: for a person, or as one JSON object a run."""
    if as_json:
        print(json.dumps({**asdict(result), "exit_code": result.exit_code}))
        return
    console = Console(width=None if sys.stdout.isatty() else 140)
    title = f"{result.scenario} on {result.target}" + (" – SIMULATED figures" if result.simulated else "")
    if result.summary:
        table = Table(*result.summary[0], title=title, title_justify="left")
        for row in result.summary:
            table.add_row(*row.values())
        console.print(table)
    console.print(result.headline, highlight=False)
    checks = ", ".join(f"{count} {answer}" for answer, count in sorted(result.answers.items())) or "none"
    verdict = result.verdict + (f": {result.verdict_reason}" if result.verdict_reason else "")
    console.print(f"verdict    {verdict}\nchecks     {checks}", highlight=False, soft_wrap=True)
    console.print(
        f"run        {result.run_id}\nreport     {result.report}\nwarehouse  {result.warehouse}\n",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


def show_suite(result: SuiteResult, *, as_json: bool = False) -> None:
    """Print the table of a suite, and how its runs ended: for a person, or as one JSON object."""
    if as_json:
        print(json.dumps({**asdict(result), "exit_code": result.exit_code}))
        return
    console = Console(width=None if sys.stdout.isatty() else 160)
    if result.rows:
        table = Table(*result.rows[0], title=f"{result.suite} on {result.target}", title_justify="left")
        for row in result.rows:
            table.add_row(*row.values())
        console.print(table)
    runs = Table("scenario", "verdict", "checks", "report", box=None)
    for run in result.runs:
        checks = ", ".join(f"{count} {answer}" for answer, count in sorted(run.answers.items())) or "none"
        verdict = run.verdict + (f": {run.verdict_reason}" if run.verdict_reason else "")
        runs.add_row(run.scenario, verdict, checks, run.report)
    console.print(runs)
    for failure in result.failures:
        console.print(f"no result  {failure}", highlight=False, soft_wrap=True)
    console.print(
        f"\nsuite      {result.suite_run}\nreport     {result.report}\nwarehouse  {result.warehouse}\n",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
