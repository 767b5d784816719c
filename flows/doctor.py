"""What this machine can and cannot run, and the command that mends each gap."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass

from specs.loading import load_target
from specs.targets import LocalTarget


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
    for finding in local_needs(target):
        if finding.well is False:
            mend = f" (mend it with: {finding.mend})" if finding.mend else ""
            return f"target {target.name} cannot run here: {finding.what}: {finding.found}{mend}"
    return None


def local_needs(target: LocalTarget) -> list[Finding]:
    """What the platform `local` needs, in the order in which a lack of it matters."""
    linux = sys.platform == "linux"
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    runsc = shutil.which(target.runsc)
    return [
        Finding("operating system", linux, sys.platform, "" if linux else "run it on Linux"),
        Finding("root", root, "yes" if root else "no", "" if root else "run it as root, such as with sudo"),
        Finding("runsc", runsc is not None, runsc or "not found", "" if runsc else "sudo apt-get install runsc"),
    ]


def diagnose(on: str) -> list[Finding]:
    """Look at everything that running on a target needs."""
    target = load_target(on)
    findings = [Finding("python", sys.version_info >= (3, 11), sys.version.split()[0], "install Python 3.11 or newer")]
    if isinstance(target, LocalTarget):
        findings += local_needs(target)
    return [*findings, *_services()]


def _services() -> list[Finding]:
    url = os.environ.get("PREFECT_API_URL")
    return [
        Finding(
            "Prefect server", None, url or "none configured: each command starts a temporary one (about 10 s)",
            "" if url else "prefect server start, then export PREFECT_API_URL=http://127.0.0.1:4200/api",
        )
    ]  # fmt: skip
