"""A small real embedding server on loopback, which does what a test tells it to."""

import hashlib
import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import numpy as np


@dataclass(frozen=True, slots=True)
class Reply:
    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: Any


Behaviour = Callable[[list[str]], Reply]


def vectors(texts: list[str], dimension: int = 1_000) -> list[list[float]]:
    """A count for each word, so texts are alike as far as they share words, and not of unit length."""
    rows = np.zeros((len(texts), dimension))
    for row, text in zip(rows, texts, strict=True):
        for word in text.split():
            row[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % dimension] += 1
    return [row.tolist() for row in rows]


def items(rows: list[Any]) -> list[dict[str, Any]]:
    return [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]


def reply(data: object) -> Reply:
    return Reply(json.dumps({"object": "list", "data": data, "model": "m"}).encode())


def honest(texts: list[str]) -> Reply:
    return reply(items(vectors(texts)))


class StandIn:
    """`behaviour` answers, and may be replaced at any time; `asked` keeps what came in."""

    def __init__(self, port: int = 0, certificate: Path | None = None) -> None:
        self.behaviour: Behaviour = honest
        self.asked: list[Asked] = []
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.port: int = self._server.server_address[1]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            listening = self._server.socket
            self._server.socket = context.wrap_socket(listening, server_side=True, do_handshake_on_connect=False)
        self.address = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def hang(self, _texts: list[str]) -> Reply:
        """Answers only when the test is over."""
        self.released.wait()
        return Reply(b"")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                stand_in.asked.append(Asked(self.path, headers, body))
                answer = stand_in.behaviour(body["input"])
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer.body)))
                self.end_headers()
                try:
                    self.wfile.write(answer.body)
                except ConnectionError:  # the client had enough
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Keeps the test's output clean."""

        return Handler
