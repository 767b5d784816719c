"""Snapshots of suspended sandboxes in an S3 bucket; nothing is called durable that is not.

`manifest.py` says what a snapshot is, `trees.py` reads and rebuilds one on disk, `sending.py` moves
one to the bucket, `store.py` is what callers use. `uploader.py` is a process of its own that sends
in the background, and `supervising.py` the handle that the platform has on it. `seaweedfs.py`
starts a real S3 server where none is given.

A snapshot is durable when its manifest is there, carries our mark, and the server itself vouches
for the size and SHA-256 of every object that it lists. The manifest is written last and deleted
first, so whatever is half made or half removed has none.
"""
