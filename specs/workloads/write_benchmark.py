# A file of 64 MB on the sandbox's disk, written in blocks of 1 MB and synced.
import json
import os
import time

block = os.urandom(1_000_000)
started = time.perf_counter()
with open("/workspace/benchmark", "wb") as file:
    for _ in range(64):
        file.write(block)
    file.flush()
    os.fsync(file.fileno())
seconds = time.perf_counter() - started
os.remove("/workspace/benchmark")
print(json.dumps({"seconds": seconds, "bytes": 64_000_000}))
