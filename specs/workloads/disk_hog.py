# 512 MB written and synced to the sandbox's disk, over and over.
import os

block = os.urandom(1 << 20)
while True:
    with open("/workspace/hog", "wb") as file:
        for _ in range(512):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
