"""The router: an HTTP server on loopback, through which requests reach sandboxes by their names.

A request for `http://NAME.sandboxes.localhost/` is held while the sandbox NAME is woken, and then
answered by the program inside. What the router itself answers follows Substrate's router: 404 for
a sandbox that is not there, 503 when there was no room for as long as requests are parked, 502
when the program gave no answer, 504 when something took too long.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasks.platforms.base import Failed, How, PlatformError, Receipt, Refused, TimedOut
from tasks.platforms.local.relay import MOST_REQUEST_BYTES, WAY, Answer, Asked

if TYPE_CHECKING:  # imported where the router starts: every command would pay for them
    import httpx
    import uvicorn

DOMAIN = "sandboxes.localhost"
_HOW, _PARKED, _FULL = "x-sandgauge-how", "x-sandgauge-parked-seconds", "x-sandgauge-full"
_STATUS: dict[type[PlatformError], int] = {Refused: 503, TimedOut: 504, Failed: 502}
_ANSWER_CHARACTERS = 1000
_START_BOUND_S = 10.0


@dataclass(frozen=True, slots=True)
class Served:
    """What came of a request that reached a program.

    Attributes:
        how: how the sandbox was woken; None when it ran already.
        parked_s: seconds that the request was held for want of room.
    """

    answer: Answer
    how: How | None
    parked_s: float


class Missing(Failed):
    """No sandbox has this name."""


Serve = Callable[[str, Asked], Awaitable[Served]]


class Router:
    """The server, and the client that asks it as any user would."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._server: uvicorn.Server | None = None
        self._running: asyncio.Task[None] | None = None
        self._client: httpx.AsyncClient | None = None
        self.url = ""

    @property
    def started(self) -> bool:
        """Whether it listens."""
        return self._server is not None

    async def start(self) -> None:
        """Listen on a free port of loopback; does nothing when it listens already.

        Raises:
            OSError: it cannot listen.
        """
        if self._server is not None:
            return
        import httpx
        import uvicorn

        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            self._application, interface="asgi3", http="h11", ws="none", lifespan="off", log_config=None,
            access_log=False, server_header=False, date_header=False, proxy_headers=False, backlog=4096,
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._running = asyncio.get_running_loop().create_task(self._server.serve(sockets=[listening]))
        async with asyncio.timeout(_START_BOUND_S):
            while not self._server.started:
                await asyncio.sleep(0.005)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        # One connection a request, as independent users have; a client that tried again would hide failures.
        self._client = httpx.AsyncClient(
            base_url=self.url, timeout=None, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
        )

    async def stop(self) -> None:
        """Stop listening; safe to call twice."""
        if self._server is None or self._running is None:
            return
        server, running, self._server, self._running = self._server, self._running, None, None
        server.should_exit = True
        with suppress(asyncio.CancelledError):
            await running
        if self._client is not None:
            await self._client.aclose()

    async def ask(self, name: str) -> Receipt:
        """Send a GET for a sandbox, as a user of it would, and wait for the answer.

        Raises:
            Refused: it was parked for as long as requests are, and there was no room.
            TimedOut, Failed: there was no answer of the program.
        """
        if self._client is None:
            raise Failed("the router does not run; the step provision starts it")
        from httpx import HTTPError

        try:
            response = await self._client.get("/", headers={"host": f"{name}.{DOMAIN}"})
        except HTTPError as error:
            raise Failed(f"the router at {self.url} gave no answer: {error or type(error).__name__}") from error
        text = response.text[:_ANSWER_CHARACTERS]
        if response.status_code == 503 and _FULL in response.headers:
            raise Refused(text, response.headers[_FULL] or None)
        if response.status_code == 504:
            raise TimedOut(text)
        if response.status_code >= 400:
            raise Failed(f"status {response.status_code}: {text}")
        how: Any = response.headers.get(_HOW) or None
        detail = {
            "status": response.status_code, "answer": text, "way": WAY,
            "parked_s": float(response.headers.get(_PARKED, 0)),
        }  # fmt: skip
        return Receipt(how=how, detail=detail)

    async def _application(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI application: one request."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        target = (scope["raw_path"] + query).decode("latin-1")
        asked = Asked(scope["method"], target, list(scope["headers"]), bytes(body))
        answer = await self._unless_gone(receive, self._answer(asked))
        if answer is not None:
            await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
            await send({"type": "http.response.body", "body": answer.body})

    async def _unless_gone(self, receive: Any, work: Coroutine[Any, Any, Answer]) -> Answer | None:
        """The answer; or None when the client went away before, and then what was begun for it is ended."""
        answering = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                return answering.result()
        finally:
            for task in (answering, gone):
                task.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)
        return None

    async def _answer(self, asked: Asked) -> Answer:
        host = dict(asked.headers).get(b"host", b"").decode("latin-1").partition(":")[0].rstrip(".").lower()
        if not host.endswith(f".{DOMAIN}"):
            return _own(404, f"ask for NAME.{DOMAIN}, and not for {host or 'no host'}")
        if asked.size > MOST_REQUEST_BYTES:
            return _own(413, f"a request may have {MOST_REQUEST_BYTES} bytes, and has {asked.size}")
        try:
            served = await self._serve(host.removesuffix(f".{DOMAIN}"), asked)
        except Missing as error:
            return _own(404, str(error))
        except Refused as error:
            return _own(503, str(error), (_FULL.encode(), (error.resource or "").encode()))
        except PlatformError as error:
            return _own(_STATUS.get(type(error), 502), str(error))
        headers = [
            *served.answer.headers, (_HOW.encode(), (served.how or "").encode()),
            (_PARKED.encode(), f"{served.parked_s:.6f}".encode()),
        ]  # fmt: skip
        return Answer(served.answer.status, headers, served.answer.body)


def _own(status: int, message: str, *headers: tuple[bytes, bytes]) -> Answer:
    body = message.encode()
    kind = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    return Answer(status, [*kind, *headers], body)
