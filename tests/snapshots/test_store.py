"""What is put comes back exactly, and only what is whole is called durable."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings as run, strategies as st

from tasks.snapshots.errors import (
    DiskFailed,
    SnapshotDamaged,
    SnapshotLost,
    SnapshotMissing,
    SnapshotStopped,
    StoreRefused,
    StoreUnavailable,
)
from tasks.snapshots.seaweedfs import SeaweedServer
from tasks.snapshots.store import SnapshotStore
from tests.conftest import free_port
from tests.snapshots.trees import PART, make, picture


def test_round_trip(store, tmp_path):
    sent = make(tmp_path / "sent")
    told = []
    written = store.put_snapshot(sent, "one", 1, on_progress=lambda *bytes_: told.append(bytes_))
    found = store.verify("one", 1)
    assert found.complete, found.problem
    assert (found.objects, found.bytes, found.checksum) == (written.objects, written.bytes, written.checksum)
    assert found.objects == len(store.objects()) == 4 + 1
    assert told[-1] == (max(told)[0], told[-1][1]) and told[-1][0] == told[-1][1]
    store.fetch("one", 1, tmp_path / "fetched")
    assert picture(tmp_path / "fetched") == picture(sent)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fetched", "sent"]
