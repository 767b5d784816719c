"""Stores that do not answer, or are none: told at once, and never a reason to leave anything running."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tasks.cleanup import clean_up
from tasks.platforms.base import Unavailable
from tests.conftest import free_port

pytestmark = pytest.mark.local


class _Answers(BaseHTTPRequestHandler):
    status, body, location = 200, b"", ""

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(self.status)
        if self.location:
            self.send_header("Location", self.location)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


for method in ("GET", "PUT", "POST", "DELETE", "HEAD"):
    setattr(_Answers, f"do_{method}", _Answers._answer)


@pytest.fixture(params=["empty 200", "html 200", "404", "redirect"])
def no_store(request: pytest.FixtureRequest) -> Iterator[str]:
    class Answers(_Answers):
        status = {"404": 404, "redirect": 302}.get(request.param, 200)
        body = b"<html/>" if request.param == "html 200" else b""
        location = "/elsewhere" if request.param == "redirect" else ""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture
def keys(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def refusal(local, endpoint: str) -> str:
    async def go() -> str:
        platform = local.make(snapshots={"endpoint": endpoint})
        await platform.open()
        try:
            with pytest.raises(Unavailable) as caught:
                await platform.provision(frozenset({"store"}))
            return str(caught.value)
        finally:
            await platform.close()

    return asyncio.run(asyncio.wait_for(go(), 60))


def test_what_is_no_store_is_told_when_it_is_provisioned(local, keys, no_store):
    message = refusal(local, no_store)
    assert message.startswith(f"target local: {no_store}/sandgauge/snapshots/sandgauge-")
    assert "S3 server" in message or "endpoint" in message


def test_a_store_that_nobody_serves_is_told_when_it_is_provisioned(local, keys):
    endpoint = f"http://127.0.0.1:{free_port()}"
    assert endpoint in refusal(local, endpoint)


def test_a_store_that_has_gone_keeps_nothing_else_from_being_removed(local, keys, ack):
    async def go():
        platform = local.make(snapshots={"endpoint": f"http://127.0.0.1:{free_port()}"})
        await platform.open()
        try:
            await platform.create("one", local.spec, ack)
            await platform.resume("one", ack)
            result = await clean_up(platform)
        finally:
            await platform.close()
        assert result.found["sandboxes"] == ["one"]
        assert {kind for kind, names in result.left.items() if names} == {"objects"}
        assert result.left["objects"][0].startswith("not known: target local: http://127.0.0.1:")

    asyncio.run(asyncio.wait_for(go(), 100))
