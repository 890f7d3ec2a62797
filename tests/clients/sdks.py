"""The official SDKs as clients.

Python: `mcp.client.client.Client` in this process, mode "auto" (2026-07-28) or "legacy" (2025-11-25), the key in the
headers of its HTTP client.

TypeScript: `node typescript/v1.mjs` (2025-11-25) and `node typescript/v2.mjs` (mode "auto" or "legacy"), the key in
`requestInit.headers`. mcp-remote: any stdio client that starts `mcp-remote URL --allow-http --header
'Authorization:${AUTH}'` with the bearer in the environment; here the Python one, of either era.
"""

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.clients.programs import ROOT, SECONDS, environment, installed, run
from tests.clients.signed_python import entered
from tests.clients.visits import Errand, Local, Signed, Visit, Visitor, Web, surroundings

Mode = Literal["auto", "legacy"]
SCRIPTS = Path(__file__).parent / "typescript"


def python(mode: Mode) -> Visitor:
    async def visit(errand: Errand) -> Visit:
        with anyio.fail_after(SECONDS):
            async with transport(errand) as way, Client(way, mode=mode) as client:
                return await _seen(client, errand)

    return visit


def mcp_remote(mode: Mode) -> Visitor:
    async def visit(errand: Errand) -> Visit:
        web = errand.target
        assert not isinstance(web, Local)
        command, env = [installed("mcp-remote"), web.url, "--allow-http"], surroundings(web, errand.home)
        if isinstance(web, Web):
            command, env = [*command, "--header", "Authorization:${AUTH}"], {**env, "AUTH": f"Bearer {web.key}"}
        with anyio.fail_after(SECONDS):
            async with stdio(command, errand.home, env) as way, Client(way, mode=mode) as client:
                return await _seen(client, errand)

    return visit


def typescript(script: str, mode: Mode) -> Visitor:
    async def visit(errand: Errand) -> Visit:
        command = [installed("node"), str(SCRIPTS / script)]
        return await _told(command, errand, mode=mode)

    return visit


async def fastmcp(errand: Errand) -> Visit:
    return await _told([sys.executable, "-m", "tests.clients.fastmcp_visit"], errand, later=errand.later)


async def _told(command: Sequence[str], errand: Errand, **more: Any) -> Visit:
    """What a program of ours saw that makes one visit and prints it."""
    home = str(errand.home)
    job = {"target": asdict(errand.target), "calls": errand.calls, "look": errand.look, "home": home, **more}
    said = await run([*command, json.dumps(job)], surroundings(errand.target, errand.home), ROOT)
    seen: dict[str, Any] = json.loads(said)
    answers, read = [json.dumps(answer) for answer in seen["answers"]], json.dumps(seen["read"])
    return Visit(seen["revision"], answers, seen["tools"], seen["resources"], read)


@asynccontextmanager
async def transport(errand: Errand) -> AsyncIterator[Any]:
    """The Python SDK's way to the target."""
    target, home = errand.target, errand.home
    if isinstance(target, Local):
        async with stdio(target.command, home, environment(home)) as way:
            yield way
    elif isinstance(target, Signed):
        async with entered(errand, target) as http:
            yield streamable_http_client(target.url, http_client=http)
    else:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {target.key}"}, timeout=SECONDS) as http:
            yield streamable_http_client(target.url, http_client=http)


@asynccontextmanager
async def stdio(command: Sequence[str], home: Path, env: dict[str, str]) -> AsyncIterator[Any]:
    """The Python SDK's way to a command; what that writes to standard error lands in the home directory."""
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=env)
    with (home / "stderr").open("a") as stderr:
        yield stdio_client(parameters, errlog=stderr)


async def _seen(client: Client, errand: Errand) -> Visit:
    revision = client.protocol_version
    answers = [await _answer(client, name, given) for name, given in errand.calls]
    if not errand.look:
        return Visit(revision, answers)
    tools = [tool.name for tool in (await client.list_tools()).tools]
    resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
    read = (await client.read_resource(resources[0])).model_dump_json()
    return Visit(revision, answers, tools, resources, read)


async def _answer(client: Client, name: str, given: dict[str, Any]) -> str:
    """The result, or what the client says instead of one."""
    try:
        return (await client.call_tool(name, given)).model_dump_json()
    except MCPError as error:
        return f"MCPError: {error}"
