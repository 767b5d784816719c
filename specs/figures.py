"""The figures that checks and suites can ask for, with the unit of each.

A figure is called SUBJECT.FIGURE: of an operation (`resume.p50`), or of the run as a whole
(`density.running`). What each means in rows is in the warehouse's views; `warehouse.checks` works
them out.
"""

from __future__ import annotations

from typing import Literal

Unit = Literal["seconds", "count", "per second", "bytes", "millicores"]

_OF_OPERATIONS: dict[str, Unit] = {
    "p50": "seconds", "p95": "seconds", "p99": "seconds", "max": "seconds", "rate": "per second",
    "attempts": "count", "ok": "count", "refused": "count", "failed": "count", "timed_out": "count",
}  # fmt: skip
_OPERATIONS = ("create", "resume", "suspend", "wake", "exec", "delete")

FIGURES: dict[str, Unit] = {
    **{f"{operation}.{figure}": unit for operation in _OPERATIONS for figure, unit in _OF_OPERATIONS.items()},
    # By the program's own clock, inside the sandbox.
    "exec.inside_p50": "seconds", "exec.inside_p95": "seconds",
    # Wakes after which the program inside did not go on where it had been suspended.
    "wake.lost_state": "count",
    # The most that ran at once; memory of the node for each further sandbox.
    "density.running": "count", "density.memory_per_sandbox": "bytes",
    "durability.snapshots": "count", "durability.durable": "count", "durability.lost": "count",
    # Not durable when the step ended, for whatever reason (lost ones included).
    "durability.not_durable": "count",
    # Restored from the store alone, and of these, without one of their nonces.
    "durability.restored": "count", "durability.restored_wrong": "count",
    # From the first suspend's return until the last snapshot was durable.
    "durability.all_durable_after": "seconds",
    # Of one component (`where: {component: runsc, operation: create}`), in its busiest second.
    "component.cpu_peak": "millicores",
    # Background sandboxes that ended, or stopped loading, while others were measured.
    "neighbours.stopped": "count",
}  # fmt: skip
"""Every figure, with its unit."""

_PROGRAMS = ("group", "how", "program")
_FILTERS_OF = {
    "wake.lost_state": ("group", "how"), "exec.inside_p50": ("group", "program"),
    "exec.inside_p95": ("group", "program"), "density": ("group",), "durability": ("group",),
    "component": ("component", "operation"), "neighbours": ("group",),
}  # fmt: skip


def filters_of(figure: str) -> tuple[str, ...]:
    """What `where` can narrow a figure by, beside matrix values."""
    return _FILTERS_OF.get(figure, _FILTERS_OF.get(figure.split(".")[0], _PROGRAMS))


FILTERS = ("group", "how", "program", "component", "operation")
"""What `where` can narrow some figure by, beside matrix values; no matrix key may be called so."""
