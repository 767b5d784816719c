"""The whole suite at demo size: how long it takes, and how much of that is not load."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BOUND_S, HARNESS_SHARE = 360.0, 0.15
_LOAD = """
    select sum(ended_s - started_s) as load_s from steps join runs using (run_id)
    where kind in ('load', 'durability') and suite_run is not null
"""


def compare() -> list:  # type: ignore[type-arg]
    """The suite's time over its bound; and the share of it that is spent apart from load."""
    from tests.bench.__main__ import Ratio

    sandgauge = [sys.executable, "-m", "flows.cli"]
    with tempfile.TemporaryDirectory(prefix="sandgauge-bench-") as name:
        results = ["--results", str(Path(name) / "results")]
        began = time.perf_counter()
        done = subprocess.run(
            [*sandgauge, "suite", "published-ax", "--on", "local", "--set", "size=demo", *results],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=2 * BOUND_S, check=False,
        )  # fmt: skip
        took = time.perf_counter() - began
        asked = subprocess.run(
            [*sandgauge, "sql", _LOAD, "--json", *results], capture_output=True, text=True, check=True, timeout=60
        )
        load = json.loads(asked.stdout)[0]["load_s"]
    return [
        Ratio(
            f"the suite at demo size, over {BOUND_S:g} s", took / BOUND_S, at_most=1.0,
            measured=f"{took:.0f} s, exit code {done.returncode}",
        ),
        Ratio(
            "of it apart from load", 1 - load / took, at_most=HARNESS_SHARE,
            measured=f"{took - load:.0f} s of {took:.0f} s",
        ),
    ]  # fmt: skip
