"""Sandboxes on disk: enough for a new process to know, end and remove everything of an old one.

    STATE_DIR/
      lock                    who uses the target now; also the mark that the directory is ours
      platform.json           what the probe of runsc found
      runsc/                  runsc's own state (--root)
      rootfs/                 the root that all sandboxes share
      sandboxes/NAME/
        sandbox.json          its mark and spec; written once
        workspace/            /workspace inside, while it runs
        containers/ID/        bundle, log and errors of one boot or restore
        checkpoints/000001/   one snapshot: the image of its memory, and its workspace as it was
                              then; it never changes, and only whole ones have such a name
        checkpoints/000001.evicted   in place of a snapshot that is in the store alone
      store/                  the data of the S3 server that was started for a run

Directories appear and disappear by renaming, so whatever is half made has a name with a dot. What
a sandbox is doing is not written down: it runs if a container of it has processes, and is
suspended if it has a checkpoint. So nothing has to be kept in step with runsc, whenever we die.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tasks.platforms.base import Phase, SandboxSpec

MARK = "sandgauge-local/1"
_EVICTED = ".evicted"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


@dataclass(slots=True, eq=False)
class Sandbox:
    """What is known of one sandbox.

    Attributes:
        spec: None where the record could not be read; such a sandbox can only be deleted.
        container: the id of the container that runs it, while it runs.
        generation: the number of its last snapshot; 0 when there is none.
    """

    name: str
    spec: SandboxSpec | None
    home: Path
    container: str | None = None
    generation: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def phase(self) -> Phase:
        """Where it stands."""
        if self.spec is None:
            return "unknown"
        if self.container is not None:
            return "running"
        return "suspended" if self.generation else "created"

    @property
    def containers(self) -> list[str]:
        """Ids of every container that it has had and whose directory is still there."""
        with suppress(OSError):
            return os.listdir(self.home / "containers")
        return []

    def bundle(self, container: str) -> Path:
        """The directory of one of its containers."""
        return self.home / "containers" / container

    def checkpoint(self, generation: int) -> Path:
        """The directory of one of its snapshots."""
        return self.home / "checkpoints" / f"{generation:06d}"

    def evicted(self, generation: int) -> Path:
        """The file that stands for a snapshot that is in the store alone."""
        return self.home / "checkpoints" / f"{generation:06d}{_EVICTED}"


class Store:
    """The state directory of one target."""

    def __init__(self, state_dir: Path) -> None:
        self.path = Path(os.path.realpath(state_dir))
        self.tag = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:8]
        self.cgroup = f"/sandgauge-{self.tag}"
        self.runsc_root = self.path / "runsc"
        self.rootfs = self.path / "rootfs"
        self.objects = self.path / "store"
        self.sandboxes = self.path / "sandboxes"
        # All of one length, because runsc takes a prefix for an id; with the tag, because the
        # names of its sockets are shared by the whole machine.
        self.container_id = re.compile(rf"sg{self.tag}-[0-9a-f]{{12}}")

    def prepare(self) -> None:
        """Make the directories."""
        for directory in (self.runsc_root, self.sandboxes):
            directory.mkdir(mode=0o711, parents=True, exist_ok=True)

    def new_container_id(self) -> str:
        """An id that no container has."""
        return f"sg{self.tag}-{secrets.token_hex(6)}"

    def cgroup_of(self, container: str) -> str:
        """The path of a container's control group, from the root of the hierarchy."""
        return f"{self.cgroup}/{container}"

    def add(self, name: str, spec: SandboxSpec) -> Sandbox:
        """Write a new sandbox down; it appears whole or not at all."""
        new = self.sandboxes / f".new-{name}-{secrets.token_hex(4)}"
        (new / "workspace").mkdir(parents=True)
        record = {
            "owner": MARK,
            "name": name,
            "cpu_millicores": spec.cpu_millicores,
            "memory_bytes": spec.memory_bytes,
            "command": list(spec.command),
            "env": dict(spec.env),
        }
        (new / "sandbox.json").write_text(json.dumps(record))
        home = self.sandboxes / name
        os.rename(new, home)
        return Sandbox(name, spec, home)

    def load(self) -> list[Sandbox]:
        """Every sandbox on disk, in order of name; what runs is for the caller to find out."""
        return [self._load(name) for name in self.names()]

    def names(self) -> list[str]:
        """Names of the sandboxes on disk."""
        with suppress(OSError):
            return sorted(name for name in os.listdir(self.sandboxes) if not name.startswith("."))
        return []

    def leftovers(self) -> list[str]:
        """Names of directories that are half made or half removed."""
        with suppress(OSError):
            return sorted(name for name in os.listdir(self.sandboxes) if name.startswith("."))
        return []

    def _load(self, name: str) -> Sandbox:
        home = self.sandboxes / name
        sandbox = Sandbox(name, None, home)
        with suppress(OSError, ValueError, KeyError, TypeError):
            record = json.loads((home / "sandbox.json").read_text())
            if record["owner"] == MARK:
                sandbox.spec = SandboxSpec(
                    int(record["cpu_millicores"]), int(record["memory_bytes"]), record["command"], record["env"]
                )
        sandbox.generation = max([*checkpoints_in(home), *evicted_in(home)], default=0)
        return sandbox

    def erase(self, home: Path) -> None:
        """Remove a sandbox's directory, which is out of sight at once."""
        gone = self.sandboxes / f".gone-{home.name.lstrip('.')}-{secrets.token_hex(4)}"
        with suppress(FileNotFoundError):
            os.rename(home, gone)
        shutil.rmtree(gone, ignore_errors=True)

    def containers(self) -> set[str]:
        """Ids of every container of which runsc has any state.

        Read from the names of its files and not by `runsc list`, which fails as a whole over one
        file that is half written.
        """
        found: set[str] = set()
        with suppress(OSError):
            for name in os.listdir(self.runsc_root):
                found.update(self.container_id.findall(name))
        return found

    def forget_container(self, container: str) -> None:
        """Remove runsc's state of a container that has no process any more."""
        with suppress(OSError):
            for name in os.listdir(self.runsc_root):
                if container in name:
                    _remove(self.runsc_root / name)


def checkpoints_in(home: Path) -> list[int]:
    """Numbers of the whole snapshots in a sandbox's directory."""
    with suppress(OSError):
        return [int(name) for name in os.listdir(home / "checkpoints") if name.isdigit()]
    return []


def evicted_in(home: Path) -> list[int]:
    """Numbers of the snapshots of a sandbox that are in the store alone."""
    with suppress(OSError):
        names = os.listdir(home / "checkpoints")
        return [int(name.removesuffix(_EVICTED)) for name in names if re.fullmatch(rf"\d+{_EVICTED}", name)]
    return []


def size_of(directory: Path) -> int:
    """Bytes of the files in a directory and in those below."""
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def capture_workspace(home: Path, image: Path) -> None:
    """Make the workspace of a sandbox that has been suspended part of its snapshot; copies nothing."""
    os.rename(home / "workspace", image / "workspace")


def renew_workspace(home: Path, image: Path) -> None:
    """Give a sandbox the workspace that its snapshot holds, in place of any other. Blocks.

    gVisor goes on only with files that have the size and the time of change that it knew.

    Raises:
        OSError: it could not be copied.
    """
    workspace, kept = home / "workspace", image / "workspace"
    if workspace.exists():
        shutil.rmtree(workspace)
    if not kept.exists():
        workspace.mkdir()
    elif any(kept.iterdir()):
        done = subprocess.run(
            ["cp", "-a", "--reflink=auto", "--", str(kept), str(workspace)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise OSError(f"{kept} could not be copied: {done.stderr.strip()}")
    else:  # as most are; saves the time of a process
        workspace.mkdir()
        shutil.copystat(kept, workspace)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
