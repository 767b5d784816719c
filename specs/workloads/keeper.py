# Answers HTTP on 127.0.0.1:8080, one request a connection. Its memory is what a snapshot must keep:
# a count of the requests, the moment of its boot, and the nonce that a POST gave it.
import json
import os
import socket

count = 0
boot = os.urandom(8).hex()
nonce = ""
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", 8080))
server.listen(128)
while True:
    connection, _ = server.accept()
    try:
        request = b""
        while b"\r\n\r\n" not in request:
            block = connection.recv(65536)
            if not block:
                break
            request += block
        if not request:
            continue
        # What is left unread would reset the connection, and the answer with it.
        asked, _, sent = request.partition(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in asked.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        while lengths and len(sent) < int(lengths[0]) and (block := connection.recv(65536)):
            sent += block
        count += 1
        if request.startswith(b"POST /nonce/"):
            nonce = request.split(b" ", 2)[1][7:].decode()
        body = json.dumps({"count": count, "boot": boot, "nonce": nonce}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        connection.sendall(head.encode() + b"Connection: close\r\n\r\n" + body)
    except OSError:
        pass
    finally:
        connection.close()
