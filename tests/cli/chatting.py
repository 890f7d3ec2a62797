"""A small real chat server on loopback, which says what a test tells it to, in turn."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Said = str | int | bytes | Callable[[], str]
"""A model's words, a status, a raw body, or what makes the words once it is asked."""


def good(*numbers: int, text: str = "Ana decided on 2026-11-30 to restore the heron") -> str:
    """An answer as it should be, with five entries; of these memories, or of all."""
    sources = {"source_ids": [str(number) for number in numbers]} if numbers else {}
    entries = [{"text": f"{text}, entry {n}.", "importance": n, **sources} for n in range(1, 6)]
    return json.dumps({"entries": entries})


class ChatServer:
    """Says `answers` one after the other, the last one again and again; `asked` keeps bodies, headers and paths."""

    def __init__(self, *answers: Said) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def model(self) -> str:
        return f"{self.url}#llama"

    def hang(self) -> str:
        """Answers only when the test is over."""
        self.released.wait()
        return ""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self) -> tuple[int, bytes]:
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        said = said() if callable(said) else said
        if isinstance(said, int):
            return said, b'{"error": "teapot secrets"}'
        if isinstance(said, bytes):
            return 200, said
        return 200, json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]}).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                server.paths.append(self.path)
                status, body = server._answer()
                try:
                    self.send_response(status)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except ConnectionError:  # the client had enough
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Keeps the test's output clean."""

        return Handler
