"""Callers of tools: over HTTP with a key, and over the stdio of a local process. Usable from any thread."""

import itertools
import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import httpx2

from tests.e2e.processes import Place
from tests.faces.mcp.talking import modern
from tests.waiting import SECONDS

Call = Callable[..., dict[str, Any]]
"""`call(tool, **arguments)`: the structured result of a tool."""

SELECTED, EVERYTHING = "DELETE SELECTED MEMORIES", "DELETE ALL MEMORIES"


class Refusal(Exception):
    """A tool or the entry answered with an error."""

    def __init__(self, said: Any) -> None:
        super().__init__(json.dumps(said))
        self.code: str = said.get("code", "") if isinstance(said, Mapping) else ""


@contextmanager
def over_http(origin: str, key: str) -> Iterator[Call]:
    with httpx2.Client(base_url=origin, headers={"authorization": f"Bearer {key}"}, timeout=SECONDS) as http:

        def call(tool: str, **arguments: Any) -> dict[str, Any]:
            body, headers = modern("tools/call", name=tool, arguments=arguments)
            answer = http.post("/mcp", json=body, headers={"accept": "application/json", **headers})
            if answer.status_code != 200:
                raise Refusal({"status": answer.status_code, "text": answer.text})
            return _result(answer.json())

        yield call


@contextmanager
def over_stdio(place: Place, scopes: str = "read,write,delete") -> Iterator[Call]:
    started = place.start("stdio", "--scopes", scopes, pipes=True)
    conversation = _Conversation(started.process)
    listening = threading.Thread(target=conversation.listen, name="stdio")
    listening.start()
    try:
        yield conversation.call
    finally:
        assert started.process.stdin is not None
        started.process.stdin.close()
        code = started.wait()
        listening.join(SECONDS)
        started.kill()
    assert code == 0, started.everything()


@dataclass(frozen=True, slots=True)
class _Conversation:
    process: "subprocess.Popen[str]"
    _waiting: dict[int, "SimpleQueue[Any]"] = field(default_factory=dict)
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answers: SimpleQueue[Any] = SimpleQueue()
        id = next(self._ids)
        self._waiting[id] = answers
        message, _ = modern("tools/call", id, name=tool, arguments=arguments)
        assert self.process.stdin is not None
        with self._writing:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        return _result(answers.get(timeout=SECONDS))

    def listen(self) -> None:
        for line in self.process.stdout or ():
            message = json.loads(line)
            self._waiting.pop(message["id"]).put(message)


def _result(message: dict[str, Any]) -> dict[str, Any]:
    if "error" in message:
        raise Refusal(message["error"])
    result = message["result"]
    if result.get("isError"):
        raise Refusal(result["structuredContent"]["error"])
    found: dict[str, Any] = result["structuredContent"]
    return found
