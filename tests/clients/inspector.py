"""The MCP Inspector's command line as a client.

One process for each method: `mcp-inspector --cli --server-url URL --transport http --header "Authorization: Bearer KEY"
--protocol-era auto|legacy --method … --format json`, or, over stdio, `… --transport stdio -- COMMAND`. What one
process stores the next one must find, so each visit is several connections.
"""

import json
from typing import Any, Literal

from tests.clients.programs import SECONDS, environment, installed, run
from tests.clients.visits import STATS, Errand, Local, Target, Visit, Visitor


def inspector(era: Literal["auto", "legacy"]) -> Visitor:
    async def visit(errand: Errand) -> Visit:
        async def asked(method: str, *more: str) -> Any:
            command = [installed("mcp-inspector"), "--cli", "--protocol-era", era, "--method", method, *more]
            command += ["--connect-timeout", f"{SECONDS * 1000}", "--format", "json", *_way(errand.target)]
            return json.loads(await run(command, environment(errand.home)))["result"]

        answers = [
            json.dumps(await asked("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(given)))
            for name, given in errand.calls
        ]
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
    return ["--server-url", target.url, "--transport", "http", "--header", f"Authorization: Bearer {target.key}"]
