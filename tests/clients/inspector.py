"""The MCP Inspector's command line as a client.

One process for each method: `mcp-inspector --cli --server-url URL --transport http --header "Authorization: Bearer KEY"
--protocol-era auto|legacy --method … --format json -q`, or, over stdio, `… --transport stdio -- COMMAND`. What one
process stores the next one must find, so each visit is several connections.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tests.clients.programs import environment, installed, run
from tests.clients.visits import STATS, Call, Local, Target, Visit, Visitor


def inspector(era: Literal["auto", "legacy"]) -> Visitor:
    async def visit(target: Target, calls: Sequence[Call], home: Path) -> Visit:
        async def asked(method: str, *more: str) -> Any:
            command = [installed("mcp-inspector"), "--cli", "--protocol-era", era, "--method", method, *more]
            printed = await run([*command, "--format", "json", "-q", *_way(target)], environment(home))
            return json.loads(printed)["result"]

        revision = (await asked("initialize"))["protocolVersion"]
        tools = [tool["name"] for tool in (await asked("tools/list"))["tools"]]
        resources = [resource["uri"] for resource in (await asked("resources/list"))["resources"]]
        read = json.dumps(await asked("resources/read", "--uri", STATS))
        answers = [
            json.dumps(await asked("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments)))
            for name, arguments in calls
        ]
        return Visit(revision, tools, resources, read, answers)

    return visit


def _way(target: Target) -> list[str]:
    if isinstance(target, Local):
        return ["--transport", "stdio", "--", *target.command]
    return ["--server-url", target.url, "--transport", "http", "--header", f"Authorization: Bearer {target.key}"]
