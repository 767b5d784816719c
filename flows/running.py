"""Running scenarios from the command line, with or without a Prefect server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from flows.output import BAD_INPUT, fail, plans_or_exit, tell
from flows.temporary_server import ServerError, use_server

if TYPE_CHECKING:
    from tasks.reporting import RunResult

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
    from flows.doctor import why_not

    plans_or_exit(scenarios, on, overrides, as_json=as_json)
    reason = why_not(on)
    if reason:
        if otherwise is None:
            fail(reason)
        tell(f"{reason}; running on target {otherwise} instead: its figures are simulated, and no measurement")
        on = otherwise
        plans_or_exit(scenarios, on, overrides, as_json=as_json)
    quieten_prefect()
    signal.signal(signal.SIGTERM, _terminate)
    console = Console(stderr=True)
    try:
        with console.status("starting Prefect") if console.is_terminal else nullcontext():
            renderer = threading.Thread(target=_start_renderer)
            renderer.start()
            wait_until_up = use_server()
            import flows.run_scenario  # noqa: F401 - takes its time, while the server starts

            wait_until_up()
            renderer.join()  # before any load: nothing of ours may run beside it
        codes = _until_stopped(_run_each(console, scenarios, on, overrides, results, as_json=as_json))
    except ServerError as error:
        fail(str(error))
    return max(codes, key=lambda code: {0: 0, 1: 1, UNUSABLE: 2, BAD_INPUT: 3}.get(code, 4))


def _start_renderer() -> None:
    """What the report needs and takes a second to start; done on the other core, while Prefect is imported."""
    from warehouse.report import draw

    draw({"data": {"values": []}, "mark": "point"})


def _until_stopped(work: Coroutine[Any, Any, list[int]]) -> list[int]:
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
    from flows.progress import TerminalObserver
    from flows.requests import RunRequest

    if console.is_terminal:
        console.print(f"[bold]{scenario}[/] on {on}", highlight=False)
    from flows.run_scenario import run_scenario, watching
    from tasks.cleanup import NotClean
    from tasks.engine.recorder import RecordingError
    from tasks.platforms.base import Unavailable
    from warehouse.errors import WarehouseError

    request = RunRequest(scenario=scenario, target=on, overrides=overrides, results=results)
    with TerminalObserver(console, len(request.plan().trials)) as observer:
        token = watching.set(observer)
        try:
            result = await run_scenario(request)
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
    show_result(result, as_json=as_json)
    return result.exit_code


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
