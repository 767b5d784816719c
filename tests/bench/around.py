"""Everything around the load: import, Prefect, plan, landing, report.

The demo runs on the simulated target in virtual time, where the load itself takes next to
nothing: what remains is what Sandgauge and Prefect add to any run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from tests.conftest import PREFECT, free_port

WITHOUT_SERVER_S, WITH_SERVER_S = 20.0, 5.0
DEMO = ["run", "density", "latency", "--on", "simulated", "--set", "size=demo"]


def _demo(directory: Path, **environment: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "flows.cli", *DEMO, "--results", str(directory)], check=True, timeout=180,
        env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - began


def _with_server(directory: Path) -> float:
    """The demo against a server that is up, the second time: the first fills the server's caches."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    server = subprocess.Popen(
        [*PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, "PREFECT_HOME": str(directory / "home")}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(240):
            try:
                if httpx.get(f"{url}/health", timeout=2).status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.5)
        environment = {"PREFECT_API_URL": url, "PREFECT_HOME": str(directory / "home")}
        _demo(directory / "first", **environment)
        return _demo(directory / "second", **environment)
    finally:
        server.terminate()
        server.wait(timeout=60)


def compare() -> list:  # type: ignore[type-arg]
    """The demo's overhead over its bounds, without a server (and a new Prefect home) and with one."""
    from tests.bench.__main__ import Ratio

    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        alone = _demo(directory / "alone", PREFECT_HOME=str(directory / "new"))
        served = _with_server(directory)
    return [
        Ratio(
            f"around the load of the demo, without a server, over {WITHOUT_SERVER_S:g} s", alone / WITHOUT_SERVER_S,
            at_most=1.0, measured=f"{alone:.1f} s",
        ),
        Ratio(
            f"around the load of the demo, with a server, over {WITH_SERVER_S:g} s", served / WITH_SERVER_S,
            at_most=1.0, measured=f"{served:.1f} s",
        ),
    ]  # fmt: skip
