# Blocks of 64 MiB, each page written, up to three quarters of the limit; then all are given back, and again.
# A hog that went on to the limit would be killed there, and load nothing any more.
import mmap
import sys

BLOCK = 64 << 20
limit = int(sys.argv[1])
while True:
    held: list[mmap.mmap] = []
    while (len(held) + 1) * BLOCK <= limit * 3 // 4:
        block = mmap.mmap(-1, BLOCK)
        for page in range(0, BLOCK, mmap.PAGESIZE):
            block[page] = 1
        held.append(block)
    for block in held:
        block.close()
