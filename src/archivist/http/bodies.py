"""Request bodies, counted while they arrive."""

from starlette.types import Receive

_UTF_8 = frozenset({"", "charset=utf-8", 'charset="utf-8"', "charset=utf8"})


class TooLarge(ValueError):
    """The body passes the limit. What was read of it is thrown away."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the body must be at most {limit} bytes")


class Gone(Exception):
    """The client went away before it had sent everything."""


def is_json(content_type: str | None) -> bool:
    """Whether a body says that it is JSON, in the one encoding that JSON has here."""
    kind, _, parameters = (content_type or "").partition(";")
    return kind.strip().lower() == "application/json" and parameters.replace(" ", "").lower().rstrip(";") in _UTF_8


async def read(receive: Receive, declared: str | None, limit: int) -> bytes:
    """The whole body; `declared` is its Content-Length, if there is one.

    Raises:
        TooLarge: declared longer than `limit` bytes, or found so while reading; no more than that is ever held.
        Gone: the client hung up.
    """
    if declared is not None and (not declared.isdecimal() or int(declared[:20]) > limit):
        raise TooLarge(limit)
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise TooLarge(limit)
        chunks.append(chunk)
        more = message.get("more_body", False)
    return b"".join(chunks)
