"""What is put comes back exactly, and only what is whole is called durable."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as run
from hypothesis import strategies as st

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


def whole(directory, size=PART + 1):
    """A directory that fills two parts."""
    directory.mkdir()
    (directory / "pages.img").write_bytes(os.urandom(size))
    return directory


def test_many_small_files_are_few_objects(store, tmp_path):
    sent = tmp_path / "sent"
    for number in range(1000):
        path = sent / f"{number % 10}" / f"{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (number % 100))
    assert store.put_snapshot(sent, "one", 1).objects == 2
    store.fetch("one", 1, tmp_path / "fetched")
    assert picture(tmp_path / "fetched") == picture(sent)


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 2 * PART])
def test_sizes_around_a_part(store, tmp_path, size):
    sent = whole(tmp_path / "sent", size)
    assert store.put_snapshot(sent, "one", 1).objects == -(-size // PART) + 1
    store.fetch("one", 1, tmp_path / "fetched")
    assert picture(tmp_path / "fetched") == picture(sent)


NAMES = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=20)
LEAVES = st.one_of(
    st.binary(max_size=3 * 64).map(lambda data: ("file", data)),
    NAMES.map(lambda name: ("link", name)),
    st.just(("fifo", None)),
)
TREES = st.dictionaries(
    NAMES.filter(lambda name: name not in (".", "..") and len(name.encode()) < 200),
    st.recursive(LEAVES, lambda inner: st.dictionaries(NAMES.filter(lambda name: name not in (".", "..")), inner)),
    max_size=5,
)
TIMES = st.lists(st.integers(0, 2**62), min_size=1, max_size=10)
MODES = st.lists(st.integers(0, 0o7777), min_size=1, max_size=10)


def grow(directory, tree, times, modes):
    directory.mkdir()
    for name, what in tree.items():
        path = directory / name
        if isinstance(what, dict):
            grow(path, what, times, modes)
            continue
        kind, content = what
        if kind == "file":
            path.write_bytes(content)
        elif kind == "link":
            path.symlink_to(content)
        else:
            os.mkfifo(path)
        if kind != "link":
            path.chmod(modes[len(name) % len(modes)])
        os.utime(path, ns=(0, times[len(name) % len(times)]), follow_symlinks=False)
    os.utime(directory, ns=(0, times[len(tree) % len(times)]))


@run(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(tree=TREES, times=TIMES, modes=MODES)
def test_any_tree_comes_back(server, settings, tmp_path_factory, tree, times, modes):
    if os.geteuid() != 0:
        modes = [mode | 0o400 for mode in modes]
    store = SnapshotStore(replace(settings, part_bytes=128), server.keys)
    directory = tmp_path_factory.mktemp("any")
    grow(directory / "sent", tree, times, modes)
    store.put_snapshot(directory / "sent", "any", 1)
    assert store.verify("any", 1).complete
    store.fetch("any", 1, directory / "fetched")
    assert picture(directory / "fetched") == picture(directory / "sent")
    store.delete("any", 1)


def overwrite(bucket, key, data):
    """As somebody else would, who gives no checksum."""
    bucket._client.put_object(Bucket=bucket.settings.bucket, Key=key, Body=data)


def damage_missing(bucket, keys):
    bucket.delete([keys[-1]])


def damage_content(bucket, keys):
    size = bucket.head(keys[-1]).size
    data = os.urandom(size)
    bucket.put(keys[-1], data, hashlib.sha256(data).digest())


def damage_content_unhashed(bucket, keys):
    size = bucket.head(keys[-1]).size
    overwrite(bucket, keys[-1], os.urandom(size))


def damage_size(bucket, keys):
    overwrite(bucket, keys[-1], b"xy")


def damage_no_manifest(bucket, keys):
    bucket.delete([keys[0]])


def rewrite(bucket, key, change):
    document = json.loads(bucket.get(key))
    change(document)
    overwrite(bucket, key, json.dumps(document).encode())


def damage_garbled(bucket, keys):
    overwrite(bucket, keys[0], b'{"owner": "sand')


def damage_foreign(bucket, keys):
    rewrite(bucket, keys[0], lambda document: document.update(owner="somebody"))


def damage_other_sandbox(bucket, keys):
    rewrite(bucket, keys[0], lambda document: document.update(sandbox="two"))


def damage_fields(bucket, keys):
    rewrite(bucket, keys[0], lambda document: document["entries"][1].pop("mode"))


def damage_fewer_parts(bucket, keys):
    rewrite(bucket, keys[0], lambda document: document["parts"].pop())


def damage_escape(bucket, keys):
    rewrite(bucket, keys[0], lambda document: document["entries"][1].update(path="../pages.img"))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (damage_missing, "parts/000001: it is not there"),
        (damage_content, "the server says SHA-256"),
        (damage_content_unhashed, "the server says SHA-256 None"),
        (damage_size, "it has 2 bytes instead of"),
        (damage_no_manifest, "there is no manifest"),
        (damage_garbled, "it is no JSON"),
        (damage_foreign, "it does not carry the mark"),
        (damage_other_sandbox, "it is of sandbox two"),
        (damage_fields, "a field is missing"),
        (damage_fewer_parts, "and its parts"),
        (damage_escape, "is not in its tree"),
    ],
)
def test_what_is_damaged_is_not_complete_and_says_why(store, bucket, tmp_path, damage, says):
    store.put_snapshot(whole(tmp_path / "sent"), "one", 1)
    damage(bucket, store.objects())
    found = store.verify("one", 1)
    assert not found.complete
    assert says in found.problem
    missing = damage in (damage_no_manifest,)
    with pytest.raises(SnapshotMissing if missing else SnapshotDamaged, match="000001/") as caught:
        store.fetch("one", 1, tmp_path / "fetched")
    assert store.settings.endpoint in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["sent"]


def test_a_damaged_one_is_put_again_and_only_what_is_missing_is_sent(store, bucket, tmp_path):
    sent = whole(tmp_path / "sent")
    first = store.put_snapshot(sent, "one", 1)
    assert store.put_snapshot(sent, "one", 1) == first
    damage_content(bucket, store.objects())
    store.put_snapshot(sent, "one", 1)
    assert store.verify("one", 1).complete


def test_a_namesake_s_snapshot_is_not_taken_for_ours(store, tmp_path):
    store.put_snapshot(whole(tmp_path / "before", 3 * PART), "one", 1)
    sent = whole(tmp_path / "sent")
    store.put_snapshot(sent, "one", 1)
    assert store.verify("one", 1).complete and len(store.objects()) == 3
    store.fetch("one", 1, tmp_path / "fetched")
    assert picture(tmp_path / "fetched") == picture(sent)


def test_listing_and_deleting_whatever_the_paging(store, bucket, tmp_path):
    for generation in (1, 2):
        store.put_snapshot(whole(tmp_path / f"one{generation}"), "one", generation)
    store.put_snapshot(whole(tmp_path / "two"), "two", 7)
    foreign = f"{store.settings.prefix}/notes.txt"
    overwrite(bucket, foreign, b"not ours")
    assert store.objects(page=2) == store.objects() and len(store.objects()) == 9
    assert store.generations("one") == [1, 2]
    assert store.generations("none") == []
    store.delete("one", 1)
    store.delete("one", 1)
    assert not store.verify("one", 1).complete and store.verify("one", 2).complete
    assert store.generations("one") == [2]
    store.delete_sandbox("one")
    assert store.generations("one") == [] and store.generations("two") == [7]
    store.delete_all()
    assert store.objects() == []
    assert bucket.get(foreign) == b"not ours"
    bucket.delete([foreign])


def test_stopping_keeps_what_was_sent(store, tmp_path):
    sent = whole(tmp_path / "sent", 8 * PART)
    asked = iter([False, False, True])
    with pytest.raises(SnapshotStopped):
        store.put_snapshot(sent, "one", 1, should_stop=lambda: next(asked))
    assert len(store.objects()) == 2
    assert not store.verify("one", 1).complete
    store.put_snapshot(sent, "one", 1)
    assert store.verify("one", 1).complete


def test_a_directory_that_changes_is_lost(store, tmp_path):
    sent = whole(tmp_path / "sent", 4 * PART)
    with pytest.raises(SnapshotLost, match="is gone"):
        store.put_snapshot(tmp_path / "none", "one", 1)
    with pytest.raises(SnapshotLost, match="changed"):
        store.put_snapshot(sent, "one", 1, on_progress=lambda *_: (sent / "more").touch())
    with pytest.raises(SnapshotLost, match=r"pages\.img"):
        store.put_snapshot(sent, "one", 1, on_progress=lambda *_: os.utime(sent / "pages.img"))
    with socket.socket(socket.AF_UNIX) as odd:
        odd.bind(str(sent / "socket"))
        with pytest.raises(SnapshotLost, match="cannot carry"):
            store.put_snapshot(sent, "one", 1)
    assert not store.verify("one", 1).complete


def test_a_destination_that_is_there_is_left_alone(store, tmp_path):
    store.put_snapshot(whole(tmp_path / "sent"), "one", 1)
    (tmp_path / "there").mkdir()
    with pytest.raises(DiskFailed, match="there could not be written: File exists"):
        store.fetch("one", 1, tmp_path / "there")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sent", "there"]


def test_errors_name_place_and_mend(server, settings, tmp_path):
    nobody = replace(settings, endpoint=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:\d+/sandgauge/.*see that the server runs"):
        SnapshotStore(nobody, server.keys).verify("one", 1)
    with pytest.raises(StoreRefused, match="create the bucket"):
        SnapshotStore(replace(settings, bucket="no-such-bucket"), server.keys).verify("one", 1)
    wrong = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "open sesame"}
    with pytest.raises(StoreRefused, match="mend the keys") as caught:
        SnapshotStore(settings, wrong).objects()
    assert "open sesame" not in str(caught.value)
    with pytest.raises(StoreRefused, match="mend the endpoint"):
        SnapshotStore(replace(settings, endpoint="127.0.0.1"), server.keys)
    with pytest.raises(ValueError, match="without a slash"):
        replace(settings, prefix="/")


def test_keys_stay_in_their_file(server):
    secret = server.keys["AWS_SECRET_ACCESS_KEY"]
    path = server.directory / "keys.json"
    assert path.stat().st_mode & 0o777 == 0o600
    process = f"/proc/{server.pid}"
    for place in (f"{process}/cmdline", f"{process}/environ", str(server.directory / "log")):
        with open(place, "rb") as file:
            assert secret.encode() not in file.read()


def test_two_servers_at_once_and_one_again_where_it_was(tmp_path, server):
    other = SeaweedServer(tmp_path / "other")
    other.start()
    try:
        assert other.endpoint != server.endpoint
        store = SnapshotStore(other.settings("p", PART), other.keys)
        store.put_snapshot(whole(tmp_path / "sent"), "one", 1)
        before, first = other.endpoint, other.pid
        # Another process finds what is left by its mark, and ends it.
        again = SeaweedServer(tmp_path / "other")
        assert again.leftovers() == [first]
        again.start()
        assert again.endpoint == before and again.leftovers() == [again.pid] and other.pid is None
        assert store.verify("one", 1).complete
        ports = json.loads((again.directory / "ports.json").read_text())
        again.stop()
        assert again.pid is None and again.leftovers() == []
        assert not any(Path(f"/tmp/seaweedfs-{name}-{port}.sock").exists() for name, port in ports.items())
        again.stop()
    finally:
        other.end_leftovers()
        other.stop()
