"""Claude Code as a client, without a model.

`claude mcp add --scope user --transport http archivist URL --header "Authorization: Bearer KEY"`, or
`claude mcp add --scope user archivist -- COMMAND`, in a home of its own; `claude mcp list` then connects and says how
it went. Tools are called by `claude -p … --allowedTools mcp__archivist__TOOL` with ANTHROPIC_BASE_URL at a stand-in for
the Messages API, which makes the calls that a model would. A model is shown no tools of MCP servers at first: it finds
them by its `ToolSearch`, which orders them by name, and reads resources by two tools of Claude Code's own.

Without a header, `claude mcp login archivist` signs in, on a terminal alone; if there was a connection, it gives its
tokens back before it asks anew.

It discovers the server as of 2026-07-28; over stdio it sends the older handshake too, in the same process, if the
answer takes long. MCP_CONNECTION_NONBLOCKING=false and MCP_CONNECT_TIMEOUT_MS let it wait for the connection before the
first turn.
"""

import json
import shlex
from pathlib import Path

from tests.clients.messages_api import ScriptedModel
from tests.clients.programs import environment, installed, run
from tests.clients.visits import STATS, Call, Errand, Local, Signed, Target, Visit, Web
from tests.conformance.fixtures.serving import served

NAME = "archivist"
_PREFIX = f"mcp__{NAME}__"
_LOOKING: list[Call] = [
    ("ToolSearch", {"query": NAME, "max_results": 50}),
    ("ListMcpResourcesTool", {"server": NAME}),
    ("ReadMcpResourceTool", {"server": NAME, "uri": STATS}),
]
_CALM = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
_PATIENT = {"MCP_TIMEOUT": "100000", "MCP_CONNECT_TIMEOUT_MS": "100000", "MCP_CONNECTION_NONBLOCKING": "false"}


def quiet(home: Path, **more: str) -> dict[str, str]:
    """An environment in which Claude Code talks to the server alone, and has time for it."""
    return environment(home, **_CALM, **_PATIENT, **more)


async def configure(target: Target, home: Path) -> None:
    """Adds the target to the configuration of the person whose home this is, unless it is there, and signs in."""
    if (home / ".claude.json").exists():
        return
    add = [installed("claude"), "mcp", "add", "--scope", "user"]
    if isinstance(target, Local):
        await run([*add, NAME, "--", *target.command], quiet(home), home)
    elif isinstance(target, Web):
        header = f"Authorization: Bearer {target.key}"
        await run([*add, "--transport", "http", NAME, target.url, "--header", header], quiet(home), home)
    else:
        await run([*add, "--transport", "http", NAME, target.url], quiet(home), home)
        await sign_in(target, home)


async def sign_in(target: Signed, home: Path) -> str:
    """What `claude mcp login` shows on its terminal; it goes to no browser without one."""
    login = shlex.join([installed("claude"), "mcp", "login", NAME])
    env = target.environment(home, **_CALM, **_PATIENT)
    return await run(["script", "--quiet", "--return", "--command", login, "/dev/null"], env, home)


async def health(home: Path) -> str:
    """What `claude mcp list` says."""
    return await run([installed("claude"), "mcp", "list"], quiet(home), home)


async def claude_code(errand: Errand) -> Visit:
    home = errand.home
    await configure(errand.target, home)
    calls = [(_PREFIX + name, given) for name, given in errand.calls] + (_LOOKING if errand.look else [])
    model = ScriptedModel(calls)
    async with served(model.app) as url:
        env = quiet(home, ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="none")
        await run([installed("claude"), "-p", "Go.", "--allowedTools", ",".join(name for name, _ in calls)], env, home)
    answers = model.results[: len(errand.calls)]
    if not errand.look:
        return Visit("", answers)
    found, listed, read = model.results[len(answers) :]
    tools = [reference["tool_name"].removeprefix(_PREFIX) for reference in json.loads(found)]
    resources = [resource["uri"] for resource in json.loads(json.loads(listed))]
    return Visit("", answers, tools, resources, read)
