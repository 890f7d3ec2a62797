"""`archivist stdio` as a process that is fed lines and read until it ends."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from tests.clients.programs import SECONDS, environment
from tests.clients.visits import Local

MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "lines", "version": "1"},
}


def modern(id: int | str, method: str, **params: Any) -> dict[str, Any]:
    """A request of the 2026-07-28 revision."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}


def legacy(id: int | str, method: str, **params: Any) -> dict[str, Any]:
    """A request of a revision with a handshake."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def initialize(id: int | str, version: str) -> dict[str, Any]:
    """The handshake."""
    client = {"name": "lines", "version": "1"}
    return legacy(id, "initialize", protocolVersion=version, capabilities={}, clientInfo=client)


async def raw(local: Local, home: Path, *lines: Any, **more: str) -> tuple[list[bytes], str]:
    """All lines are written at once, then the input ends. What came on standard output, by line, and on the other.

    Lines that are not bytes are written as JSON. The process must end by itself, and well.
    """
    written = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    with anyio.fail_after(SECONDS):
        done = await anyio.run_process(local.command, input=written, env=environment(home, **more), check=False)
    said = done.stderr.decode()
    assert done.returncode == 0, said
    return done.stdout.splitlines(), said


async def answers(local: Local, home: Path, *lines: Any) -> dict[Any, dict[str, Any]]:
    """The messages that came back, by id; each must be the only one of its id."""
    out, _ = await raw(local, home, *lines)
    return by_id(out)


def by_id(lines: Sequence[bytes]) -> dict[Any, dict[str, Any]]:
    """Messages by id; each must be the only one of its id."""
    messages = [json.loads(line) for line in lines]
    found = {message["id"]: message for message in messages}
    assert len(found) == len(messages)
    return found
