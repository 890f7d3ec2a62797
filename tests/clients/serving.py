"""The server as people run it: a process of its own, with its data, its keys and its log."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.people import settle
from tests.clients.programs import ARCHIVIST, ROOT, SECONDS, environment
from tests.clients.visits import Local, Web

READY = "MCP address: "


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `log` grows while it runs."""

    url: str
    data: Path
    log: list[str]
    keys: dict[str, str] = field(default_factory=dict)

    def web(self, *words: str) -> Web:
        """The way in over HTTP, with a key of its own, made with these words."""
        key: dict[str, Any] = json.loads(self.said("keys", "create", "--json", *words))
        self.keys[key["key"]] = key["id"]
        return Web(self.url, key["key"])

    def said(self, *words: str) -> str:
        """What a command on the same data prints."""
        command, env = [str(ARCHIVIST), *words, "--data", str(self.data)], environment(self.data.parent)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=SECONDS)
        return done.stdout

    def local(self) -> Local:
        """The way in over stdio, to the same memories."""
        return Local([str(ARCHIVIST), "stdio", "--data", str(self.data)])

    def methods(self, web: Web) -> list[str]:
        """The MCP methods that were asked for with this key so far, in their order, as the server logged them."""
        return [one["rpc"] for one in self.uses(self.keys[web.key]) if one["method"] == "POST"]

    def uses(self, id: str) -> list[dict[str, Any]]:
        """What was asked for with this key or connection so far."""
        return [json.loads(line) for line in self.log if id in line]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it was answered. grant: what kind of grant the token endpoint was asked for."""

    method: str
    path: str
    status: int
    grant: str
    carried: bool


@contextmanager
def running(data: Path, settings: str, *, program: Sequence[str] = (str(ARCHIVIST),), **more: str) -> Iterator[Server]:
    """A server on a free port while the block runs; then it is told to stop, and must end well.

    It has one account, that of `people`. settings: the lines of its file. program: what stands in for `archivist`;
    more: of its environment.
    """
    data.mkdir(mode=0o700)
    (data / "archivist.toml").write_text(settings)
    asyncio.run(settle(data))
    command = [*program, "serve", "--port", "0", "--data", str(data)]
    env = environment(data.parent, **more)
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        log: list[str] = []
        ready = threading.Event()
        reader = threading.Thread(target=_read, args=(process, log, ready))
        reader.start()
        try:
            assert ready.wait(SECONDS), log
            address = next((line for line in log if READY in line), None)
            assert address, log
            yield Server(address.partition(READY)[2].strip(), data, log)
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(SECONDS)
            process.kill()  # nothing, if it has ended
            reader.join()
    assert process.returncode == 0, log


@dataclass(frozen=True, slots=True)
class Clocked:
    """A running server whose clock can be put forward, in the folder of its data."""

    server: Server
    folder: Path

    def put_forward(self, seconds: int) -> None:
        """From the next request on it is so much later."""
        clock, new = self.folder / "clock", self.folder / "clock.new"
        new.write_text(str(int(clock.read_text()) + seconds))
        new.replace(clock)  # at once, for it may be read at any time

    def wire(self) -> list[Asked]:
        """What it was asked so far, in the order of the answers."""
        lines = (self.folder / "wire").read_text().splitlines()
        return [Asked(**json.loads(line)) for line in lines]


@contextmanager
def clocked(folder: Path, settings: str = 'embedder = "none"\n') -> Iterator[Clocked]:
    """The same as `running`, by `clocked_server`; left to us, it searches by words alone."""
    (folder / "clock").write_text("0")
    (folder / "wire").touch()
    program = [sys.executable, "-m", "tests.clients.clocked_server"]
    more = {"CLOCK": str(folder / "clock"), "WIRE": str(folder / "wire"), "PYTHONPATH": str(ROOT)}
    with running(folder / "data", settings, program=program, **more) as server:
        yield Clocked(server, folder)


def _read(process: "subprocess.Popen[str]", log: list[str], ready: threading.Event) -> None:
    """Keep every line; ready once the address is told, or nothing can come any more."""
    for line in process.stderr or ():
        log.append(line)
        if READY in line:
            ready.set()
    ready.set()
