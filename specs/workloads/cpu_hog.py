# Two busy loops, as the published study has them: one in a child, one here.
import os

os.fork()
while True:
    pass
