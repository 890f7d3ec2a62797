"""Connections that hold a socket and do not get on: the server hangs up, and whoever is in earnest is served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from archivist.cli.http import HEAD_BYTES, BoundedHeads
from tests.waiting import SECONDS

pytestmark = pytest.mark.anyio

REQUEST = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody"
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def echo(scope, receive, send):
    """Answers with the body, and only after all of it."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serving(head: float, body: float) -> AsyncIterator[int]:
    """The port of a server with that patience, in seconds."""

    class Impatient(BoundedHeads):
        head_seconds, body_seconds = head, body

    server = uvicorn.Server(uvicorn.Config(echo, port=0, lifespan="off", log_config=None, http=Impatient))
    server.config.load()
    state, loop = server.server_state, asyncio.get_running_loop()
    listening = await loop.create_server(lambda: Impatient(server.config, state, {}), "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.gather(*state.tasks)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Ends]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def rest(reader: asyncio.StreamReader) -> bytes:
    """What still comes, to the end of the connection; that it was cut off is an end, too."""
    try:
        return await asyncio.wait_for(reader.read(), SECONDS)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ],
    ids=["silence", "blank line", "half a head", "half a body", "half of the chunks"],
)
async def test_sec_154_who_does_not_get_on_is_hung_up_on(beginning):
    async with serving(head=0.05, body=0.05) as port, connected(port) as (reader, writer):
        writer.write(beginning)
        assert await rest(reader) == b""


async def test_sec_154_blank_lines_after_an_answer_keep_no_connection():
    async with serving(head=0.05, body=SECONDS) as port, connected(port) as (reader, writer):
        writer.write(REQUEST)
        await reader.readuntil(b"body")
        writer.write(b"\r\n")
        assert await rest(reader) == b""


async def test_who_sends_whole_requests_is_served_again_and_again_on_one_connection():
    async with serving(head=SECONDS, body=SECONDS) as port, connected(port) as (reader, writer):
        for _ in range(3):
            writer.write(REQUEST)
            assert (await reader.readuntil(b"body")).startswith(b"HTTP/1.1 200 ")


async def test_sec_154_many_silent_connections_keep_nobody_from_being_served():
    async with serving(head=SECONDS, body=SECONDS) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(300)]
        async with connected(port) as (reader, writer):
            writer.write(REQUEST)
            assert (await reader.readuntil(b"body")).startswith(b"HTTP/1.1 200 ")
        for _, writer in silent:
            writer.close()


async def test_sec_147_a_head_without_end_is_refused():
    async with serving(head=SECONDS, body=SECONDS) as port, connected(port) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nhost: a\r\nx-long: " + b"x" * (HEAD_BYTES + 1))
        assert (await rest(reader)).startswith(b"HTTP/1.1 431 ")
