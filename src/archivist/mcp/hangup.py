"""Stops work that nobody waits for any more: a client that closes its request has cancelled it."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.types import Receive

GRACE = 0.05
"""Seconds before we begin to listen for the hang-up: most requests are over by then, and listening costs a task."""

Found = TypeVar("Found")


async def unless_gone(receive: Receive, work: Awaitable[Found]) -> Found | None:
    """What `work` comes to; None if the client hung up first, which cancels it."""
    listening: list[asyncio.Task[None]] = []
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as patience:
            timer = loop.call_later(GRACE, lambda: listening.append(loop.create_task(_listen(receive, patience))))
            try:
                return await work
            finally:
                timer.cancel()
                for task in listening:
                    task.cancel()
    except TimeoutError:
        if not patience.expired():  # the work's own
            raise
    return None


async def _listen(receive: Receive, patience: asyncio.Timeout) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    patience.reschedule(asyncio.get_running_loop().time())
