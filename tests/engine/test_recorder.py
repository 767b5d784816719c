from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tasks.engine.recorder import Recorder, RecordingError
from tests.engine.helpers import segment
from warehouse.rows import FactRow

WRITE_FOR_EVER = """
import sys, time, itertools
from pathlib import Path
from tasks.engine.recorder import Recorder
from warehouse.rows import FactRow
recorder = Recorder(Path(sys.argv[1])).open()
for number in itertools.count():
    recorder.write(FactRow("run", str(number), str(time.time())))
    print(number, flush=True)
    time.sleep(0.01)
"""


def test_rows_are_lines_in_the_order_of_writing(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        for number in range(1000):
            recorder.write(FactRow("run", f"key{number}", None, reason="not measured"))
    rows = segment(tmp_path, "facts")
    assert [row["key"] for row in rows] == [f"key{number}" for number in range(1000)]
    assert rows[0]["value"] is None


def test_closing_twice_is_allowed(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path).open()
    recorder.close()
    recorder.close()


@pytest.mark.parametrize("seconds", [0.3, 0.8, 1.7])
def test_a_kill_costs_at_most_the_last_second(tmp_path: Path, seconds: float) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITE_FOR_EVER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(seconds)
    killed_at = time.time()
    child.send_signal(signal.SIGKILL)
    child.wait()
    file = tmp_path / "segments" / "facts.ndjson"
    lines = file.read_text().splitlines() if file.exists() else []
    written = [json.loads(line) for line in lines]
    assert [row["key"] for row in written] == [str(number) for number in range(len(written))]
    last = float(written[-1]["value"]) if written else killed_at - seconds
    assert killed_at - last < 1.0


def test_a_full_disk_is_told_once_and_leaves_no_torn_line(tmp_path: Path) -> None:
    """/dev/full answers every write with ENOSPC."""
    (tmp_path / "segments").mkdir()
    (tmp_path / "segments" / "facts.ndjson").symlink_to("/dev/full")
    recorder = Recorder(tmp_path).open()
    recorder.write(FactRow("run", "key", "value"))
    with pytest.raises(RecordingError, match="No space left on device"):
        recorder.close()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="cannot be made"):
        Recorder(tmp_path / "file").open()
