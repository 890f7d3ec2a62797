"""Connections that go on: what is asked next depends on what was answered, as with a model in a chat."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.client import Client

from tests.clients.programs import SECONDS, environment, installed
from tests.clients.sdks import SCRIPTS, transport
from tests.clients.visits import Errand, Web

LINE_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answered: values if it went well, else the words that say why not."""

    values: dict[str, Any]
    error: str = ""


Talk = Callable[[str, dict[str, Any]], Awaitable[Answer]]
"""A tool and its arguments are answered."""

Talker = Callable[[Web, Path], AbstractAsyncContextManager[Talk]]
"""A client: it connects from the home directory given, and leaves at the end."""


@asynccontextmanager
async def python(web: Web, home: Path) -> AsyncIterator[Talk]:
    """The official Python SDK."""
    async with transport(Errand(web, [], home, look=False)) as way, Client(way) as client:

        async def talk(tool: str, given: dict[str, Any]) -> Answer:
            with anyio.fail_after(SECONDS):
                found = await client.call_tool(tool, given)
            return _answer(json.loads(found.model_dump_json(by_alias=True)))

        yield talk


@asynccontextmanager
async def typescript(web: Web, home: Path) -> AsyncIterator[Talk]:
    """The official TypeScript SDK of the second generation."""
    command = [installed("node"), str(SCRIPTS / "talk.mjs"), json.dumps(asdict(web))]
    async with await anyio.open_process(command, env=environment(home), stderr=None) as process:
        assert process.stdin
        assert process.stdout
        written, read = process.stdin, BufferedByteReceiveStream(process.stdout)

        async def talk(tool: str, given: dict[str, Any]) -> Answer:
            with anyio.fail_after(SECONDS):
                await written.send(json.dumps([tool, given]).encode() + b"\n")
                return _answer(json.loads(await read.receive_until(b"\n", LINE_BYTES)))

        yield talk
        await written.aclose()
        with anyio.fail_after(SECONDS):
            assert await process.wait() == 0


def _answer(result: dict[str, Any]) -> Answer:
    if result.get("isError"):
        return Answer({}, result["content"][0]["text"])
    values: dict[str, Any] = result["structuredContent"]
    return Answer(values)
