"""The server as people run it: a process of its own, with its data, its keys and its log."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.programs import ARCHIVIST, SECONDS, environment
from tests.clients.visits import Local, Web

READY = "MCP address: "


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `log` grows while it runs."""

    url: str
    data: Path
    log: list[str]
    keys: dict[str, str] = field(default_factory=dict)

    def web(self) -> Web:
        """The way in over HTTP, with a key of its own."""
        command = [str(ARCHIVIST), "keys", "create", "--json", "--data", str(self.data)]
        env = environment(self.data.parent)
        made = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=SECONDS)
        key: dict[str, Any] = json.loads(made.stdout)
        self.keys[key["key"]] = key["id"]
        return Web(self.url, key["key"])

    def local(self) -> Local:
        """The way in over stdio, to the same memories."""
        return Local([str(ARCHIVIST), "stdio", "--data", str(self.data)])

    def methods(self, web: Web) -> list[str]:
        """The MCP methods that were asked for with this key so far, in their order, as the server logged them."""
        answered = [json.loads(line) for line in self.log if self.keys[web.key] in line]
        return [one["rpc"] for one in answered if one["method"] == "POST"]


@contextmanager
def running(data: Path, models: Path) -> Iterator[Server]:
    """A server on a free port while the block runs; then it is told to stop, and must end well."""
    data.mkdir(mode=0o700)
    (data / "archivist.toml").write_text(f'models = "{models}"\n')
    command = [str(ARCHIVIST), "serve", "--port", "0", "--data", str(data)]
    env = environment(data.parent)
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


def _read(process: "subprocess.Popen[str]", log: list[str], ready: threading.Event) -> None:
    """Keep every line; ready once the address is told, or nothing can come any more."""
    for line in process.stderr or ():
        log.append(line)
        if READY in line:
            ready.set()
    ready.set()
