"""The process that sends snapshots in the background: `python -m tasks.snapshots.uploader --state-dir=DIR`.

Its argument is the mark by which a later process finds it. It reads JSON lines: first its settings,
then one command a line, and ends at once when its input does.

    {"endpoint": ..., "bucket": ..., "prefix": ..., "part_bytes": ..., "region": ...,
     "parallel_uploads": 4, "env": {"AWS_ACCESS_KEY_ID": ...}}
    {"op": "add", "sandbox": ..., "generation": 7, "directory": ..., "due_at": ..., "ticket": 1}
    {"op": "drop", "sandbox": ..., "generation": 7, "ticket": 2}

It writes events as JSON lines, each with `at` in seconds of the system-wide monotonic clock and the
ticket of the command that it is of: added, uploading, progress, failed_try, written, superseded,
verified, lost, dropped; `fatal` where the settings are of no use. What happens when is in `uploads.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from tasks.snapshots.errors import StoreError
from tasks.snapshots.store import SnapshotStore, StoreSettings
from tasks.snapshots.uploads import Uploads


class Events:
    """Writes events, one line each, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, event: dict[str, Any]) -> None:
        """Write one event; without a reader there is nothing left to do."""
        line = json.dumps(event).encode() + b"\n"
        with self._lock:
            try:
                while line:
                    line = line[os.write(1, line) :]
            except OSError:
                os._exit(0)


def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser(prog="python -m tasks.snapshots.uploader", description="sends snapshots to S3")
    parser.add_argument("--state-dir", required=True, help="the mark by which this process is found")
    parser.parse_args()
    first = sys.stdin.buffer.readline()
    if not first:
        return
    emit = Events()
    threading.excepthook = _give_up
    try:
        uploads = _open(json.loads(first), emit)
    except (StoreError, ValueError, KeyError, TypeError) as error:
        emit({"event": "fatal", "error": f"the uploader's settings are of no use: {error}"})
        return
    for line in iter(sys.stdin.buffer.readline, b""):
        command = json.loads(line)
        key = (str(command["sandbox"]), int(command["generation"]))
        ticket = int(command.get("ticket", 0))
        if command["op"] == "add":
            uploads.add(key, Path(command["directory"]), float(command["due_at"]), ticket)
        else:
            uploads.drop(key, ticket)
    # At once, and without waiting for threads that are in the middle of a call.
    os._exit(0)


def _give_up(problem: threading.ExceptHookArgs) -> None:
    """A worker less would go unnoticed; a process that ends is started again."""
    traceback.print_exception(problem.exc_value)
    os._exit(1)


def _open(settings: dict[str, Any], emit: Events) -> Uploads:
    os.environ.update(settings.pop("env", {}))
    parallel = int(settings.pop("parallel_uploads"))
    return Uploads(SnapshotStore(StoreSettings(**settings), parallel=parallel), parallel, emit)


if __name__ == "__main__":
    main()
