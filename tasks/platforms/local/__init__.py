"""gVisor sandboxes on this machine: one node, driven through `runsc`.

Reading order: `platform` (the protocol, and what each operation means here), `state` (what is on
disk), `bundle` (what runsc is told), `runsc` (how it is called, with a bound), `containers` (how
what it began is ended), `cgroups` (limits and usage), `sampling`, `probe` (what this machine can do).
"""

from tasks.platforms.local.platform import LocalPlatform

__all__ = ["LocalPlatform"]
