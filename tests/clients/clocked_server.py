"""`archivist` with a clock that can be put forward, no names on its network, and a record of what it was asked:
`python -m tests.clients.clocked_server serve …`.

CLOCK names a file with the seconds that its clock is ahead; it is read whenever the time is asked for. WIRE names a
file that gets a line of JSON for each request once its answer begins: method, path, status, the kind of grant that was
asked for, and whether it carried a credential.
"""

import json
import os
import socket
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from archivist.app import build
from archivist.cli import serve
from archivist.cli.main import main
from archivist.domain.times import utc_now
from archivist.server import asgi

CLOCK, WIRE = Path(os.environ["CLOCK"]), Path(os.environ["WIRE"])


def now() -> datetime:
    """The time here."""
    return utc_now() + timedelta(seconds=int(CLOCK.read_text()))


def no_names(*_asked: object, **_more: object) -> NoReturn:
    """Nobody knows any address: metadata documents cannot be fetched, wherever the tests run."""
    raise OSError("there are no names here")


class Recorded:
    """Writes down each request on its way through."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()

        async def read() -> Message:
            message = await receive()
            body.extend(message.get("body", b""))
            return message

        async def written(message: Message) -> None:
            if message["type"] == "http.response.start":
                write_down(scope, message["status"], bytes(body))
            await send(message)

        await self.app(scope, read, written)


def write_down(scope: Scope, status: int, body: bytes) -> None:
    """Keeps a request, and never what it carried."""
    [grant] = parse_qs(body.decode()).get("grant_type", [""]) if scope["path"].endswith("/token") else [""]
    carried = any(name == b"authorization" for name, _ in scope["headers"])
    line = {"method": scope["method"], "path": scope["path"], "status": status, "grant": grant, "carried": carried}
    with WIRE.open("a") as lines:
        lines.write(f"{json.dumps(line)}\n")


def served(*given: Any) -> ASGIApp:
    """The application of `archivist serve`."""
    return Recorded(asgi(*given))


if __name__ == "__main__":
    serve.build, serve.asgi = partial(build, now=now), served
    socket.getaddrinfo = no_names
    main()
