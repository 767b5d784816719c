"""gVisor sandboxes on this machine: one node, driven through `runsc`.

Reading order: `platform` (the protocol, and what each operation means here), `state` (what is on
disk), `bundle` (what runsc is told), `runsc` (how it is called, so that nothing stays of a call
that is cancelled), `containers` (how what it began is ended), `bookings`, `cgroups` (limits and
usage), `sampling`, `inventory`. Before the first sandbox: `probe` (what this machine can do),
`locking`, `choosing` (how gVisor intercepts system calls).
"""

from tasks.platforms.local.platform import LocalPlatform

__all__ = ["LocalPlatform"]
