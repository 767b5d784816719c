"""What runsc is told about a sandbox: its root file system and its OCI configuration."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from tasks.platforms.base import SandboxSpec

_LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin"}
_MOUNT_POINTS = ("usr", "proc", "sys", "dev", "tmp", "workspace", "etc")
_PASSWD = "root:x:0:0:root:/workspace:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
_GROUP = "root:x:0:\nnogroup:x:65534:\n"
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/workspace", "LANG": "C.UTF-8"}
# Below 10m, the kernel's least quota (1 ms) needs a period longer than the usual one.
_PERIOD_US, _LONG_PERIOD_US, _LONG_BELOW_MILLICORES = 100_000, 1_000_000, 10


def build_rootfs(rootfs: Path) -> None:
    """Make the read-only root that all sandboxes share, unless it exists.

    It has an /etc of its own: the host's would show its password hashes and keys to the sandbox.
    Only the linker's cache and the links of `alternatives` are copied from there, without which
    some programs of /usr are not found.
    """
    if rootfs.exists():
        return
    new = rootfs.with_name(f".{rootfs.name}-new")
    shutil.rmtree(new, ignore_errors=True)
    for name in _MOUNT_POINTS:
        (new / name).mkdir(parents=True)
    for name, to in _LINKS.items():
        if Path("/", name).exists():
            (new / name).symlink_to(to)
    etc = new / "etc"
    for name, text in {"passwd": _PASSWD, "group": _GROUP, "hosts": _HOSTS}.items():
        (etc / name).write_text(text)
    with suppress(OSError):
        shutil.copyfile("/etc/ld.so.cache", etc / "ld.so.cache")
    with suppress(OSError, shutil.Error):
        shutil.copytree("/etc/alternatives", etc / "alternatives", symlinks=True)
    os.rename(new, rootfs)


def oci_config(spec: SandboxSpec, hostname: str, rootfs: Path, workspace: Path, cgroup: str) -> dict[str, Any]:
    """The OCI configuration of one container of a sandbox."""
    period = _LONG_PERIOD_US if spec.cpu_millicores < _LONG_BELOW_MILLICORES else _PERIOD_US
    return {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": list(spec.command),
            "env": [f"{key}={value}" for key, value in {**_ENV, **spec.env}.items()],
            "cwd": "/workspace",
            "noNewPrivileges": True,
        },
        "root": {"path": str(rootfs), "readonly": True},
        "hostname": hostname[:63],
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]},
            {"destination": "/workspace", "type": "bind", "source": str(workspace), "options": ["rbind", "rw"]},
        ],
        "linux": {
            "cgroupsPath": cgroup,
            "resources": {
                "cpu": {"quota": spec.cpu_millicores * period // 1000, "period": period},
                # Swap equal to the limit means memory and swap together: none of it may be swap.
                "memory": {"limit": spec.memory_bytes, "swap": spec.memory_bytes},
            },
            "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")],
        },
    }


def write_bundle(directory: Path, config: dict[str, Any]) -> None:
    """Write a bundle; its directory must be new."""
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(config))
