"""The MCP Inspector's command line as a client.

One process for each method: `mcp-inspector --cli --server-url URL --transport http --header "Authorization: Bearer KEY"
--protocol-era auto|legacy --method … --format json`, or, over stdio, `… --transport stdio -- COMMAND`. What one
process stores the next one must find, so each visit is several connections. Without a header it signs in, waits at
127.0.0.1:6276, and keeps what it got in its home.
"""

import json
from typing import Any, Literal

from tests.clients.programs import SECONDS, Ended, ended, installed
from tests.clients.visits import STATS, Errand, Local, Signed, Target, Visit, Visitor, surroundings

_OPENING = {"MCP_AUTO_OPEN_ENABLED": "true", "MCP_INSPECTOR_SECRET_STORE": "file"}
"""It opens a browser though there is no terminal, and keeps tokens though there is no keyring."""


def inspector(era: Literal["auto", "legacy"]) -> Visitor:
    async def visit(errand: Errand) -> Visit:
        async def tried(method: str, *more: str) -> Ended:
            command = [installed("mcp-inspector"), "--cli", "--protocol-era", era, "--method", method, *more]
            command += ["--connect-timeout", f"{SECONDS * 1000}", "--format", "json", *_way(errand.target)]
            return await ended(command, surroundings(errand.target, errand.home, **_OPENING))

        async def asked(method: str, *more: str) -> Any:
            done = await tried(method, *more)
            assert done.code == 0, done.told
            return json.loads(done.said)["result"]

        async def called(name: str, given: dict[str, Any]) -> str:
            done = await tried("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(given))
            return json.dumps(json.loads(done.said)["result"]) if done.code == 0 else done.told

        answers = [await called(name, given) for name, given in errand.calls]
        if not errand.look:
            return Visit("", answers)
        revision = (await asked("initialize"))["protocolVersion"]
        tools = [tool["name"] for tool in (await asked("tools/list"))["tools"]]
        resources = [resource["uri"] for resource in (await asked("resources/list"))["resources"]]
        read = json.dumps(await asked("resources/read", "--uri", STATS))
        return Visit(revision, answers, tools, resources, read)

    return visit


def _way(target: Target) -> list[str]:
    if isinstance(target, Local):
        return ["--transport", "stdio", "--", *target.command]
    way = ["--server-url", target.url, "--transport", "http"]
    return way if isinstance(target, Signed) else [*way, "--header", f"Authorization: Bearer {target.key}"]
