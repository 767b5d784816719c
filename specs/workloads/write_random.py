# So many megabytes (10^6 bytes) of random data in one file: nothing that could be compressed or shared.
import json
import os
import sys
import time

megabytes, path = int(sys.argv[1]), sys.argv[2]
started = time.perf_counter()
with open(path, "wb") as file:
    for _ in range(megabytes):
        file.write(os.urandom(1_000_000))
print(json.dumps({"seconds": time.perf_counter() - started, "bytes": megabytes * 1_000_000}))
