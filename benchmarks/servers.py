"""Programs under measurement, each in a process of its own: how to start one, and how much processor time it took."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ARCHIVIST = (sys.executable, "-m", "archivist")
MODERN = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "benchmarks", "version": "1"},
}
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)")
_START_SECONDS = 60.0
_ANSWER_SECONDS = 600.0


def environment(cache: Path) -> dict[str, str]:
    """What programs are started with: the prepared model of this checkout, and no settings of the caller."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ARCHIVIST_")}
    return inherited | {"ARCHIVIST_MODELS": str(cache / "models")}


@contextmanager
def started(command: Sequence[str], log: Path, cache: Path) -> Iterator[tuple[int, int]]:
    """The process and the port of a server that tells its address in what it prints to `log`."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment(cache), stdout=output, stderr=output)
    try:
        yield process.pid, _port(process, log)
    finally:
        process.terminate()
        process.wait()


def _port(process: "subprocess.Popen[bytes]", log: Path) -> int:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if told := _ADDRESS.search(log.read_bytes()):
            return int(told[1])
        time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} did not start; see {log}")


def new_key(data: Path, cache: Path, *vault: str) -> str:
    """A key that may read and write the vault of that name, or the personal one."""
    where = ["--data", str(data), *(word for name in vault for word in ("--vault", name))]
    command = [*ARCHIVIST, "keys", "create", *where]
    return subprocess.run(command, env=environment(cache), capture_output=True, text=True, check=True).stdout.strip()


def processor_seconds(pid: int) -> float:
    """Processor time that a living process has taken, all its threads together, to the nanosecond."""
    return time.clock_gettime(~pid << 3 | 2)  # the number that clock_getcpuclockid(3) gives for another process


def resident_megabytes(pid: int) -> float:
    """Memory of a process that is in RAM now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def tool_call(name: str, arguments: Mapping[str, Any], number: int = 1) -> dict[str, Any]:
    """A request of the latest revision."""
    return request("tools/call", {"name": name, "arguments": arguments}, number)


def request(method: str, params: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Any other request of the latest revision."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": _META}}


class Connection:
    """One HTTP/1.1 connection that is kept open. It does as little as it can, for it shares the machine."""

    def __init__(self, port: int, key: str = "") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host, self._key = f"127.0.0.1:{port}", key

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_error: object) -> None:
        self._socket.close()

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a tool."""
        answer = json.loads(self.exchange(self.spelled(tool, arguments)))
        found: dict[str, Any] = answer["result"]["structuredContent"]
        if "error" in found:
            raise RuntimeError(found["error"]["message"])
        return found

    def spelled(self, tool: str, arguments: Mapping[str, Any]) -> bytes:
        """A call of a tool as it goes over the wire."""
        body = json.dumps(tool_call(tool, arguments)).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {self._host}\r\nAuthorization: Bearer {self._key}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def plain(self, path: str) -> bytes:
        """A GET as it goes over the wire."""
        return f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\nAccept: application/json\r\n\r\n".encode()

    def exchange(self, message: bytes) -> bytes:
        """Send a request and wait for the body of its answer, which must be a success."""
        self._socket.sendall(message)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._more()
        head, _, body = received.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"{head.decode()}\n{body.decode()}")
        length = int(re.search(rb"content-length: (\d+)", head.lower())[1])  # type: ignore[index]  # both servers send it
        while len(body) < length:
            body += self._more()
        return body

    def _more(self) -> bytes:
        received = self._socket.recv(1 << 20)
        if not received:
            raise RuntimeError("the server hung up")
        return received


def wait_until_ready(connection: Connection) -> None:
    """Return once the model of a server answers."""
    deadline = time.monotonic() + _ANSWER_SECONDS
    while connection.call("memory_status")["search"]["state"] != "ready":
        if time.monotonic() > deadline:
            raise RuntimeError("the model did not get ready")
        time.sleep(0.1)
