"""Handing one HTTP request to the program in a sandbox, and its answer back.

Sandboxes here have no network: that of older releases of gVisor does not come up on newer
kernels, and what can be made to come up there, or a socket shared with the host, cannot be
checkpointed. What works with every release is loopback inside the sandbox and `runsc exec`: a
shell of the sandbox connects to the program's port, and passes on what it is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import h11

WAY = "runsc exec"
"""How requests reach the program; recorded with every wake."""
PORT = 8080
"""Where a program in a sandbox answers HTTP, on loopback."""
MOST_REQUEST_BYTES = 30_000
"""A request travels as an argument, of which the kernel takes 128 KiB, four characters a byte."""
NOT_LISTENING = 97
"""The relay's exit code when nothing listened on the port for a minute."""
_LISTEN_BOUND_S = 60
# A program that has just been booted may not listen yet; to connect again costs less than to find that out.
_SCRIPT = f"""
until exec 3<>/dev/tcp/127.0.0.1/{PORT}; do
  [ $SECONDS -lt {_LISTEN_BOUND_S} ] && sleep 0.02 || exit {NOT_LISTENING}
done 2>/dev/null
printf %b "$1" >&3 && exec cat <&3
"""
Headers = list[tuple[bytes, bytes]]
_OF_A_CONNECTION = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"upgrade"})


class BadAnswer(Exception):
    """What came back is no HTTP response; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as the router received it."""

    method: str
    target: str
    headers: Headers
    body: bytes

    @property
    def size(self) -> int:
        """About as many bytes as it has on the wire."""
        return len(self.body) + len(self.target) + sum(len(name) + len(value) + 4 for name, value in self.headers)


@dataclass(frozen=True, slots=True)
class Answer:
    """One response, of the program inside or of the router itself."""

    status: int
    headers: Headers
    body: bytes


class Exchange:
    """One request and its response, over a connection that ends with it."""

    def __init__(self, asked: Asked) -> None:
        self._connection = h11.Connection(our_role=h11.CLIENT)
        headers = [*_end_to_end(asked.headers), (b"connection", b"close")]
        if not any(name == b"content-length" for name, _ in headers) and asked.body:
            headers.append((b"content-length", str(len(asked.body)).encode()))
        self.sent = self._send(h11.Request(method=asked.method, target=asked.target, headers=headers))
        if asked.body:
            self.sent += self._send(h11.Data(data=asked.body))
        self.sent += self._send(h11.EndOfMessage())

    def _send(self, event: h11.Event) -> bytes:
        return self._connection.send(event) or b""

    def program(self) -> list[str]:
        """What is to be run in the sandbox: it prints the response as it comes."""
        return ["/usr/bin/bash", "-c", _SCRIPT, "relay", "".join(f"\\{byte:04o}" for byte in self.sent)]

    def answer(self, received: bytes) -> Answer:
        """The response among the bytes that the program printed.

        Raises:
            BadAnswer: they are no whole response.
        """
        if not received:
            raise BadAnswer("the program closed the connection without an answer")
        try:
            self._connection.receive_data(received)
            self._connection.receive_data(b"")
            head = self._connection.next_event()
            while isinstance(head, h11.InformationalResponse):
                head = self._connection.next_event()
            if not isinstance(head, h11.Response):
                raise BadAnswer("the program's answer ended in its head")
            body = bytearray()
            while isinstance(part := self._connection.next_event(), h11.Data):
                body += part.data
            if not isinstance(part, h11.EndOfMessage):
                raise BadAnswer("the answer ended in the middle")
        except h11.RemoteProtocolError as error:
            raise BadAnswer(f"the answer is no HTTP: {error}") from error
        headers = [(name, value) for name, value in _end_to_end(head.headers) if name != b"transfer-encoding"]
        return Answer(head.status_code, headers, bytes(body))


def _end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    return [(name.lower(), value) for name, value in headers if name.lower() not in _OF_A_CONNECTION]
