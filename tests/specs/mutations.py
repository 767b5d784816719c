"""Seeded damage to YAML: of bytes, of lines, and of tokens."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

_TOKENS = (
    "no", "on", "1e3", ".5", ".inf", "1_000", "010", "1:30", "null", "~", "", "true", "-1", "0", "99999999999999999999",
    "[]", "{}", "[[]]", "{a: {b: c}}", "&a x", "*a", "!t x", "<<", "? x", "'", '"', "|", ">", "- ", ": ", "{{", "}}",
    '"{{ n }}"', '"{{ nothing }}"', "{{ n }}", '"x {{ cpus }}"', "---", "...", "%YAML 1.1", "#", "\t", "\0", "\x85",
    "\ufeff", "é", "🙂", "\\", "burst", "cleanup", "{rate: 5}", "{in_flight: 0}", "[create]", "{exec: [ls]}", "1s",
    "64Mi", "x" * 300, "[" * 60, "{a: " * 60, "load", "name", "density.running", "2024-01-01", "@", "`", "\u2028",
)  # fmt: skip
_WORD = re.compile(r"[\w./-]+|[\[\]{},:\"-]")


def mutated(texts: list[str], seed: int, number: int) -> Iterator[bytes]:
    """So many damaged copies of the texts."""
    rng = random.Random(seed)
    for _ in range(number):
        text = rng.choice(texts)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            text = rng.choice((_lines, _token, _token, _span))(text, rng)
        content = text.encode("utf-8")
        yield _bytes(content, rng) if rng.random() < 0.25 else content


def _lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    what = rng.randrange(5)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(at, lines[rng.randrange(len(lines))])
    elif what == 2:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif what == 3:
        lines[at] = rng.choice(("  ", " ", "\t", "- ")) + lines[at]
    else:
        lines[at] = lines[at].removeprefix("  ")
    return "\n".join(lines)


def _token(text: str, rng: random.Random) -> str:
    found = list(_WORD.finditer(text))
    if not found:
        return rng.choice(_TOKENS)
    token = rng.choice(found)
    return text[: token.start()] + rng.choice(_TOKENS) + text[token.end() :]


def _span(text: str, rng: random.Random) -> str:
    if not text:
        return text
    start = rng.randrange(len(text))
    end = min(len(text), start + rng.randrange(1, 40))
    return text[:start] + rng.choice(("", text[start:end] * 2)) + text[end:]


def _bytes(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content or b"x")
    for _ in range(rng.randrange(1, 4)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)
