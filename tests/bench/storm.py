"""The uploader, against a bare boto3 transfer of the same bytes, as parallel, to the same server.

Both sides are processes of their own and take turns. The bare one sends each file with one
`upload_file`, from as many threads as the uploader has calls in flight.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from operator import truediv
from pathlib import Path
from statistics import median

from tasks.snapshots.seaweedfs import SeaweedServer
from tasks.snapshots.supervising import UploaderProcess

ROUNDS = 5
SNAPSHOTS, MEGABYTES, PARALLEL = 8, 50, 4
BOUND_S = 120.0
_BARE = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
given = json.load(sys.stdin)
client = boto3.client("s3", endpoint_url=given["endpoint"], region_name="us-east-1", config=Config(
    max_pool_connections=given["parallel"], request_checksum_calculation="when_required"))
config = TransferConfig(use_threads=False, multipart_chunksize=8 * 2**20)
client.head_bucket(Bucket=given["bucket"])
began = time.perf_counter()
with ThreadPoolExecutor(given["parallel"]) as threads:
    upload = lambda file: client.upload_file(file, given["bucket"], "bare/" + file, Config=config)
    list(threads.map(upload, given["files"]))
print(time.perf_counter() - began)
"""


def _bare(server: SeaweedServer, files: list[Path]) -> float:
    given = {
        "endpoint": server.endpoint,
        "bucket": server.bucket,
        "parallel": PARALLEL,
        "files": [str(file) for file in files],
    }
    done = subprocess.run(
        [sys.executable, "-c", _BARE], input=json.dumps(given), capture_output=True, text=True, check=True,
        timeout=BOUND_S, env={**os.environ, **server.keys},
    )  # fmt: skip
    return float(done.stdout)


async def _storm(server: SeaweedServer, directory: Path, files: list[Path], number: int) -> float:
    """Seconds from the first byte until the last manifest."""
    settings = server.settings(f"storm/{number}")
    uploader = UploaderProcess(directory, settings, server.keys, PARALLEL)
    await uploader.start()
    try:
        due = time.monotonic() + 1.5  # the process is up by then
        for place, file in enumerate(files):
            uploader.add(f"sandbox-{place}", 1, file.parent, due)
        async with asyncio.timeout(BOUND_S):
            while any(upload.state != "written" for upload in uploader.uploads.values()):
                await asyncio.sleep(0.05)
        uploads = uploader.uploads.values()
        return max(upload.manifest_at or 0 for upload in uploads) - min(upload.first_byte_at or 0 for upload in uploads)
    finally:
        await uploader.stop()


def compare() -> list:  # type: ignore[type-arg]
    """The storm's upload rate, over that of a bare transfer: median of the rounds' ratios."""
    from tests.bench.__main__ import Ratio

    size = SNAPSHOTS * MEGABYTES
    storm: list[float] = []
    bare: list[float] = []
    with tempfile.TemporaryDirectory(prefix="sandgauge-bench-") as name:
        directory = Path(name)
        files = [directory / f"snapshots/{number}/checkpoint.img" for number in range(SNAPSHOTS)]
        for file in files:
            file.parent.mkdir(parents=True)
            file.write_bytes(os.urandom(MEGABYTES * 10**6))
        server = SeaweedServer(directory / "store")
        server.start()
        try:
            for number in range(ROUNDS):
                for side in ("storm", "bare") if number % 2 else ("bare", "storm"):
                    if side == "bare":
                        bare.append(size / _bare(server, files))
                    else:
                        storm.append(size / asyncio.run(_storm(server, directory, files, number)))
        finally:
            server.stop()
    return [
        Ratio(
            "upload rate of a storm, over a bare boto3 transfer", median(map(truediv, storm, bare)), at_least=0.9,
            measured=f"{median(storm):.0f} MB/s over {median(bare):.0f} MB/s, {ROUNDS} rounds of {size} MB",
        )
    ]  # fmt: skip
