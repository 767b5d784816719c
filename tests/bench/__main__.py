"""`make bench`: what Sandgauge itself costs, as ratios between things measured in the same run.

Each line compares the product with what it stands on: the same `runsc` commands without it, one
core, or a bound of its own. Absolute times are printed beside, for orientation; they are this
machine's. Nothing here fails a test: a busy machine is no defect.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tests.conftest import why_no_local


@dataclass(frozen=True, slots=True)
class Ratio:
    """One figure: `value` should be at least or at most `bound`."""

    what: str
    value: float
    at_least: float | None = None
    at_most: float | None = None
    measured: str = ""

    @property
    def met(self) -> bool:
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )


def main() -> None:
    """Run every comparison and print the table."""
    from tests.bench import around, engine, local, storm, suite, wakes

    os.environ.setdefault("DO_NOT_TRACK", "1")
    console = Console(width=150)
    ratios: list[Ratio] = []
    ratios += engine.compare()
    reason = why_no_local()
    if reason:
        console.print(f"no comparison with runsc: {reason}")
    else:
        ratios += asyncio.run(local.compare())
        ratios += asyncio.run(wakes.compare())
        ratios += storm.compare()
        ratios += suite.compare()
    ratios += around.compare()
    table = Table("what", "ratio", "bound", "met", "measured")
    for ratio in ratios:
        bound = f">= {ratio.at_least:g}" if ratio.at_least is not None else f"<= {ratio.at_most:g}"
        table.add_row(ratio.what, f"{ratio.value:.2f}", bound, "yes" if ratio.met else "NO", ratio.measured)
    console.print(table)


if __name__ == "__main__":
    main()
