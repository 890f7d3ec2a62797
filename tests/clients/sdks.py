"""The official SDKs as clients.

Python: `mcp.client.client.Client` in this process, mode "auto" (2026-07-28) or "legacy" (2025-11-25), the key in the
headers of its HTTP client.

TypeScript: `node typescript/v1.mjs` (2025-11-25) and `node typescript/v2.mjs` (mode "auto" or "legacy"), the key in
`requestInit.headers`. mcp-remote: any stdio client that starts `mcp-remote URL --allow-http --header
'Authorization:${AUTH}'` with the bearer in the environment; here the Python one, of either era.
"""

import json
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

from tests.clients.programs import SECONDS, environment, installed, run
from tests.clients.visits import Call, Local, Target, Visit, Visitor, Web

Mode = Literal["auto", "legacy"]
SCRIPTS = Path(__file__).parent / "typescript"


def python(mode: Mode) -> Visitor:
    async def visit(target: Target, calls: Sequence[Call], home: Path) -> Visit:
        with anyio.fail_after(SECONDS):
            async with transport(target, home) as way, Client(way, mode=mode) as client:
                return await _seen(client, calls)

    return visit


def mcp_remote(mode: Mode) -> Visitor:
    async def visit(target: Target, calls: Sequence[Call], home: Path) -> Visit:
        assert isinstance(target, Web)
        command = [installed("mcp-remote"), target.url, "--allow-http", "--header", "Authorization:${AUTH}"]
        with anyio.fail_after(SECONDS):
            async with stdio(command, home, AUTH=f"Bearer {target.key}") as way, Client(way, mode=mode) as client:
                return await _seen(client, calls)

    return visit


def typescript(script: str, mode: Mode) -> Visitor:
    async def visit(target: Target, calls: Sequence[Call], home: Path) -> Visit:
        env = environment(home)
        at = {"command": target.command, "env": env} if isinstance(target, Local) else asdict(target)
        job = json.dumps({"target": at, "calls": calls, "mode": mode})
        seen: dict[str, Any] = json.loads(await run([installed("node"), str(SCRIPTS / script), job], env))
        read, answers = json.dumps(seen["read"]), [json.dumps(answer) for answer in seen["answers"]]
        return Visit(seen["revision"], seen["tools"], seen["resources"], read, answers)

    return visit


@asynccontextmanager
async def transport(target: Target, home: Path) -> AsyncIterator[Any]:
    """The Python SDK's way to the target."""
    if isinstance(target, Local):
        async with stdio(target.command, home) as way:
            yield way
        return
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {target.key}"}, timeout=SECONDS) as http:
        yield streamable_http_client(target.url, http_client=http)


@asynccontextmanager
async def stdio(command: Sequence[str], home: Path, **more: str) -> AsyncIterator[Any]:
    """The Python SDK's way to a command; what that writes to standard error lands in the home directory."""
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=environment(home, **more))
    with (home / "stderr").open("a") as stderr:
        yield stdio_client(parameters, errlog=stderr)


async def _seen(client: Client, calls: Sequence[Call]) -> Visit:
    tools = [tool.name for tool in (await client.list_tools()).tools]
    resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
    read = await client.read_resource(resources[0])
    answers = [await client.call_tool(name, arguments) for name, arguments in calls]
    texts = [answer.model_dump_json() for answer in answers]
    return Visit(client.protocol_version, tools, resources, read.model_dump_json(), texts)
