"""Everything of ours that exists on the machine, found by its marks alone."""

from __future__ import annotations

from tasks.platforms.base import Snapshot
from tasks.platforms.local.cgroups import Cgroups
from tasks.platforms.local.containers import Containers, mounts_under
from tasks.platforms.local.state import Store, checkpoints_in, size_of


def take_inventory(store: Store, containers: Containers, cgroups: Cgroups) -> dict[str, list[str]]:
    """Names of all that exists, by kind. Blocks, for as long as a look at every process takes."""
    processes = containers.processes()
    return {
        "sandboxes": store.names() + store.leftovers(),
        "containers": sorted(store.containers()),
        "processes": [f"{pid} {text}"[:200] for pid, text in sorted(processes.items())],
        "cgroups": sorted(str(path.relative_to(cgroups.root)) for path in containers.cgroups()),
        "mounts": mounts_under(store.path),
        "network_namespaces": sorted(containers.network_namespaces(processes)),
        "snapshots": [f"{snapshot.sandbox}/{snapshot.generation}" for snapshot in find_snapshots(store)],
    }


def find_snapshots(store: Store) -> list[Snapshot]:
    """Every whole checkpoint on disk."""
    return [
        Snapshot(name, generation, size_of(home / "checkpoints" / f"{generation:06d}"))
        for name in store.names()
        for home in [store.sandboxes / name]
        for generation in sorted(checkpoints_in(home))
    ]
