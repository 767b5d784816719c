"""Strict YAML: plain values with the place of each, or every problem at once.

YAML reads `no` as false, `1e3` as text, `010` as eight or ten, and keeps the last of two equal
keys, each by the taste of the reader. Here every such surprise is refused, with words on how to
mend it. ruamel.yaml turns the text into events; what they mean is decided here. The story
continues in `specs.loading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML, events
from ruamel.yaml.error import YAMLError

from specs.errors import Problem, SpecError
from specs.scalars import read_key, read_plain
from specs.syntax import syntax_problem
from specs.tree import Loc, Place, Tree, dotted

MOST_BYTES = 1 << 20
MOST_DEPTH = 40

_FORBIDDEN = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
# ruamel.yaml raises these, besides its own, on some malformed escapes, directives and tags.
_PARSER_FAULTS = (YAMLError, ValueError, LookupError, TypeError, AttributeError, AssertionError, OverflowError)


def read_file(path: Path) -> str:
    """The text of a file, with lines that end in a newline.

    Raises:
        SpecError: it cannot be read, is too large, empty, or not UTF-8.
    """
    try:
        # One byte more than allowed tells a file that is too large, however it grows meanwhile.
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise SpecError([Problem(str(path), 1, 1, "", f"cannot be read: {reason}")]) from error
    return decode(str(path), content)


def decode(file: str, content: bytes) -> str:
    """Bytes as text.

    Raises:
        SpecError: with the place of the first byte that is not UTF-8, or another reason.
    """
    if len(content) > MOST_BYTES:
        raise SpecError([Problem(file, 1, 1, "", "the file is larger than 1 MiB")])
    if content.startswith(b"\xef\xbb\xbf"):
        raise SpecError([Problem(file, 1, 1, "", "the file begins with a byte order mark; save it as UTF-8 without")])
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        message = f"byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise SpecError([Problem(file, line, column, "", message)]) from error


def read_text(file: str, text: str) -> Tree:
    """Read one document; problems that leave something to look at are noted in the tree.

    Raises:
        SpecError: the text is no YAML.
    """
    tree = Tree(file)
    tree.problems += _characters(file, text)
    tree.raise_problems()
    _Builder(tree).build(text)
    return tree


def _characters(file: str, text: str) -> Iterator[Problem]:
    """Problems with characters that are seen by nobody, or that YAML's readers disagree on."""
    for number, line in enumerate(text.split("\n"), 1):
        if found := _FORBIDDEN.search(line):
            name = f"U+{ord(found[0]):04X}"
            yield Problem(file, number, found.start() + 1, "", f"control character {name}; remove it")
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if "\t" in indent and line.strip():
            yield Problem(file, number, indent.index("\t") + 1, "", "a tab in the indentation; use spaces")


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is being read."""

    value: list[Any] | dict[str, Any]
    path: Loc
    key: str | None = None
    bad_keys: int = 0


class _TooDeep(Exception):
    """Nested deeper than any scenario needs."""


class _Builder:
    """Builds a tree from YAML's events, without recursion, so that no nesting can exhaust the stack."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.stack: list[_Frame] = []
        self.documents = 0
        # Depth of a mapping or list that is a key: refused, and skipped whole.
        self.skipping = 0

    def build(self, text: str) -> None:
        try:
            for event in YAML(typ="safe", pure=True).parse(text):
                self._event(event)
        except _TooDeep:
            self.tree.raise_problems()
        except _PARSER_FAULTS as error:
            self.tree.problems.append(syntax_problem(self.tree.file, text, error))
            self.tree.raise_problems()

    def _event(self, event: events.Event) -> None:
        if isinstance(event, events.DocumentStartEvent):
            self._document(event)
        elif self.documents > 1:
            return
        elif isinstance(event, events.MappingStartEvent | events.SequenceStartEvent):
            self._open(event)
        elif isinstance(event, events.MappingEndEvent | events.SequenceEndEvent):
            self._close()
        elif isinstance(event, events.ScalarEvent | events.AliasEvent) and not self.skipping:
            self._leaf(event)

    def _document(self, event: events.DocumentStartEvent) -> None:
        self.documents += 1
        if self.documents == 2:
            self._problem(event, (), "a second document begins here; one file holds one document")
        elif event.version or event.tags:
            self._problem(event, (), "directives (lines that begin with %) are not allowed; remove them")

    def _open(self, event: events.MappingStartEvent | events.SequenceStartEvent) -> None:
        if self.skipping:
            self.skipping += 1
            return
        if len(self.stack) >= MOST_DEPTH:
            self._problem(event, self.stack[-1].path[:3], f"nested deeper than {MOST_DEPTH} levels")
            raise _TooDeep
        if self._awaits_key():
            self._refuse_key(event, 'a key must be text; a placeholder needs quotes: "{{ name }}"')
            if self.stack[-1].path:
                self.tree.spoiled.add(self.stack[-1].path)
            self.skipping = 1
            return
        value: list[Any] | dict[str, Any] = {} if isinstance(event, events.MappingStartEvent) else []
        path = self._add(event, value)
        self._markers(event, path)
        self.stack.append(_Frame(value, path))

    def _close(self) -> None:
        if not self.skipping:
            self.stack.pop()
            return
        self.skipping -= 1
        if not self.skipping:
            self.stack[-1].key = self._stand_in()

    def _leaf(self, event: events.ScalarEvent | events.AliasEvent) -> None:
        if self._awaits_key():
            self._key(event)
            return
        if isinstance(event, events.AliasEvent):
            path = self._add(event, None)
            self._spoil(event, path, "aliases (*name) are not allowed; write the value out")
            return
        fault = None
        value: Any = event.value
        if event.style is None and event.tag is None:
            value, fault = read_plain(event.value)
        path = self._add(event, value)
        self._markers(event, path)
        if event.tag is not None:
            self.tree.spoiled.add(path)
        if fault:
            self._spoil(event, path, fault)

    def _key(self, event: events.ScalarEvent | events.AliasEvent) -> None:
        frame = self.stack[-1]
        if isinstance(event, events.AliasEvent):
            self._refuse_key(event, "aliases (*name) are not allowed; write the key out")
            frame.key = self._stand_in()
            return
        fault = read_key(event.value) if event.style is None else None
        path = (*frame.path, event.value)
        self._markers(event, path)
        if fault:
            self._refuse_key(event, fault)
            frame.key = self._stand_in()
        elif path in self.tree.keys:
            first = self.tree.keys[path].line
            self._problem(event, path, f"duplicate key `{event.value}`, also at line {first}; remove one")
            frame.key = self._stand_in()
        else:
            frame.key = event.value
            self.tree.keys[path] = self._place(event)

    def _add(self, event: events.Event, value: Any) -> Loc:
        """Put a value where it belongs and return its path."""
        path: Loc = ()
        if not self.stack:
            self.tree.data = value
        else:
            frame = self.stack[-1]
            if isinstance(frame.value, list):
                path = (*frame.path, len(frame.value))
                frame.value.append(value)
            else:
                assert frame.key is not None, "a value follows its key"
                path = (*frame.path, frame.key)
                frame.value[frame.key] = value
                frame.key = None
        self.tree.values[path] = self._place(event)
        return path

    def _awaits_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None

    def _stand_in(self) -> str:
        """A key in place of one that was refused, under which its value is read and not judged further."""
        frame = self.stack[-1]
        frame.bad_keys += 1
        name = f"\0{frame.bad_keys}"
        self.tree.spoiled.add((*frame.path, name))
        self.tree.broken.add(frame.path)
        return name

    def _markers(
        self, event: events.MappingStartEvent | events.SequenceStartEvent | events.ScalarEvent, path: Loc
    ) -> None:
        if event.anchor is not None:
            self._problem(event, path, f"anchors (&{event.anchor}) are not allowed; write the value out twice")
        if event.tag is not None:
            self._problem(event, path, "tags (!name) are not allowed; remove it")

    def _refuse_key(self, event: events.Event, message: str) -> None:
        self._problem(event, self.stack[-1].path, message)

    def _spoil(self, event: events.Event, path: Loc, message: str) -> None:
        self._problem(event, path, message)
        self.tree.spoiled.add(path)

    def _problem(self, event: events.Event, path: Loc, message: str) -> None:
        place = self._place(event)
        self.tree.problems.append(Problem(place.file, place.line, place.column, dotted(path), message))

    def _place(self, event: events.Event) -> Place:
        return Place(self.tree.file, event.start_mark.line + 1, event.start_mark.column + 1)
