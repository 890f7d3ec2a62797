"""Where an app that runs in this process waits for its person's answer: a page on a free port of this computer."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.conformance.fixtures.serving import served


@dataclass(slots=True)
class Callback:
    """The address to be named, and what comes back to it."""

    address: str = ""
    _answers: list[Mapping[str, str]] = field(default_factory=list)
    _arrived: anyio.Event = field(default_factory=anyio.Event)

    async def answer(self) -> Mapping[str, str]:
        """The parameters of the next answer."""
        await self._arrived.wait()
        self._arrived = anyio.Event()
        return self._answers.pop()

    async def take(self, request: Request) -> Response:
        self._answers.append(dict(request.query_params))
        self._arrived.set()
        return PlainTextResponse("You can close this window.")


@asynccontextmanager
async def callback() -> AsyncIterator[Callback]:
    """It is open while the block runs."""
    waiting = Callback()
    async with served(Starlette(routes=[Route("/callback", waiting.take)])) as url:
        waiting.address = f"{url}/callback"
        yield waiting
