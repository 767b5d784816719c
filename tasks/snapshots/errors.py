"""What may go wrong with a snapshot.

    StoreError
    ├── StoreUnavailable    no answer, or one that a later try may better: 5xx, slow down, a time-out
    ├── StoreRefused        an answer that only other settings better: keys, bucket, address
    ├── SnapshotMissing     there is no manifest
    ├── SnapshotDamaged     there is one, but what it promises is not there, or is something else
    ├── SnapshotLost        the local directory vanished or changed before it was sent whole
    ├── SnapshotStopped     the caller asked to stop
    ├── DiskFailed          the local disk would not be read or written
    └── ServerFailed        our own S3 server did not start

Every message names the place (endpoint and key, or path) and what mends it.
"""

from __future__ import annotations


class StoreError(Exception):
    """Anything that went wrong with a snapshot."""


class StoreUnavailable(StoreError):
    """The server does not answer, or says that it cannot now."""


class StoreRefused(StoreError):
    """The server answers, and will not as long as the settings are what they are."""


class SnapshotMissing(StoreError):
    """There is no manifest of that snapshot."""


class SnapshotDamaged(StoreError):
    """What the manifest promises is not there, or is something else."""


class SnapshotLost(StoreError):
    """The local directory vanished or changed; it can never be sent whole any more."""


class SnapshotStopped(StoreError):
    """The caller asked to stop."""


class DiskFailed(StoreError):
    """The local disk would not be read or written."""


class ServerFailed(StoreError):
    """Our own S3 server did not start, or has ended."""
