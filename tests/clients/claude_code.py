"""Claude Code as a client, without a model.

`claude mcp add --scope user --transport http archivist URL --header "Authorization: Bearer KEY"`, or `claude mcp add --scope
user archivist -- COMMAND`, in a home of its own; `claude mcp list` then connects and says how it went. Tools are called by
`claude -p … --allowedTools mcp__archivist__TOOL` with ANTHROPIC_BASE_URL at a stand-in for the Messages API, which makes
the calls that a model would. Its first event tells which tools it knows, in the order of the alphabet.

It discovers the server as of 2026-07-28; over stdio it sends the older handshake too, in the same process, if the answer
takes long. MCP_CONNECTION_NONBLOCKING=false lets it wait for the connection before the first turn.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.clients.messages_api import ScriptedModel
from tests.clients.programs import environment, installed, run
from tests.clients.visits import STATS, Call, Local, Target, Visit
from tests.conformance.fixtures.serving import served

NAME = "archivist"
_PREFIX = f"mcp__{NAME}__"
_READING: list[Call] = [
    ("ListMcpResourcesTool", {"server": NAME}),
    ("ReadMcpResourceTool", {"server": NAME, "uri": STATS}),
]


def quiet(home: Path, **more: str) -> dict[str, str]:
    """An environment in which Claude Code talks to the server alone, and has time for it."""
    calm = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "MCP_TIMEOUT": "60000"}
    return environment(home, **calm, **more)


async def configure(target: Target, home: Path) -> None:
    """Adds the target to the configuration of the person whose home this is."""
    add = [installed("claude"), "mcp", "add", "--scope", "user"]
    if isinstance(target, Local):
        await run([*add, NAME, "--", *target.command], quiet(home), home)
    else:
        header = f"Authorization: Bearer {target.key}"
        await run([*add, "--transport", "http", NAME, target.url, "--header", header], quiet(home), home)


async def health(home: Path) -> str:
    """What `claude mcp list` says."""
    return await run([installed("claude"), "mcp", "list"], quiet(home), home)


async def claude_code(target: Target, calls: Sequence[Call], home: Path) -> Visit:
    await configure(target, home)
    model = ScriptedModel([*_READING, *[(_PREFIX + name, arguments) for name, arguments in calls]])
    async with served(model.app) as url:
        env = quiet(home, ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="none", MCP_CONNECTION_NONBLOCKING="false")
        allowed = ",".join([name for name, _ in _READING] + [_PREFIX + name for name, _ in calls])
        command = [installed("claude"), "-p", "Go.", "--allowedTools", allowed]
        printed = await run([*command, "--output-format", "stream-json", "--verbose"], env, home)
    begun: dict[str, Any] = json.loads(printed.partition("\n")[0])
    tools = [name.removeprefix(_PREFIX) for name in begun["tools"] if name.startswith(_PREFIX)]
    listed, read, *answers = model.results
    resources = [resource["uri"] for resource in json.loads(json.loads(listed))]
    return Visit("", tools, resources, read, answers)
