"""How a thread answers a coroutine."""

import asyncio
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class Reply(Generic[T]):
    """An answer that a coroutine awaits and another thread gives. Whoever stops waiting does not stop the work."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._loop.create_future()

    def give(self, answer: T) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody waits any more
            self._loop.call_soon_threadsafe(_give, self.future, answer)

    def fail(self, error: BaseException) -> None:
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_fail, self.future, error)


def _give(future: "asyncio.Future[T]", answer: T) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: "asyncio.Future[T]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
