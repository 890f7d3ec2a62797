"""HTTP/1.1 with heads of bounded size: uvicorn's fast parser has no limit of its own."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 32 * 1024
"""Request line and headers; ours need about one kilobyte."""

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedHeads(HttpToolsProtocol):
    """Answers 431 and hangs up once the head of a request is longer than HEAD_BYTES."""

    _pending = 0  # bytes received since a head began that has not ended yet
    _in_head = False

    def on_message_begin(self) -> None:
        self._in_head, self._pending = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._pending += len(data)
        if self._pending > HEAD_BYTES:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
