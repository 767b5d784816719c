"""Damaged files by the thousand: each is read, or told about; none is a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from specs.errors import SpecError
from specs.loading import BUILT_IN, load_scenario, load_target
from specs.plan import make_plan
from tests.specs.base import ALL, ALL_NEEDS, BASE, write
from tests.specs.mutations import mutated

SCENARIOS = [BASE, *(path.read_text() for path in sorted((BUILT_IN / "scenarios").glob("*.yaml")))]
TARGETS = [path.read_text() for path in sorted((BUILT_IN / "targets").glob("*.yaml"))]


def told(path: Path, content: bytes, *, target: bool = False) -> bool:
    """Whether a fault was found; every problem has a place in the file and a message."""
    write(path.parent, content)
    try:
        if target:
            load_target(path)
        else:
            make_plan(load_scenario(path), load_target("simulated"), ALL, "simulated", ALL_NEEDS)
    except SpecError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.file == str(path)
            assert 1 <= problem.line <= content.count(b"\n") + 1
            assert problem.column >= 1
            assert "cannot be resolved" not in problem.message
            assert problem.message.isprintable(), problem.message
            assert len(str(problem)) < len(str(path)) + 600
        return True
    return False


@pytest.mark.parametrize("seed", range(5))
def test_damaged_scenarios(seed: int, tmp_path: Path) -> None:
    found = [told(tmp_path / "s.yaml", content) for content in mutated(SCENARIOS, seed, 600)]
    # Damage inside a comment or a title is none; most of it is.
    assert 0.7 < sum(found) / len(found) < 1


def test_damaged_targets(tmp_path: Path) -> None:
    found = [told(tmp_path / "s.yaml", content, target=True) for content in mutated(TARGETS, 99, 600)]
    assert 0.6 < sum(found) / len(found) < 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "1:1: the file is empty"),
        (b" \n\n", "1:1: the file is empty"),
        (b"# nothing\n", "1:1: the file is empty"),
        (b"---\n", "1:1: the file is empty"),
        (b"- a\n", "1:1: expected a mapping (key: value), found a list"),
        (b"words\n", "1:1: expected a mapping (key: value), found the text 'words'"),
        (b"\xef\xbb\xbfname: a\n", "1:1: the file begins with a byte order mark; save it as UTF-8 without"),
        (b"name: a\ntitle: \xe4\n", "2:8: byte 0xe4 is not UTF-8; save the file as UTF-8"),
        (b"name: a\0\n", "1:8: control character U+0000; remove it"),
        (b"name: a\rb\n", "1:8: control character U+000D; remove it"),
        (b"name: \xff\xfen\0", "1:7: byte 0xff is not UTF-8; save the file as UTF-8"),
        (b"#" * (1 << 20) + b"\n", "1:1: the file is larger than 1 MiB"),
        (b"[" * 100_000, "1:41: 0.0.0: nested deeper than 40 levels"),
        (b"{a: " * 100_000, "1:161: a.a.a: nested deeper than 40 levels"),
        (b"- " * 100_000, "1:81: 0.0.0: nested deeper than 40 levels"),
        (b"a: &a [" + b"*a, " * 1000 + b"]", "1:4: a: anchors (&a) are not allowed; write the value out twice"),
        (
            BASE.replace('\n  cpu: "{{ sizes-of-cpu }}"', ' "{{ nothing }}"').encode(),
            "8:9: matrix: expected a mapping, found the text '{{ nothing }}'",
        ),
        (b'a: "\\UFFFFFFFF"', "1:1: cannot be read as YAML"),
    ],
    ids=lambda value: repr(value)[:20] if isinstance(value, bytes) else None,
)
def test_strange_content(content: bytes, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(SpecError) as caught:
        load_scenario(path)
    assert f"{path}:{message}" in str(caught.value)


def test_windows_lines_are_lines(tmp_path: Path) -> None:
    assert not told(tmp_path / "s.yaml", BASE.replace("\n", "\r\n").encode())


def test_a_thousand_mistakes_are_not_all_told(tmp_path: Path) -> None:
    path = write(tmp_path, BASE + "".join(f"extra-{number}: 1\n" for number in range(1000)))
    with pytest.raises(SpecError) as caught:
        load_scenario(path)
    assert len(caught.value.problems) == 100
