# Whether the keeper's memory and both files still hold the nonce: prints what it found, and fails if one does not,
# unless a second argument asks for no more than a report.
import json
import socket
import sys

nonce = sys.argv[1]
files = True
for path in ("/workspace/nonce", "/tmp/nonce"):
    try:
        with open(path) as file:
            files = files and file.read() == nonce
    except OSError:
        files = False
answer = b""
try:
    with socket.create_connection(("127.0.0.1", 8080), timeout=30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: keeper\r\n\r\n")
        while block := connection.recv(65536):
            answer += block
except OSError:
    pass
memory = f'"nonce": "{nonce}"'.encode() in answer
print(json.dumps({"files": files, "memory": memory}))
if not (files and memory) and len(sys.argv) < 3:
    sys.exit("a nonce is not there any more")
