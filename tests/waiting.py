"""Waiting for something that other threads or processes bring about: looked at again and again, within a bound."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
SECONDS = 60.0
"""More than anything here takes on a busy machine; whoever waits that long waits in vain."""

_PAUSE = 0.02


def until(look: Callable[[], T], what: str, seconds: float = SECONDS) -> T:
    """What `look` returns once that is true.

    Raises:
        AssertionError: it was not within `seconds`; says `what` was waited for.
    """
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(_PAUSE)
    return found


async def eventually(look: Callable[[], Awaitable[T]], what: str, seconds: float = SECONDS) -> T:
    """The same for a coroutine, while other tasks go on."""
    deadline = time.monotonic() + seconds
    while not (found := await look()):
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        await asyncio.sleep(_PAUSE)
    return found
