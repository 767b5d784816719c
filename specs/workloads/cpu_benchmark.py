# Fixed work on one processor: the same sum each time.
import json
import time

started = time.perf_counter()
total = 0
for number in range(1_000_000):
    total = (total * 31 + number) & 0xFFFFFFFF
print(json.dumps({"seconds": time.perf_counter() - started, "sum": total}))
