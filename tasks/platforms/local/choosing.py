"""Choosing how gVisor intercepts system calls: the first way in which a sandbox really boots.

A device that can be opened is no proof: a nested /dev/kvm may open and then never start a guest.
What was found is kept on disk, for this runsc and this kernel.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform as machine
import secrets
from contextlib import suppress

from specs.targets import LocalTarget
from tasks.platforms.base import SandboxSpec, Unavailable
from tasks.platforms.local.bundle import oci_config, write_bundle
from tasks.platforms.local.containers import Containers
from tasks.platforms.local.probe import Known, candidates
from tasks.platforms.local.runsc import Runsc, last_line, run
from tasks.platforms.local.state import Sandbox, Store

_BOUND_S = 3.0
_PROBE = SandboxSpec(1000, 128 * 2**20, ["/usr/bin/true"])


async def choose(target: LocalTarget, known: Known, store: Store, containers: Containers) -> Runsc:
    """The runsc to use, with the platform that works.

    Raises:
        Unavailable: a sandbox boots with none.
    """
    extra = ("--overlay2=none",) if "overlay2" in known.flags else ()
    key = {
        "program": known.program, "version": known.version, "kernel": machine.release(),
        "changed": os.stat(known.program).st_mtime, "wanted": target.runsc_platform,
    }  # fmt: skip
    file = store.path / "platform.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(file.read_text())
        if kept["key"] == key:
            return Runsc(known.program, store.runsc_root, str(kept["platform"]), extra)
    reasons = []
    for name in candidates(known, target.runsc_platform):
        runsc = Runsc(known.program, store.runsc_root, name, extra)
        reason = await _why_not(runsc, store, containers)
        if reason is None:
            new = file.with_suffix(".new")
            new.write_text(json.dumps({"key": key, "platform": name}))
            os.replace(new, file)
            return runsc
        reasons.append(f"{name}: {reason}")
    raise Unavailable(f"target {target.name}: no sandbox boots with {known.program} ({'; '.join(reasons)})")


async def _why_not(runsc: Runsc, store: Store, containers: Containers) -> str | None:
    """Boot a sandbox whose program ends at once; None when it did, or why it did not."""
    home = store.sandboxes / f".probe-{secrets.token_hex(4)}"
    container = store.new_container_id()
    sandbox = Sandbox(home.name, _PROBE, home)
    bundle = sandbox.bundle(container)
    workspace = home / "workspace"
    workspace.mkdir(parents=True)
    write_bundle(bundle, oci_config(_PROBE, "probe", store.rootfs, workspace, store.cgroup_of(container)))
    log, errors = bundle / "log", bundle / "errors"
    try:
        with errors.open("wb") as stderr:
            async with asyncio.timeout(_BOUND_S):
                code = await run(runsc.argv(log, "run", f"-bundle={bundle}", container), stderr=stderr)
        return None if code == 0 else f"exit code {code}, {last_line(errors, log)}"
    except TimeoutError:
        return f"no answer within {_BOUND_S:g} s"
    finally:
        await asyncio.to_thread(containers.end, container, thoroughly=True)
        await asyncio.to_thread(store.erase, home)
