"""A Prefect server for the length of one command, where the user has set none.

Prefect would start one by itself. But that one shares the terminal's process group, so Ctrl-C
ends it before the flow has told it how it ended; and it outlives a killed parent. This one is the
leader of a session of its own, ends with the process that started it, and starts while that one
is still importing the flows.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable

START_BOUND_S = 120.0
_END_BOUND_S = 10.0
_LOOK_EVERY_S = 0.5
_ANSWER_BOUND_S = 10.0


class ServerError(Exception):
    """There is no server to use; says why, and what would mend it."""


def use_server() -> Callable[[], None]:
    """Have Prefect use a server until this process ends: the one that is set, or a temporary one.

    Gives a function that waits until the server is up. What takes time, such as importing the
    flows, is best done before it is called.

    Raises:
        ServerError: from that function, when the server does not start or does not answer.
    """
    from prefect.settings import get_current_settings

    url = get_current_settings().api.url
    if url:
        return lambda: _require(url)
    port = _free_port()
    server = _start(port)
    # What is registered first is called last: by then Prefect has sent its last logs and events.
    atexit.register(_end, server)
    os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
    return lambda: _wait_until_up(server, port)


def _require(url: str) -> None:
    """Find out now whether a server answers: later, Prefect would retry for minutes."""
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=_ANSWER_BOUND_S):
            return
    except urllib.error.HTTPError:
        return  # something answers; what it makes of us is Prefect's to find out
    except (urllib.error.URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ServerError(
            f"no Prefect server answers at {url} ({reason}): start it, or unset PREFECT_API_URL to use a temporary one"
        ) from error


def _start(port: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "flows.temporary_server", str(port), str(os.getpid())],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def _end(server: subprocess.Popen[str]) -> None:
    server.terminate()
    try:
        server.wait(_END_BOUND_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(server: subprocess.Popen[str], port: int) -> None:
    from prefect.context import refresh_global_settings_context

    refresh_global_settings_context()
    deadline = time.monotonic() + START_BOUND_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    server.kill()
    said = (server.communicate()[1] or "").strip().splitlines()
    raise ServerError(
        f"Prefect's temporary server did not start within {START_BOUND_S:g} s: {(said or ['silent'])[-1]}"
    )


def _end_with(parent: int) -> None:
    """End this process when its parent has: a killed parent cannot ask for it."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os._exit(0)


def main(port: int, parent: int) -> None:
    """Serve until asked to end, or until the parent is gone."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    import uvicorn

    uvicorn.run(
        "prefect.server.api.server:create_app", factory=True, host="127.0.0.1", port=port, log_level="error",
        lifespan="on",
    )  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
