"""Checks: a bound on a figure, answered with pass, fail or insufficient from the rows of a run.

What the figures are is in `warehouse.figures`. A figure that is missing never passes. Beside the
scenario's own checks every run has one: that nothing of ours was left.
"""

from __future__ import annotations

import json
from typing import Any

from warehouse.figures import LEFT, figure, unit_of
from warehouse.formatting import bytes_of, millicores_of, seconds_of, show_in
from warehouse.store import Warehouse

NOTHING_LEFT: dict[str, Any] = {"of": LEFT, "at_most": 0}
"""The check that every run has, after those of its scenario."""
_BOUNDS = {"seconds": seconds_of, "bytes": bytes_of, "millicores": millicores_of}


def answer_checks(warehouse: Warehouse, run_id: str) -> None:
    """Answer every check of a run anew, the built-in one last, and write the answers down.

    Raises:
        WarehouseError: there is no such run.
    """
    (spec,) = warehouse.one("SELECT checks_spec FROM runs WHERE run_id = ?", [run_id])
    checks = [*json.loads(spec), NOTHING_LEFT]
    answers = [_answer(warehouse, run_id, number, check) for number, check in enumerate(checks)]
    warehouse.change("DELETE FROM checks WHERE run_id = ?", [[run_id]])
    warehouse.change("INSERT INTO checks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", answers)


def _answer(warehouse: Warehouse, run_id: str, number: int, check: dict[str, Any]) -> list[Any]:
    of, where = check["of"], check.get("where", {})
    side = "at_most" if "at_most" in check else "at_least"
    unit = unit_of(of)
    bound = _BOUNDS.get(unit, float)(check[side])
    evidence = figure(warehouse, run_id, of, where)
    text = f"{side.replace('_', ' ')} {show_in(unit, bound)}"
    answer = evidence.answer(side, bound)
    return [run_id, number, of, json.dumps(where), text, evidence.figure, evidence.n, answer, evidence.reason]
