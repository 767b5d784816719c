"""The router of the platform `local`, asked over HTTP as a user of it would."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import httpx
import pytest

from specs.workloads import WORKLOADS
from tasks.platforms.base import Failed, Refused
from tasks.platforms.local.relay import Answer, Asked, BadAnswer, Exchange
from tests.platforms.test_local import pids_of

ECHO = """
import socket
s = socket.socket(); s.bind(("127.0.0.1", 8080)); s.listen(8)
while True:
    c, _ = s.accept(); data = b""
    while b"\\r\\n\\r\\n" not in data: data += c.recv(65536)
    head, _, body = data.partition(b"\\r\\n\\r\\n")
    lines = head.split(b"\\r\\n")
    length = int(([line.split(b":")[1] for line in lines if line.lower().startswith(b"content-length")] or [0])[0])
    while len(body) < length: body += c.recv(65536)
    c.sendall(b"HTTP/1.1 201 Created\\r\\nX-Line: " + lines[0])
    c.sendall(b"\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
    c.close()
"""
GARBAGE = """
import socket
s = socket.socket(); s.bind(("127.0.0.1", 8080)); s.listen(8)
while True:
    c, _ = s.accept(); data = b""
    while b"\\r\\n\\r\\n" not in data: data += c.recv(65536)
    c.sendall(b"no HTTP at all\\r\\n\\r\\n"); c.close()
"""
PYTHON = ["/usr/bin/python3", "-ISE", "-c"]


async def ask(platform, name, path="/", **more):
    async with httpx.AsyncClient(timeout=20, trust_env=False) as client:
        return await client.request(
            more.pop("method", "GET"), platform._router.url + path,
            headers={"host": f"{name}.sandboxes.localhost"}, **more,
        )  # fmt: skip


@pytest.fixture
def keeper(local):
    return replace(local.spec, command=WORKLOADS["keeper"].argv(), memory_bytes=128 * 2**20)


def routed(local, body, **settings):
    async def go(platform):
        await platform.provision(frozenset({"router"}))
        await body(platform)

    local.run(go, **settings)


@pytest.mark.local
def test_a_request_wakes_the_program_that_was_suspended(local, keeper, ack):
    async def body(platform):
        await platform.create("one", keeper, ack)
        first = (await ask(platform, "one")).json()
        await platform.suspend("one", ack)
        assert await pids_of(platform) == []
        answer = await ask(platform, "one")
        assert answer.headers["x-sandgauge-how"] == "restored"
        assert answer.json() == {**first, "count": first["count"] + 1}
        assert (await ask(platform, "one")).headers["x-sandgauge-how"] == ""

    routed(local, body)


@pytest.mark.local
def test_bodies_paths_and_status_pass_both_ways(local, ack):
    async def body(platform):
        await platform.create("echo", replace(local.spec, command=[*PYTHON, ECHO]), ack)
        sent = bytes(range(256)) * 20
        answer = await ask(platform, "echo", "/a%20b?c=d&e", method="POST", content=sent)
        assert answer.status_code == 201
        assert answer.headers["x-line"] == "POST /a%20b?c=d&e HTTP/1.1"
        assert answer.content == sent

    routed(local, body)


@pytest.mark.local
def test_what_cannot_be_answered_has_a_status_of_its_own(local, keeper, ack):
    async def body(platform):
        assert (await ask(platform, "nobody")).status_code == 404
        async with httpx.AsyncClient(trust_env=False) as client:
            elsewhere = await client.get(platform._router.url, headers={"host": "example.org"})
        assert (elsewhere.status_code, elsewhere.text) == (
            404,
            "ask for NAME.sandboxes.localhost, and not for example.org",
        )
        await platform.create("garbage", replace(local.spec, command=[*PYTHON, GARBAGE]), ack)
        answer = await ask(platform, "garbage")
        assert answer.status_code == 502
        assert "no HTTP" in answer.text
        assert (await ask(platform, "garbage", method="POST", content=b"x" * 40_000)).status_code == 413
        with pytest.raises(Failed, match=r"status 404: no sandbox is called nobody"):
            await platform.wake("nobody", ack)

    routed(local, body)


@pytest.mark.local
def test_a_full_host_parks_a_request_until_there_is_room(local, keeper, ack):
    big = replace(keeper, cpu_millicores=1000)

    async def body(platform):
        await platform.create("one", big, ack)
        await platform.create("two", big, ack)
        await platform.wake("one", ack)
        parked = asyncio.create_task(platform.wake("two", ack))
        await asyncio.sleep(0.5)
        assert not parked.done()
        await platform.suspend("one", ack)
        receipt = await asyncio.wait_for(parked, 10)
        assert receipt.how == "booted"
        assert 0.4 < receipt.detail["parked_s"] < 5
        with pytest.raises(Refused, match=r"^no worker has room: .* of cpu .*; parked for 1\.[0-9] s$") as caught:
            await platform.wake("one", ack)
        assert caught.value.resource == "cpu"

    routed(local, body, parking="1s")


@pytest.mark.local
def test_requests_at_once_for_one_sandbox_start_it_once(local, keeper, ack):
    async def body(platform):
        await platform.create("one", keeper, ack)
        answers = await asyncio.gather(*(ask(platform, "one") for _ in range(5)))
        assert sorted(answer.json()["count"] for answer in answers) == [1, 2, 3, 4, 5]
        assert sorted(answer.headers["x-sandgauge-how"] for answer in answers) == ["", "", "", "", "booted"]

    routed(local, body)


@pytest.mark.local
def test_a_client_that_goes_away_leaves_nothing_running_for_it(local, ack):
    async def body(platform):
        await platform.create("deaf", local.spec, ack)  # nothing in it listens
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await platform.wake("deaf", ack)
        for _ in range(100):
            if not any("relay" in text for text in platform._containers.processes().values()):
                break
            await asyncio.sleep(0.05)
        else:
            pytest.fail("the relay goes on")
        assert (await platform.exec("deaf", ["/bin/echo", "well"], ack)).detail["stdout"] == "well\n"

    routed(local, body)


def test_an_exchange_makes_a_request_that_ends_its_connection():
    asked = Asked("GET", "/x", [(b"Host", b"a.sandboxes.localhost"), (b"Connection", b"keep-alive")], b"")
    sent = Exchange(asked).sent
    assert sent.startswith(b"GET /x HTTP/1.1\r\n")
    assert b"keep-alive" not in sent and b"connection: close\r\n" in sent.lower()


def test_an_exchange_takes_whole_answers_only():
    def answer(received: bytes) -> Answer:
        return Exchange(Asked("GET", "/", [(b"host", b"a")], b"")).answer(received)

    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    assert answer(chunked) == Answer(200, [], b"abc")
    assert answer(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n").status == 204
    assert answer(b"HTTP/1.0 200 OK\r\n\r\nuntil the end").body == b"until the end"
    for broken in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", b"nonsense\r\n\r\n"):
        with pytest.raises(BadAnswer):
            answer(broken)
