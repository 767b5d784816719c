"""A real S3 server, and directories to send there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.snapshots.bucket import Bucket
from tasks.snapshots.seaweedfs import SeaweedServer
from tasks.snapshots.store import SnapshotStore, StoreSettings

KIB = 2**10
PART = 256 * KIB


@pytest.fixture(scope="session")
def server() -> Iterator[SeaweedServer]:
    """One server for all tests that leave it alone."""
    directory = Path(tempfile.mkdtemp(prefix="sandgauge-test-"))
    server = SeaweedServer(directory / "s3")
    server.start()
    yield server
    server.stop()
    assert server.leftovers() == []
    shutil.rmtree(directory)


@pytest.fixture
def settings(server: SeaweedServer, request: pytest.FixtureRequest) -> StoreSettings:
    return StoreSettings(server.endpoint, server.bucket, f"test/{os.urandom(4).hex()}", PART)


@pytest.fixture
def store(server: SeaweedServer, settings: StoreSettings) -> Iterator[SnapshotStore]:
    store = SnapshotStore(settings, server.keys)
    yield store
    store.delete_all()
    assert store.objects() == []


@pytest.fixture
def bucket(server: SeaweedServer, settings: StoreSettings) -> Bucket:
    """The bucket itself, for tests that damage what is in it."""
    return Bucket(settings, server.keys, 1)
