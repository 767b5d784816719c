# Hands a nonce to the keeper's memory, to a file on disk and to one in memory.
import socket
import sys

nonce = sys.argv[1]
for path in ("/workspace/nonce", "/tmp/nonce"):
    with open(path, "w") as file:
        file.write(nonce)
with socket.create_connection(("127.0.0.1", 8080), timeout=30) as connection:
    connection.sendall(f"POST /nonce/{nonce} HTTP/1.1\r\nHost: keeper\r\n\r\n".encode())
    answer = b""
    while block := connection.recv(65536):
        answer += block
if f'"nonce": "{nonce}"'.encode() not in answer:
    sys.exit(f"the keeper did not take the nonce: {answer!r}")
