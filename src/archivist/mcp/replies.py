"""Sending an answer: as JSON, or as a stream of server-sent events once a notification has to go first."""

from dataclasses import dataclass, field
from typing import Any

from starlette.types import Send

from archivist.http import wire

RawHeaders = list[tuple[bytes, bytes]]
_JSON: RawHeaders = [(b"content-type", b"application/json")]
_EVENTS: RawHeaders = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]


@dataclass(frozen=True, slots=True)
class Reply:
    """A status, and a JSON body unless it is None."""

    status: int
    body: Any = None
    headers: RawHeaders = field(default_factory=list)


class Channel:
    """The way back to the client of one request."""

    __slots__ = ("_headers", "_send", "_streaming", "accepts_events", "events_only", "status", "without_body")

    def __init__(self, send: Send, headers: RawHeaders, *, without_body: bool) -> None:
        self._send, self._headers, self.without_body = send, headers, without_body
        self._streaming = False
        self.accepts_events = self.events_only = False
        self.status = 0

    def add(self, headers: RawHeaders) -> None:
        """Headers for whatever the answer will be."""
        self._headers = self._headers + headers

    async def notify(self, notification: dict[str, Any]) -> None:
        """Send a notification ahead of the answer; dropped if the client does not take events."""
        if self.accepts_events:
            await self._open_stream()
            await self._event(notification, more=True)

    async def finish(self, reply: Reply) -> None:
        """Send the answer and end."""
        if self.events_only and reply.status == 200 and not self._streaming:
            await self._open_stream()
        if self._streaming:
            await self._event(reply.body, more=False)
        else:
            await self._plain(reply)

    async def _plain(self, reply: Reply) -> None:
        body = b"" if reply.body is None else wire.write(reply.body)
        kind = _JSON if body else []
        length = [] if reply.status == 204 else [(b"content-length", str(len(body)).encode())]
        await self._start(reply.status, kind + length + reply.headers)
        await self._send({"type": "http.response.body", "body": b"" if self.without_body else body})

    async def _open_stream(self) -> None:
        if not self._streaming:
            self._streaming = True
            await self._start(200, _EVENTS)

    async def _start(self, status: int, headers: RawHeaders) -> None:
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": headers + self._headers})

    async def _event(self, message: Any, *, more: bool) -> None:
        frame = b"event: message\ndata: " + wire.write(message) + b"\n\n"
        await self._send({"type": "http.response.body", "body": frame, "more_body": more})
