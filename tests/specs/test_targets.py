"""Faults in targets, and exactly what is said of each."""

# Messages stand on one line, as they are printed.
# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest

from specs.errors import SpecError
from specs.loading import load_target
from tests.specs.base import write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: a\n", ["1:1: the key `platform` is missing; known are local, simulated"]),
        ("name: a\nplatform: lokal\n", ["2:11: platform: expected a platform, found the text 'lokal'; did you mean `local`?"]),
        ("name: a\nplatform: local\ntime: real\n", ["3:1: time: unknown key `time`; did you mean `title`?"]),
        ("name: a\nplatform: local\nstate_dir: here\n", ["3:12: state_dir: 'here' does not match ^/.+"]),
        (
            "name: A\nplatform: simulated\nlatencies: {boot: {median: 1s}, resume: {median: 1}}\nfaults: [{kind: explode}]\n",
            [
                "1:7: name: 'A' is not a name; write small letters, digits and dashes, beginning with a letter, at most 40",
                "3:13: latencies.boot: expected create, resume, suspend, wake, exec or delete, found the text 'boot'",
                "3:50: latencies.resume.median: '1' is not a duration; write it with a unit, such as 500ms, 30s or 5m",
                "4:17: faults.0.kind: expected refuse, fail, time-out, hang, stall, late, lose, corrupt or forget, found the text 'explode'",
            ],
        ),
        ("name: a\nplatform: no\n", ["2:11: platform: `no` is true, false or text to different readers; quote it or write true/false"]),
    ],
)  # fmt: skip
def test_fault_is_told(text: str, expected: list[str], tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        load_target(path)
    assert [str(problem).removeprefix(f"{path}:") for problem in caught.value.problems] == expected
