"""A plan, shown: what would run, without anything having been touched."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from specs.plan import Plan

SHOWN_TRIALS = 20


def describe_plan(plan: Plan) -> dict[str, Any]:
    """A plan for JSON: the estimates, and every trial with its steps."""
    return {
        "scenario": plan.document.name,
        "size": plan.document.size,
        "target": plan.target.name,
        "platform": plan.target.platform,
        "estimates": asdict(plan.estimates),
        "trials": [
            {
                "trial": trial.index,
                "repetition": trial.repetition,
                "matrix": dict(trial.matrix),
                "seed": trial.seed,
                "attempts_at_most": trial.attempts_at_most,
                "steps": trial.labels,
            }
            for trial in plan.trials
        ],
    }


def plan_table(console: Console, plan: Plan) -> None:
    """Print a plan for a person."""
    estimates = plan.estimates
    console.print(
        f"[bold]{plan.document.name}[/] ({plan.document.size}) on {plan.target.name}: {estimates.trials} trials, "
        f"at most {estimates.attempts_at_most:,} attempts, {estimates.sandboxes_at_most:,} sandboxes at once; "
        "nothing was started"
    )
    table = Table("trial", "matrix", "attempts at most", "steps", box=None)
    for trial in plan.trials[:SHOWN_TRIALS]:
        matrix = ", ".join(f"{key}={value}" for key, value in trial.matrix.items())
        table.add_row(str(trial.index), matrix, f"{trial.attempts_at_most:,}", "; ".join(trial.labels))
    console.print(table)
    if len(plan.trials) > SHOWN_TRIALS:
        console.print(f"… and {len(plan.trials) - SHOWN_TRIALS} more trials (--json shows all)")
    rows = ", ".join(f"{count:,} {table}" for table, count in estimates.rows_at_most.items())
    console.print(f"rows at most: {rows}; samples come once a second for as long as it takes\n")
