"""What many tests need: the reason why a real thing is missing here, and a real Prefect server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

REPOSITORY = Path(__file__).parent.parent
PREFECT = [sys.executable, "-m", "prefect"]


def why_no_local() -> str | None:
    """Why the platform `local` cannot run here, or None."""
    if sys.platform != "linux":
        return "needs Linux"
    if os.geteuid() != 0:
        return "needs root"
    return None if shutil.which("runsc") else "needs runsc"


def pytest_runtest_setup(item: pytest.Item) -> None:
    reason = why_no_local() if item.get_closest_marker("local") else None
    if reason and not os.environ.get("SANDGAUGE_REQUIRE_ALL"):
        pytest.skip(reason)
    if reason:
        pytest.fail(f"may not be skipped here, but {reason}")


@pytest.fixture(autouse=True, scope="session")
def _quiet_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test shares Prefect's home or a server with the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(tmp_path_factory.mktemp("prefect")))
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        patch.setenv("DO_NOT_TRACK", "1")
        patch.delenv("PREFECT_API_URL", raising=False)
        patch.delenv("SANDGAUGE_RESULTS", raising=False)
        yield


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Prefect server on loopback; gives the URL of its API."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with log.open("w") as out:
        server = subprocess.Popen(
            [*PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port)], stdout=out, stderr=out
        )
    try:
        _wait_until_healthy(url, server, log)
        yield url
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait_until_healthy(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(240):
        if server.poll() is not None:
            break
        try:
            if httpx.get(f"{url}/health", timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    pytest.fail(f"the Prefect server did not start:\n{log.read_text()[-2000:]}")
