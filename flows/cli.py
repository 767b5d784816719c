"""The command line: `sandgauge`.

Exit codes: 0 well, 1 a check did not pass, 2 bad input or nothing could be started, 3 the run's
figures may not be used (or something of ours is left). Messages go to standard error, what was
asked for to standard output. Prefect and DuckDB are imported by the commands that need them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from flows import output
from flows.output import fail, tell

app = typer.Typer(
    name="sandgauge", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Stress-tests agent sandboxes: declared in YAML, run on any target, answered in SQL.",
)  # fmt: skip

ScenarioNames = Annotated[list[str], typer.Argument(help="built-in scenarios, or paths of YAML files")]
TargetName = Annotated[str, typer.Option("--on", help="built-in target, or path of a YAML file")]
Overrides = Annotated[list[str] | None, typer.Option("--set", help="another value, as path=value; may be repeated")]
Results = Annotated[
    Path, typer.Option("--results", envvar="SANDGAUGE_RESULTS", help="folder of the warehouse and the reports")
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for a script")]
DEFAULT_RESULTS = Path("results")


@app.command()
def run(
    scenarios: ScenarioNames,
    on: TargetName = "local",
    overrides: Overrides = None,
    results: Results = DEFAULT_RESULTS,
    as_json: AsJson = False,
    otherwise: Annotated[
        str | None, typer.Option("--otherwise-on", help="a target to fall back to where the first cannot run")
    ] = None,
) -> None:
    """Run scenarios on a target, one after the other, and report."""
    from flows.running import run_all

    raise typer.Exit(run_all(scenarios, on, overrides or [], results, as_json=as_json, otherwise=otherwise))


@app.command()
def suite(
    name: Annotated[str, typer.Argument(help="a built-in suite, or the path of a YAML file")],
    on: TargetName = "local",
    overrides: Overrides = None,
    results: Results = DEFAULT_RESULTS,
    as_json: AsJson = False,
) -> None:
    """Run every scenario of a suite on a target, and fill its table, beside what was published."""
    from flows.running import run_suite_of

    raise typer.Exit(run_suite_of(name, on, overrides or [], results, as_json=as_json))


@app.command()
def plan(
    scenarios: ScenarioNames, on: TargetName = "local", overrides: Overrides = None, as_json: AsJson = False
) -> None:
    """Show what would run: trials, attempts, sandboxes and rows; touches nothing."""
    from flows.planning import describe_plan, plan_table

    plans = output.plans_or_exit(scenarios, on, overrides or [], as_json=as_json)
    if as_json:
        print(json.dumps([describe_plan(each) for each in plans], indent=2))
        return
    for each in plans:
        plan_table(Console(), each)


@app.command()
def validate(
    scenarios: ScenarioNames, on: TargetName = "local", overrides: Overrides = None, as_json: AsJson = False
) -> None:
    """Check scenarios against a target's platform: silent and 0 when they are right, else every problem and 2."""
    plans = output.plans_or_exit(scenarios, on, overrides or [], as_json=as_json)
    if as_json:
        print(json.dumps({"problems": []}))
    else:
        tell(f"{len(plans)} right")


@app.command()
def report(
    run_id: Annotated[str | None, typer.Argument(help="a run's id; the newest when left out")] = None,
    results: Results = DEFAULT_RESULTS,
    as_json: AsJson = False,
) -> None:
    """Land what is not landed yet, and write a run's page and charts anew."""
    from flows.running import show_result
    from tasks.reporting import report as write
    from warehouse.results import land_leftovers, newest_run
    from warehouse.store import WarehouseError

    try:
        land_leftovers(results)
        result = write(results, run_id or newest_run(results))
    except WarehouseError as error:
        fail(str(error))
    show_result(result, as_json=as_json)
    raise typer.Exit(result.exit_code)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="SQL; `show tables` and `describe latency` say what there is")],
    results: Results = DEFAULT_RESULTS,
    as_json: AsJson = False,
) -> None:
    """Ask the warehouse; what earlier runs left unlanded is landed first."""
    from warehouse.results import ask
    from warehouse.store import WarehouseError

    try:
        columns, rows = ask(results, query)
    except WarehouseError as error:
        fail(str(error))
    if as_json:
        print(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], default=str, indent=2))
        return
    output.print_rows(columns, rows)


@app.command()
def clean(
    targets: Annotated[list[str] | None, typer.Argument(help="targets; local when left out")] = None,
    results: Results = DEFAULT_RESULTS,
    as_json: AsJson = False,
) -> None:
    """Land what earlier runs left and remove everything of ours, also of a run that was killed."""
    from flows.cleaning import clean_target
    from specs.errors import SpecError
    from tasks.platforms.base import Unavailable

    try:
        cleaned = [clean_target(target, results) for target in targets or ["local"]]
    except (SpecError, Unavailable) as error:
        fail(str(error))
    if as_json:
        print(json.dumps([output.as_dict(each) for each in cleaned], indent=2))
    else:
        for each in cleaned:
            tell(output.describe_cleaned(each))
    raise typer.Exit(0 if all(each.clean for each in cleaned) else 3)


@app.command()
def doctor(on: TargetName = "local", as_json: AsJson = False) -> None:
    """Say what this machine can and cannot run, and the command that mends each gap."""
    from flows.doctor import diagnose

    findings = diagnose(on)
    if as_json:
        print(json.dumps([output.as_dict(finding) for finding in findings], indent=2))
    else:
        table = Table("", "what", "found", "to mend it", box=None)
        for finding in findings:
            table.add_row({True: "✓", False: "✗", None: "–"}[finding.well], finding.what, finding.found, finding.mend)
        Console(width=None if sys.stdout.isatty() else 160).print(table)
    raise typer.Exit(0 if all(finding.well is not False for finding in findings) else 1)


def main(arguments: list[str] | None = None) -> Any:
    """The program's entry: no mistake of a user's, and no broken pipe, ends in a traceback."""
    output.without_tracebacks(lambda: app(arguments))


if __name__ == "__main__":
    main()
