"""The uploader under faults: what is called durable is whole, and nothing is sent twice for it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tasks.snapshots.errors import DiskFailed, StoreError, StoreUnavailable
from tasks.snapshots.processes import marked
from tasks.snapshots.seaweedfs import SeaweedServer
from tasks.snapshots.store import SnapshotStore
from tasks.snapshots.supervising import UploaderProcess
from tests.snapshots.proxy import Proxy
from tests.snapshots.trees import PART, make, picture

STORM = 8
SIZE = 6 * PART + 1  # and so 7 parts, the small files being in the last


class Observer:
    """Asks the server itself, all the while: whatever is called complete must come back whole."""

    def __init__(self, store: SnapshotStore, sent: dict[tuple[str, int], Path], scratch: Path) -> None:
        self._store, self._sent, self._scratch = store, sent, scratch
        self._pictures = {key: picture(directory) for key, directory in sent.items()}
        self.complete: set[tuple[str, int]] = set()
        self.wrong: list[str] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def look(self, key: tuple[str, int]) -> bool:
        if not self._store.verify(*key).complete:
            return False
        back = self._scratch / f"{key[0]}-{key[1]}-{time.monotonic_ns()}"
        self._store.fetch(*key, back)
        if picture(back) != self._pictures[key]:
            self.wrong.append(f"{key} was called complete, and is not")
        shutil.rmtree(back)
        return True

    def _watch(self) -> None:
        while not self._stopping.is_set():
            for key in self._sent.keys() - self.complete:
                try:
                    if self.look(key):
                        self.complete.add(key)
                except StoreUnavailable:
                    pass
                except StoreError as error:
                    self.wrong.append(f"{key} was called complete, but: {error}")
            self._stopping.wait(0.1)

    @contextmanager
    def watching(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            self._thread.join()
        assert self.wrong == []


@pytest.fixture
def proxy(server: SeaweedServer) -> Iterator[Proxy]:
    proxy = Proxy(server.endpoint)
    yield proxy
    proxy.close()


@pytest.fixture
def storm(tmp_path: Path) -> dict[tuple[str, int], Path]:
    return {(f"sandbox-{n}", 1): make(tmp_path / "storm" / str(n), seed=n, size=SIZE) for n in range(STORM)}


@pytest.fixture
def uploading(proxy, settings, server, tmp_path):
    """Runs a body with an uploader behind the proxy; nothing of it is left."""

    def go(body, keys=None, **changes):
        async def run():
            state_dir = tmp_path / "state"
            state_dir.mkdir(exist_ok=True)
            through = replace(settings, endpoint=proxy.endpoint, **changes)
            uploader = UploaderProcess(state_dir, through, keys or server.keys)
            await uploader.start()
            try:
                await body(uploader)
            finally:
                await uploader.stop()
            assert uploader.pid is None and marked(uploader.mark) == []
            assert (state_dir / "uploader.log").read_text() == ""

        asyncio.run(asyncio.wait_for(run(), 60))

    return go


def add_all(uploader, storm):
    for key, directory in storm.items():
        uploader.add(*key, directory, time.monotonic())


async def until(condition, bound_s=30.0):
    deadline = time.monotonic() + bound_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(0.01)


def verified(uploader):
    return lambda: all(upload.verified for upload in uploader.uploads.values())


def test_due_times_and_the_ledger(uploading, store, proxy, storm):
    async def body(uploader):
        now = time.monotonic()
        for number, (key, directory) in enumerate(storm.items()):
            uploader.add(*key, directory, now + (0.6 if number else 0.0))
        assert all(upload.state == "local_only" for upload in uploader.uploads.values())
        await until(verified(uploader))
        for key, upload in uploader.uploads.items():
            found = store.verify(*key)
            assert found.complete
            assert (upload.bytes_total, upload.objects, upload.checksum) == (found.bytes, found.objects, found.checksum)
            assert upload.due_at <= upload.first_byte_at < upload.manifest_at
            assert 7 * PART > upload.bytes_sent > SIZE
            assert upload.tries == 0 and upload.error is None
        assert uploader.restarts == 0

    uploading(body)


def test_parts_interleave_within_the_bound(uploading, proxy, storm):
    async def body(uploader):
        add_all(uploader, storm)
        await until(verified(uploader))

    uploading(body)
    assert 2 <= proxy.most_at_once <= 4
    assert max(Counter(proxy.puts).values()) == 1
    owners = [key.split("/")[-4 if "parts" in key else -3] for key in proxy.puts[: len(proxy.puts) // 2]]
    assert max(Counter(owners).values()) <= 2 * min(Counter(owners).values())


@pytest.mark.parametrize("fault", ["refuse", "cut"])
def test_a_server_that_is_away_for_a_while(uploading, store, proxy, storm, tmp_path, fault):
    observer = Observer(store, storm, tmp_path)

    async def body(uploader):
        add_all(uploader, storm)
        await until(lambda: len(proxy.puts) > 20)
        setattr(proxy, fault, True)
        await asyncio.sleep(0.8)
        assert sum(upload.tries for upload in uploader.uploads.values()) > 0
        assert not any(upload.state == "lost" for upload in uploader.uploads.values())
        setattr(proxy, fault, False)
        await until(verified(uploader))
        await until(lambda: observer.complete == storm.keys())

    with observer.watching():
        uploading(body)
    assert max(Counter(proxy.puts).values()) == 1


def test_answers_that_never_arrive(uploading, store, proxy, storm, tmp_path):
    """A part or manifest that arrived, and whose answer did not, is found to be there."""
    dropped = set()

    def drop_once(key):
        if ("parts/000003" in key or "manifest" in key) and key not in dropped:
            dropped.add(key)
            return False
        return True

    proxy.after_put = drop_once
    observer = Observer(store, storm, tmp_path)

    async def body(uploader):
        add_all(uploader, storm)
        await until(verified(uploader))
        await until(lambda: observer.complete == storm.keys())

    with observer.watching():
        uploading(body)
    assert len(dropped) == 2 * STORM
    assert max(Counter(key for key in proxy.puts if "parts" in key).values()) == 1


def test_the_server_is_killed_and_comes_back(tmp_path, storm):
    own = SeaweedServer(tmp_path / "s3")
    own.start()
    try:
        settings = own.settings("killed", PART)
        proxy = Proxy(own.endpoint)
        observer = Observer(SnapshotStore(settings, own.keys), storm, tmp_path)

        async def body():
            uploader = UploaderProcess(tmp_path, replace(settings, endpoint=proxy.endpoint), own.keys)
            await uploader.start()
            add_all(uploader, storm)
            await until(lambda: len(proxy.puts) > 20)
            os.kill(own.pid, signal.SIGKILL)
            before = own.endpoint
            await asyncio.to_thread(own.start)
            assert own.endpoint == before
            await until(verified(uploader))
            await until(lambda: observer.complete == storm.keys())
            await uploader.stop()

        with observer.watching():
            asyncio.run(asyncio.wait_for(body(), 60))
        proxy.close()
        assert max(Counter(proxy.puts).values()) == 1
    finally:
        own.stop()


@pytest.mark.parametrize("moment", ["between two parts", "before the manifest"])
def test_the_uploader_is_killed(uploading, store, proxy, storm, tmp_path, moment):
    observer = Observer(store, storm, tmp_path)
    held = threading.Event()
    release = threading.Event()

    def hold(key):
        if not release.is_set() and ("manifest" in key if moment == "before the manifest" else len(proxy.puts) > 20):
            held.set()
            release.wait(20)
            return False
        return True

    proxy.before_put = hold

    async def body(uploader):
        add_all(uploader, storm)
        await until(held.is_set)
        first, confirmed = uploader.pid, set(proxy.puts)
        os.kill(first, signal.SIGKILL)
        await until(lambda: uploader.pid not in (None, first))
        release.set()
        await until(verified(uploader))
        await until(lambda: observer.complete == storm.keys())
        assert uploader.restarts == 1
        assert confirmed and max(Counter(proxy.puts).values()) == 1
        # What was confirmed before is not sent again, and the bytes are counted on.
        parts = [key for key in proxy.puts if "parts" in key]
        assert uploader.bytes_sent <= sum(os.path.getsize(d / "pages.img") + 2**16 for d in storm.values())
        assert len(parts) == len(set(parts)) == STORM * 7

    with observer.watching():
        uploading(body)


def test_a_partial_one_leaves_the_one_before_alone(uploading, store, proxy, tmp_path):
    before, after = make(tmp_path / "before", 1), make(tmp_path / "after", 2, SIZE)
    held, release = threading.Event(), threading.Event()

    def hold(key):
        if "/000002/parts/000003" in key and not release.is_set():
            held.set()
            release.wait(20)
        return True

    async def body(uploader):
        uploader.add("one", 1, before, 0.0)
        await until(verified(uploader))
        proxy.before_put = hold
        uploader.add("one", 2, after, 0.0)
        await until(held.is_set)
        assert store.verify("one", 1).complete and not store.verify("one", 2).complete
        store.fetch("one", 1, tmp_path / "fetched")
        assert picture(tmp_path / "fetched") == picture(before)
        release.set()
        await until(lambda: uploader.uploads["one", 2].verified)
        assert store.generations("one") == [2] and store.verify("one", 2).complete
        assert uploader.uploads["one", 1].state == "dropped"

    uploading(body)


def test_drop_removes_one_generation_only(uploading, store, proxy, tmp_path):
    before, after = make(tmp_path / "before", 1), make(tmp_path / "after", 2, SIZE)
    held, release = threading.Event(), threading.Event()

    def hold(key):
        if "/000002/parts/000003" in key:
            held.set()
            release.wait(20)
        return True

    async def body(uploader):
        uploader.add("one", 1, before, 0.0)
        await until(verified(uploader))
        proxy.before_put = hold
        uploader.add("one", 2, after, 0.0)
        await until(held.is_set)
        uploader.drop("one", 2)
        # Added again before it is gone: it begins anew once it is.
        uploader.add("one", 2, before, 0.0)
        uploader.drop("one", 2)
        release.set()
        await until(lambda: uploader.uploads["one", 2].state == "dropped")
        assert store.generations("one") == [1] and store.verify("one", 1).complete
        uploader.drop("two", 9)
        await until(lambda: uploader.uploads["two", 9].state == "dropped")
        uploader.drop("one", 1)
        await until(lambda: uploader.uploads["one", 1].state == "dropped")
        uploader.add("one", 1, after, 0.0)
        await until(lambda: uploader.uploads["one", 1].verified)
        assert store.verify("one", 1).complete

    uploading(body)


def test_what_vanishes_or_changes_is_lost_and_removed(uploading, store, proxy, storm):
    (first, one), (second, two), *_ = storm.items()

    def meddle(key):
        if key.endswith("000004"):
            shutil.rmtree(one, ignore_errors=True)
            (two / "workspace/new").touch()
        return True

    proxy.before_put = meddle

    async def body(uploader):
        add_all(uploader, storm)
        await until(lambda: all(upload.verified or upload.state == "lost" for upload in uploader.uploads.values()))
        lost = {key for key, upload in uploader.uploads.items() if upload.state == "lost"}
        assert lost == {first, second}
        assert "is gone" in uploader.uploads[first].error and "changed" in uploader.uploads[second].error
        assert store.generations(first[0]) == store.generations(second[0]) == []

    uploading(body)


def test_lost_here_but_whole_there_is_written(uploading, store, proxy, tmp_path):
    sent = make(tmp_path / "sent")
    store.put_snapshot(sent, "one", 1)
    shutil.rmtree(sent)

    async def body(uploader):
        uploader.add("one", 1, sent, 0.0)
        await until(verified(uploader))
        assert uploader.uploads["one", 1].state == "written"
        assert store.verify("one", 1).complete

    uploading(body)


def test_it_speaks_json_lines_and_ends_with_its_input(server, settings, tmp_path):
    mark = f"--state-dir={tmp_path}"
    child = subprocess.Popen(
        [sys.executable, "-m", "tasks.snapshots.uploader", mark], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        add = {"op": "add", "sandbox": "one", "generation": 1, "directory": str(tmp_path / "none"), "due_at": 0.0}
        later = {**add, "sandbox": "two", "due_at": time.monotonic() + 60}
        first = {**asdict(settings), "parallel_uploads": 2, "env": server.keys}
        for line in (first, add, later):
            child.stdin.write(json.dumps(line).encode() + b"\n")
        child.stdin.flush()
        events = [json.loads(child.stdout.readline()) for _ in range(3)]
        said = {(event["event"], event["sandbox"]) for event in events}
        assert said == {("added", "one"), ("added", "two"), ("lost", "one")}
        assert marked(mark) == [child.pid]
        assert all(abs(event["at"] - time.monotonic()) < 10 for event in events)
        child.stdin.close()
        assert child.wait(5) == 0


def test_a_loop_in_another_thread(uploading, storm):
    async def body(uploader):
        add_all(uploader, storm)
        await until(lambda: any(upload.verified for upload in uploader.uploads.values()))

    with ThreadPoolExecutor(1) as thread:
        thread.submit(uploading, body).result()


def test_settings_of_no_use_are_said_and_keys_are_not(uploading, proxy, tmp_path, server):
    async def body(uploader):
        uploader.add("one", 1, make(tmp_path / "sent"), 0.0)
        await until(lambda: uploader.uploads["one", 1].error is not None)
        assert "mend the keys" in uploader.uploads["one", 1].error
        for place in ("cmdline", "environ"):
            assert b"open sesame" not in Path(f"/proc/{uploader.pid}/{place}").read_bytes()

    uploading(body, keys={"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "open sesame"})


@contextmanager
def small_disk(directory: Path, mib: int) -> Iterator[Path]:
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", directory], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", directory], check=True)


@pytest.mark.local
def test_a_full_store(tmp_path, storm):
    with small_disk(tmp_path / "disk", 256) as disk:
        own = SeaweedServer(disk / "s3")
        own.start()
        try:
            settings = own.settings("full", PART)
            observer = Observer(SnapshotStore(settings, own.keys), storm, tmp_path)
            filler = disk / "filler"
            free = shutil.disk_usage(disk).free
            subprocess.run(["fallocate", "-l", str(free - 4 * 2**20), filler], check=True)

            async def body():
                uploader = UploaderProcess(tmp_path, settings, own.keys)
                await uploader.start()
                add_all(uploader, storm)
                await until(lambda: sum(upload.tries for upload in uploader.uploads.values()) > 10)
                assert not all(upload.state == "written" for upload in uploader.uploads.values())
                filler.unlink()
                await until(verified(uploader), 100)  # the server looks for room once a minute
                await until(lambda: observer.complete == storm.keys())
                await uploader.stop()

            with observer.watching():
                asyncio.run(asyncio.wait_for(body(), 150))
        finally:
            own.stop()


@pytest.mark.local
def test_a_full_local_disk(uploading, store, proxy, tmp_path):
    with small_disk(tmp_path / "disk", 4) as disk:
        sent = make(disk / "sent", size=2 * 2**20)
        filler = disk / "filler"
        with pytest.raises(OSError, match="No space"), filler.open("wb") as file:
            while True:
                file.write(bytes(2**16))

        async def body(uploader):
            uploader.add("one", 1, sent, 0.0)
            await until(verified(uploader))

        uploading(body)
        with pytest.raises(DiskFailed, match="No space left on device; make room"):
            store.fetch("one", 1, disk / "fetched")
        assert sorted(path.name for path in disk.iterdir()) == ["filler", "sent"]
