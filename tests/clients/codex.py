"""Codex as a client, without a model.

`codex mcp add archivist --url URL --bearer-token-env-var MEMORY_KEY`, or `codex mcp add archivist -- COMMAND`, writes
its configuration; without a variable for the key it signs in at once. Then `codex app-server` takes JSON-RPC on
standard input: `initialize`, `initialized`, `thread/start`, `mcpServer/tool/call`, `mcpServerStatus/list` and
`mcpServer/resource/read`. It shakes hands as of 2025-06-18, keeps tools in a map without order, and starts a stdio
server once for the thread, once for the status.
"""

import json
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.clients.programs import SECONDS, installed, run
from tests.clients.visits import STATS, Errand, Local, Signed, Target, Visit, Web, surroundings

NAME = "archivist"
_LINE = 16 * 1024 * 1024
"""Bytes that one message of the app server may have."""


async def configure(target: Target, home: Path) -> dict[str, str]:
    """Adds the target to Codex's configuration, unless it is there; the environment in which Codex knows it.

    Codex signs in at once where a server wants it.
    """
    settled = home / ".codex"
    settled.mkdir(exist_ok=True)
    env = surroundings(target, home, CODEX_HOME=str(settled))
    if isinstance(target, Web):
        env = {**env, "MEMORY_KEY": target.key}
    if not (settled / "config.toml").exists():
        await run([installed("codex"), "mcp", "add", NAME, *_way(target)], env)
    return env


def _way(target: Target) -> list[str]:
    if isinstance(target, Local):
        return ["--", *target.command]
    keyed = ["--bearer-token-env-var", "MEMORY_KEY"] if isinstance(target, Web) else []
    return ["--url", target.url, *keyed]


async def sign_in(target: Signed, home: Path, *scopes: str) -> None:
    """Signs in once more, asking for these rights: Codex does so only if its person tells it to."""
    env = target.environment(home, CODEX_HOME=str(home / ".codex"))
    await run([installed("codex"), "mcp", "login", NAME, "--scopes", ",".join(scopes)], env)


async def codex(errand: Errand) -> Visit:
    env = await configure(errand.target, errand.home)
    patient = ["-c", f"mcp_servers.{NAME}.startup_timeout_sec={SECONDS}"]
    command = [installed("codex"), "app-server", *patient]
    with anyio.fail_after(SECONDS):
        async with await anyio.open_process(command, env=env, cwd=errand.home, stderr=None) as process:
            server = AppServer(process)
            await server.ask("initialize", clientInfo={"name": "tests", "version": "1"})
            await server.tell("initialized")
            visit = await _seen(server, errand)
            await server.leave()
    return visit


async def _seen(server: "AppServer", errand: Errand) -> Visit:
    thread = (await server.ask("thread/start"))["thread"]["id"]
    place = {"threadId": thread, "server": NAME}
    answers = [
        json.dumps(await server.answer("mcpServer/tool/call", **place, tool=name, arguments=given))
        for name, given in errand.calls
    ]
    if not errand.look:
        return Visit("", answers)
    [status] = (await server.ask("mcpServerStatus/list"))["data"]
    resources = [resource["uri"] for resource in status["resources"]]
    read = json.dumps(await server.ask("mcpServer/resource/read", **place, uri=STATS))
    return Visit("", answers, list(status["tools"]), resources, read)


class AppServer:
    """A conversation with `codex app-server`: one JSON message a line."""

    def __init__(self, process: Process) -> None:
        assert process.stdin
        assert process.stdout
        self._process, self._to, self._from = process, process.stdin, BufferedByteReceiveStream(process.stdout)
        self._asked = 0

    async def ask(self, method: str, **params: Any) -> Any:
        """The result of a request that cannot fail."""
        message = await self._answer(method, params)
        assert "result" in message, message
        return message["result"]

    async def answer(self, method: str, **params: Any) -> Any:
        """The result of a request, or the error instead."""
        message = await self._answer(method, params)
        return message.get("result", message.get("error"))

    async def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The message that answers a request; notifications on the way are passed over."""
        self._asked += 1
        await self._send({"id": self._asked, "method": method, "params": params})
        while True:
            message: dict[str, Any] = json.loads(await self._from.receive_until(b"\n", _LINE))
            if message.get("id") == self._asked:
                return message

    async def tell(self, method: str) -> None:
        """Send a notification."""
        await self._send({"method": method})

    async def leave(self) -> None:
        """End the conversation, and with it the process."""
        await self._to.aclose()
        await self._process.wait()

    async def _send(self, message: dict[str, Any]) -> None:
        await self._to.send(json.dumps(message).encode() + b"\n")
