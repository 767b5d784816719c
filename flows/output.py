"""What the command line prints, and how it ends."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from specs.errors import Problem, SpecError

if TYPE_CHECKING:
    from flows.cleaning import Cleaned
    from specs.plan import Plan
    from specs.suites import Suite

BAD_INPUT = 2


def tell(message: str) -> None:
    """One message to standard error."""
    print(message, file=sys.stderr)


def fail(message: str, code: int = BAD_INPUT) -> NoReturn:
    """End with one message and an exit code."""
    tell(f"sandgauge: {message}" if "\n" not in message else message)
    raise typer.Exit(code)


def _tell_problems(problems: Sequence[Problem], *, as_json: bool) -> NoReturn:
    if as_json:
        print(json.dumps({"problems": [asdict(problem) for problem in problems]}, indent=2))
    else:
        tell("\n".join(str(problem) for problem in problems))
    raise typer.Exit(BAD_INPUT)


def suite_or_exit(suite: str, on: str, overrides: list[str], *, as_json: bool = False) -> Suite:
    """Read a suite and plan every scenario of it, or print every problem and end with 2."""
    from specs.suites import load_suite

    try:
        read = load_suite(suite, overrides)
    except SpecError as error:
        _tell_problems(error.problems, as_json=as_json)
    plans_or_exit(read.file.scenarios, on, overrides, as_json=as_json)
    return read


def plans_or_exit(scenarios: Sequence[str], on: str, overrides: list[str], *, as_json: bool = False) -> list[Plan]:
    """Plan every scenario, or print every problem of all of them and end with 2."""
    from flows.requests import RunRequest

    plans: list[Plan] = []
    problems: list[Problem] = []
    for scenario in scenarios:
        try:
            plans.append(RunRequest(scenario=scenario, target=on, overrides=overrides).plan())
        except SpecError as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        _tell_problems(problems, as_json=as_json)
    return plans


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A query's answer as a table; as tab-separated text where no terminal shows it."""
    if not sys.stdout.isatty():
        print("\t".join(columns))
        for row in rows:
            print("\t".join("" if value is None else str(value) for value in row))
        return
    table = Table(*columns)
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    Console().print(table)


def describe_cleaned(cleaned: Cleaned) -> str:
    """What a clean-up did, in a line or two."""
    found = ", ".join(f"{len(names)} {kind}" for kind, names in cleaned.found.items() if names) or "nothing"
    lines = [f"{cleaned.target}: found {found}"]
    if not any(cleaned.left.values()):
        lines[0] += "; nothing is left"
    else:
        left = [f"{kind}: {', '.join(names[:5])}" for kind, names in cleaned.left.items() if names]
        lines.append(f"{cleaned.target}: still there: {'; '.join(left)}")
    if cleaned.landed:
        lines.append(f"landed rows of {', '.join(cleaned.landed)}")
    if cleaned.trouble:
        lines.append(f"rows were not landed: {cleaned.trouble}")
    return "\n".join(lines)


def as_dict(record: Any) -> dict[str, Any]:
    """A dataclass for JSON."""
    return asdict(record)


def without_tracebacks(work: Callable[[], Any]) -> None:
    """Run the program; what escapes it becomes one message.

    A fault of our own still deserves its traceback, and gets it where SANDGAUGE_DEBUG is set.
    """
    try:
        work()
    except BrokenPipeError:
        # The reader has gone, as `| head` does. What Python would flush at exit has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        tell("stopped")
        sys.exit(130)
    except SpecError as error:
        tell(str(error))
        sys.exit(BAD_INPUT)
    except Exception as error:
        if os.environ.get("SANDGAUGE_DEBUG"):
            raise
        tell(f"sandgauge: {type(error).__name__}: {error} (SANDGAUGE_DEBUG=1 shows where)")
        sys.exit(BAD_INPUT)
