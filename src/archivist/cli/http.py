"""HTTP/1.1 with heads of bounded size, and with an end to waiting: uvicorn's fast parser knows neither."""

import asyncio
from typing import ClassVar, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 32 * 1024
"""Request line and headers; ours need about one kilobyte."""

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedHeads(HttpToolsProtocol):
    """Answers 431 and hangs up once the head of a request is longer than HEAD_BYTES.

    It also hangs up on who connects and says nothing, and on who sends a head or a body too slowly: each of them holds
    a socket, of which there are not many. How long an answer takes is not limited here.
    """

    head_seconds: ClassVar[float] = 20
    body_seconds: ClassVar[float] = 60

    _pending = 0  # bytes received since a head began that has not ended yet
    _in_head = False
    _end_of_patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self._wait(self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._in_head, self._pending = True, 0
        self._wait(self.head_seconds)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._wait(self.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._wait(None)
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._end_of_patience is None and (self.cycle is None or self.cycle.response_complete):
            self._wait(self.head_seconds)  # blank lines begin no request, but end the wait for one
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._pending += len(data)
        if self._pending > HEAD_BYTES:
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def _wait(self, seconds: float | None) -> None:
        """For what comes next at most so long; None: nothing is waited for."""
        if self._end_of_patience is not None:
            self._end_of_patience.cancel()
        ends = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
        self._end_of_patience = ends
