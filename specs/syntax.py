"""YAML's syntax errors in plain words."""

from __future__ import annotations

import re
from typing import Any

from specs.errors import Problem

_WORDS = (
    ("mapping values are not allowed", "`:` cannot stand here; indent evenly, or quote text that holds `: `"),
    ("could not find expected ':'", "expected `key: value` before this line"),
    ("expected <block end>", "does not fit its surroundings; check the indentation, dashes and brackets"),
    ("expected the node content", "a value is missing here, or a bracket or quote is not closed"),
    ("expected ',' or ']'", "expected `,` or `]`; is a bracket not closed, or text with `: ` or `, ` not quoted?"),
    ("expected ',' or '}'", "expected `,` or `}`; is a brace not closed, or text with `: ` or `, ` not quoted?"),
    ("unexpected end of stream", "the file ends before a quote is closed"),
    ("document separator", "`---` inside a quoted text; is a quote not closed?"),
    ("unknown escape character", 'unknown escape after `\\`; use single quotes, or write `\\\\` for a backslash'),
    ("expected '<document start>'", "does not fit its surroundings; check the indentation, dashes and brackets"),
    ("found undefined alias", "aliases (*name) are not allowed; write the value out"),
    ("sequence entries are not allowed", "a list entry (`- `) cannot begin here; put it on a line of its own"),
    ("mapping keys are not allowed", "a key cannot begin here; put it on a line of its own"),
)  # fmt: skip


def syntax_problem(file: str, text: str, error: Exception) -> Problem:
    """One located message for what ruamel.yaml could not read."""
    mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        return Problem(file, 1, 1, "", "cannot be read as YAML")
    # A mark at the end of the file points at a line that no editor shows.
    last = text.rstrip("\n").count("\n") + 1
    line = min(mark.line + 1, last)
    column = mark.column + 1 if line == mark.line + 1 else len(text.rstrip("\n").rsplit("\n", 1)[-1]) + 1
    return Problem(file, line, column, "", f"not YAML: {_message(error, line)}")


def _message(error: Exception, line: int) -> str:
    problem = str(getattr(error, "problem", None) or "cannot be read")
    if "<stream end>" in problem and "flow" in str(getattr(error, "context", "")):
        return "a bracket is not closed" + _opened(error, line)
    for sign, words in _WORDS:
        if sign in problem:
            return words + _opened(error, line)
    if found := re.search(r"found character '(.+)' that cannot start", problem):
        shown = found[1].replace("\\t", "a tab")
        return f"{shown if shown == 'a tab' else f'`{shown}`'} cannot begin a value; quote the text"
    return re.sub(r"[<>\x00-\x1f]|\\x[0-9a-f]{2}", "", problem)[:200]


def _opened(error: Exception, line: int) -> str:
    """Where the thing began that is not closed, when that is another line."""
    start: Any = getattr(error, "context_mark", None)
    if start is None or start.line + 1 == line:
        return ""
    return f" (it began at line {start.line + 1})"
