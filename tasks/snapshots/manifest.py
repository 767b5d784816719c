"""What a snapshot is, once it is in the bucket.

    PREFIX/SANDBOX/000007/parts/000000     the contents of all files, one after the other,
    PREFIX/SANDBOX/000007/parts/000001     cut into parts: 1000 small files are one object
    PREFIX/SANDBOX/000007/manifest.json    written last

The manifest lists the tree (every directory, file and link with what gVisor compares when it
restores: sizes and times to the nanosecond) and the parts with their SHA-256, which the server
checks when it takes a part and repeats when it is asked.

A bucket may be written by others, so a manifest is believed only as far as it was checked here:
it cannot name a path outside of its own tree, nor a key outside of its own generation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

OWNER = "sandgauge-snapshot/1"
ROOT = "."
Kind = Literal["directory", "file", "link", "fifo"]

_SANDBOX = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One directory, file, link or pipe of a tree.

    Attributes:
        path: from the root of the tree, with slashes; the root itself is ".".
        mode: permission bits, with set-user-ID and the like.
        mtime_ns: when it was last written, in nanoseconds since 1970.
        size: bytes of a file; 0 for everything else.
        target: where a link points; empty for everything else.
        sha256: of a file's contents, in hexadecimal; empty for everything else, and before it was read.
    """

    path: str
    kind: Kind
    mode: int
    mtime_ns: int
    uid: int
    gid: int
    size: int = 0
    target: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One object: where it is, its bytes and their SHA-256 in hexadecimal."""

    key: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of the objects under one prefix, which has neither a slash at its end nor at its start."""

    prefix: str

    def generation(self, sandbox: str, generation: int) -> str:
        """What the keys of one snapshot start with."""
        return f"{self.sandbox(sandbox)}{generation:06d}/"

    def sandbox(self, sandbox: str) -> str:
        """What the keys of one sandbox start with."""
        return f"{self.prefix}/{sandbox}/"

    def manifest(self, sandbox: str, generation: int) -> str:
        """The key of a manifest."""
        return f"{self.generation(sandbox, generation)}manifest.json"

    def part(self, sandbox: str, generation: int, index: int) -> str:
        """The key of a part."""
        return f"{self.generation(sandbox, generation)}parts/{index:06d}"

    def owns(self, key: str) -> bool:
        """Whether a key is one of ours; others under the same prefix are never touched."""
        pattern = rf"{re.escape(self.prefix)}/{_SANDBOX}/\d{{6,}}/(parts/\d{{6,}}|manifest\.json)"
        return re.fullmatch(pattern, key) is not None


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a snapshot consists of.

    Attributes:
        created: when it was written, in seconds since 1970.
        entries: the tree; a directory comes before what is in it.
        parts: the contents of its files, in the order of `entries`.
    """

    sandbox: str
    generation: int
    created: float
    entries: tuple[Entry, ...]
    parts: tuple[Part, ...]

    @property
    def content_bytes(self) -> int:
        """Bytes of all its parts."""
        return sum(part.size for part in self.parts)

    def matches(self, entries: Iterable[Entry]) -> bool:
        """Whether a tree on disk is the one that this manifest is of, as far as sizes and times tell."""
        return [_unread(entry) for entry in self.entries] == [_unread(entry) for entry in entries]

    def to_bytes(self) -> bytes:
        """As it is written. Names that are no UTF-8 survive, because JSON escapes them."""
        return json.dumps({"owner": OWNER, **asdict(self)}, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes, layout: Layout, sandbox: str, generation: int) -> Manifest:
        """Read a manifest and check that it can be believed.

        Raises:
            ValueError: it cannot; the text says why.
        """
        try:
            document = json.loads(data)
        except ValueError as error:
            raise ValueError(f"it is no JSON: {error}") from error
        if not isinstance(document, dict) or document.get("owner") != OWNER:
            raise ValueError(f"it does not carry the mark {OWNER}")
        try:
            manifest = cls(
                sandbox=document["sandbox"],
                generation=document["generation"],
                created=float(document["created"]),
                entries=tuple(_entry(fields) for fields in document["entries"]),
                parts=tuple(_part(fields) for fields in document["parts"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"a field is missing or of another kind: {error!r}") from error
        if (manifest.sandbox, manifest.generation) != (sandbox, generation):
            raise ValueError(f"it is of sandbox {manifest.sandbox}, generation {manifest.generation}")
        _check_tree(manifest.entries)
        _check_parts(manifest, layout)
        return manifest


def _unread(entry: Entry) -> tuple[Any, ...]:
    return (entry.path, entry.kind, entry.mode, entry.mtime_ns, entry.uid, entry.gid, entry.size, entry.target)


def _entry(fields: dict[str, Any]) -> Entry:
    entry = Entry(**fields)
    texts = (entry.path, entry.kind, entry.target, entry.sha256)
    numbers = (entry.mode, entry.mtime_ns, entry.uid, entry.gid, entry.size)
    if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
        raise TypeError(f"entry {entry.path}")
    if entry.kind not in get_args(Kind) or entry.size < 0 or not 0 <= entry.mode <= 0o7777:
        raise ValueError(f"entry {entry.path} is of an unknown kind, size or mode")
    return entry


def _part(fields: dict[str, Any]) -> Part:
    part = Part(**fields)
    if not isinstance(part.key, str) or type(part.size) is not int or not _SHA256.fullmatch(part.sha256):
        raise TypeError(f"part {part.key}")
    return part


def _check_tree(entries: Sequence[Entry]) -> None:
    """A path must have a directory above it, so that none leads out of the tree or through a link."""
    if not entries or entries[0].path != ROOT or entries[0].kind != "directory":
        raise ValueError("its tree has no root")
    seen, directories = {ROOT}, {ROOT}
    for entry in entries[1:]:
        above, _, name = entry.path.rpartition("/")
        if (above or ROOT) not in directories or name in ("", ".", "..") or "\0" in name or entry.path in seen:
            raise ValueError(f"path {entry.path!r} is not in its tree, or there twice")
        seen.add(entry.path)
        if entry.kind == "directory":
            directories.add(entry.path)


def _check_parts(manifest: Manifest, layout: Layout) -> None:
    for index, part in enumerate(manifest.parts):
        if part.key != layout.part(manifest.sandbox, manifest.generation, index) or part.size <= 0:
            raise ValueError(f"part {index} is {part.key!r} with {part.size} bytes")
    files = sum(entry.size for entry in manifest.entries)
    if files != manifest.content_bytes:
        raise ValueError(f"its files have {files} bytes, and its parts {manifest.content_bytes}")
