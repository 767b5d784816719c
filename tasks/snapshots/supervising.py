"""The handle on the uploader's process, for an event loop in any thread.

The ledger of what was added lives here, so nothing is forgotten when the process is killed: it is
started again, and given what is not written, or dropped, or lost.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tasks.snapshots.bucket import StoreSettings
from tasks.snapshots.errors import ServerFailed

State = Literal["local_only", "uploading", "written", "lost", "dropped"]
Key = tuple[str, int]

_STOP_BOUND_S = 2.0
_PAUSES_S = (0.0, 0.1, 0.5, 2.0)


@dataclass(slots=True)
class Upload:
    """What is known of one snapshot that was added. Times are of the monotonic clock, in seconds.

    Attributes:
        state: `written` means that the manifest's PUT was answered, and no more: whether it is
            durable, `SnapshotStore.verify` tells.
        due_at: when it is to be sent.
        first_byte_at: when its first byte was sent; None before, and where all was there already.
        manifest_at: when its manifest was written, or first seen.
        bytes_total: of its files; of all its objects once it is written.
        bytes_sent: over the network, by all tries.
        checksum: the manifest's SHA-256 in hexadecimal.
        tries: how many calls of it failed.
        error: of the last that failed, or why it was lost.
        verified: whether the uploader found it whole; older generations are removed by then.
    """

    directory: Path
    due_at: float
    state: State = "local_only"
    first_byte_at: float | None = None
    manifest_at: float | None = None
    bytes_total: int | None = None
    bytes_sent: int = 0
    objects: int | None = None
    checksum: str | None = None
    tries: int = 0
    error: str | None = None
    verified: bool = False
    ticket: int = 0
    sent_before: int = 0
    dropping: bool = False


class UploaderProcess:
    """Starts the uploader, tells it what to send, and keeps what it says.

    Attributes:
        uploads: the ledger, by sandbox and generation.
        restarts: how often the process ended by itself.
        bytes_sent: over the network, by all processes.
    """

    def __init__(
        self,
        state_dir: Path,
        settings: StoreSettings,
        keys: Mapping[str, str] | None = None,
        parallel_uploads: int = 4,
        on_change: Callable[[Key, Upload], None] | None = None,
    ) -> None:
        """Prepare the process, without starting it.

        Args:
            state_dir: named in its arguments, which is its mark; its errors go to `uploader.log` there.
            settings: where to.
            keys: of our own server, as an environment; None takes boto3's chain.
            parallel_uploads: calls at a time.
            on_change: called in the event loop after each event of an upload.
        """
        self.uploads: dict[Key, Upload] = {}
        self.restarts = 0
        self.bytes_sent = 0
        self._state_dir = state_dir
        self._first_line = {**asdict(settings), "parallel_uploads": parallel_uploads, "env": dict(keys or {})}
        self._on_change = on_change
        self._tickets = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._commands: asyncio.WriteTransport | None = None
        self._events: asyncio.ReadTransport | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._heard = False

    @property
    def mark(self) -> str:
        """The argument by which the process is known."""
        return f"--state-dir={self._state_dir}"

    @property
    def pid(self) -> int | None:
        """The number of the process, while it runs."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    async def start(self) -> None:
        """Start the process, and keep it running until `stop`.

        Raises:
            ServerFailed: it cannot be started.
        """
        if self._keeper is None:
            events = await self._launch()
            self._keeper = asyncio.create_task(self._keep(events))

    async def stop(self) -> None:
        """End the process at once, whatever it is at; the ledger stays. Safe to call twice."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper
        await self._end()

    def add(self, sandbox: str, generation: int, directory: Path, due_at: float) -> None:
        """Have a directory sent from `due_at` on; does nothing where that is under way or done."""
        known = self.uploads.get((sandbox, generation))
        if known is not None and not known.dropping and known.state not in ("lost", "dropped"):
            return
        self._tickets += 1
        upload = self.uploads[sandbox, generation] = Upload(directory, due_at, ticket=self._tickets)
        self._send_add((sandbox, generation), upload)

    def drop(self, sandbox: str, generation: int) -> None:
        """Have a snapshot not sent, and what is in the store of this generation removed.

        Its state becomes `dropped` when that is done.
        """
        self._tickets += 1
        upload = self.uploads.setdefault((sandbox, generation), Upload(Path(), 0.0))
        upload.ticket = self._tickets
        upload.dropping = True
        self._send_drop((sandbox, generation), upload)

    def _send_add(self, key: Key, upload: Upload) -> None:
        self._command("add", key, upload, directory=str(upload.directory), due_at=upload.due_at)

    def _send_drop(self, key: Key, upload: Upload) -> None:
        self._command("drop", key, upload)

    def _command(self, op: str, key: Key, upload: Upload, **more: Any) -> None:
        # Without a process it is not lost: the next one is told from the ledger.
        if self._commands is not None:
            line = {"op": op, "sandbox": key[0], "generation": key[1], "ticket": upload.ticket, **more}
            self._commands.write(json.dumps(line).encode() + b"\n")

    # The process

    async def _launch(self) -> asyncio.StreamReader:
        loop = asyncio.get_running_loop()
        try:
            with (self._state_dir / "uploader.log").open("ab") as errors:
                child = subprocess.Popen(
                    [sys.executable, "-m", "tasks.snapshots.uploader", self.mark],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    bufsize=0,
                    start_new_session=True,
                )
        except OSError as error:
            raise ServerFailed(
                f"{self._state_dir}: the uploader could not be started: {error}; mend the disk"
            ) from error
        self._child, self._heard = child, False
        events = asyncio.StreamReader()
        # Pipes of the loop, and no asyncio subprocess: that needs a watcher, which some loops lack outside
        # of the main thread.
        self._events, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(events), child.stdout)
        self._commands, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, child.stdin)
        self._commands.write(json.dumps(self._first_line).encode() + b"\n")
        for key, upload in self.uploads.items():
            upload.sent_before = upload.bytes_sent
            if upload.dropping and upload.state != "dropped":
                self._send_drop(key, upload)
            elif not upload.verified and upload.state not in ("lost", "dropped"):
                self._send_add(key, upload)
        return events

    async def _keep(self, events: asyncio.StreamReader) -> None:
        pauses = iter(_PAUSES_S)
        while True:
            before = self.bytes_sent
            async for line in events:
                self._take(json.loads(line), before)
            await self._end()
            self.restarts += 1
            if self._heard:
                pauses = iter(_PAUSES_S)
            events = await self._launch_again(pauses)

    async def _launch_again(self, pauses: Iterator[float]) -> asyncio.StreamReader:
        while True:
            await asyncio.sleep(next(pauses, _PAUSES_S[-1]))
            try:
                return await self._launch()
            except ServerFailed as error:
                self._fail_all(str(error))

    async def _end(self) -> None:
        child, commands, events = self._child, self._commands, self._events
        self._child = self._commands = self._events = None
        if commands is not None and not commands.is_closing():
            commands.abort()
        if events is not None:
            events.close()
        if child is not None:
            await asyncio.shield(asyncio.to_thread(_reap, child))

    # Its events

    def _take(self, event: dict[str, Any], sent_before: int) -> None:
        if event["event"] == "fatal":
            self._fail_all(event["error"])
            return
        self._heard = True
        if "total_sent" in event:
            self.bytes_sent = sent_before + event["total_sent"]
        key = (event["sandbox"], event["generation"])
        upload = self.uploads.get(key)
        if upload is None or upload.ticket != event["ticket"]:
            return
        self._note(upload, event)
        if event["event"] == "superseded":
            self._note_superseded(key, event["generations"])
        if self._on_change is not None:
            self._on_change(key, upload)

    def _note(self, upload: Upload, event: dict[str, Any]) -> None:
        upload.bytes_sent = upload.sent_before + event.get("sent", 0)
        match event["event"]:
            case "uploading":
                upload.state = "uploading"
                upload.first_byte_at = upload.first_byte_at or event["at"]
                upload.bytes_total = event["bytes_total"]
            case "failed_try":
                upload.tries += 1
                upload.error = event["error"]
                if upload.state == "written" and event["stage"] == "waiting":
                    upload.state, upload.manifest_at = "uploading", None
            case "written":
                upload.state = "written"
                upload.manifest_at = upload.manifest_at or event["manifest_at"]
                upload.bytes_total, upload.objects = event["bytes"], event["objects"]
                upload.checksum = event["checksum"]
            case "verified":
                upload.verified = True
            case "lost":
                upload.state, upload.error = "lost", event["error"]
            case "dropped":
                upload.state, upload.error, upload.dropping = "dropped", event["error"] or upload.error, False

    def _note_superseded(self, newer: Key, generations: list[int]) -> None:
        for generation in generations:
            older = self.uploads.get((newer[0], generation))
            if older is not None:
                older.state, older.error = "dropped", f"generation {newer[1]} is durable"

    def _fail_all(self, problem: str) -> None:
        for upload in self.uploads.values():
            if upload.state in ("local_only", "uploading"):
                upload.tries += 1
                upload.error = problem


def _reap(child: subprocess.Popen[bytes]) -> None:
    """Wait for a process that was told to end; kill it where it does not."""
    try:
        child.wait(_STOP_BOUND_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
