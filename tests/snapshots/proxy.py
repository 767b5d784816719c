"""A proxy before the S3 server that counts, and that misbehaves when it is told to."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Proxy:
    """Forwards every request to `target`.

    Attributes:
        puts: keys whose PUT was answered with 200, in order.
        refuse: answer with 503.
        cut: drop the connection, without an answer.
        before_put: called with the key before a PUT is forwarded; may block. False drops it.
        after_put: the same with the answer, before that is given; False drops the answer.
    """

    def __init__(self, target: str, port: int = 0) -> None:
        self.target = urlsplit(target).netloc
        self.puts: list[str] = []
        self.at_once = self.most_at_once = 0
        self.refuse = self.cut = False
        self.before_put: Callable[[str], bool] = lambda key: True
        self.after_put: Callable[[str], bool] = lambda key: True
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def handle_expect_100(self) -> bool:
        if not (self.proxy.refuse or self.proxy.cut):
            return super().handle_expect_100()
        return True

    def serve(self) -> None:
        proxy = self.proxy
        if proxy.cut:
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if proxy.refuse:
            self.answer(503, [("Content-Type", "application/xml")], b"<Error><Code>SlowDown</Code></Error>")
            return
        if self.command != "PUT":
            self.forward(body)
            return
        key = urlsplit(self.path).path.split("/", 2)[2]
        with proxy.lock:
            proxy.at_once += 1
            proxy.most_at_once = max(proxy.most_at_once, proxy.at_once)
        try:
            if not proxy.before_put(key) or not self.forward(body, key):
                self.close_connection = True
        finally:
            with proxy.lock:
                proxy.at_once -= 1

    def forward(self, body: bytes, key: str | None = None) -> bool:
        connection = http.client.HTTPConnection(self.proxy.target, timeout=20)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        except OSError:
            self.close_connection = True
            return True
        finally:
            connection.close()
        if key is not None and answer.status == 200:
            with self.proxy.lock:
                self.proxy.puts.append(key)
            if not self.proxy.after_put(key):
                return False
        self.answer(answer.status, answer.getheaders(), data)
        return True

    def answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
        self.send_response_only(status)
        dropped = ("connection", "transfer-encoding") if self.command == "HEAD" else (
            "connection", "transfer-encoding", "content-length"
        )  # fmt: skip
        for name, value in headers:
            if name.lower() not in dropped:
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = serve  # noqa: N815
