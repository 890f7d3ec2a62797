"""Talking to an entry in process: messages of both eras, and a client that posts them."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.types import ASGIApp

from archivist.domain.access import Principal, Scope
from archivist.domain.errors import Unauthenticated
from archivist.http.site import Site
from archivist.mcp.entry import Access, Entry
from archivist.mcp.registry import Registry
from archivist.mcp.rpc import name_of
from archivist.server import Door
from tests.builders import a_principal
from tests.conformance.fixtures.registry import registry

HERE = "http://127.0.0.1:8765"
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
NEEDS = {
    "test_simple_text": Scope.READ,
    "test_tool_with_progress": Scope.WRITE,
    "test_image_content": Scope.DELETE,
    "test://static-text": Scope.READ,
}
KEYS = {
    "all": a_principal(),
    "read": a_principal(Scope.READ),
    "write": a_principal(Scope.WRITE),
    "none": replace(a_principal(), scopes=frozenset()),
}


async def authenticate(key: str) -> Principal:
    """Knows the keys above."""
    if key not in KEYS:
        raise Unauthenticated("this key is not valid")
    return KEYS[key]


def fixtures() -> Registry:
    """The conformance fixtures, of which some need a scope."""
    return replace(registry(), needs=lambda message: NEEDS.get(name_of(message)))


def door(site: Site | None = None, log: Callable[[Access], None] | None = None, served: Registry | None = None) -> Door:
    """An entry over the fixtures, at both spellings of its path."""
    site = site or Site()
    entry = Entry(served or fixtures(), site, authenticate, lambda who: who, log)
    return Door(site, {"/mcp": entry, "/mcp/": entry}, Starlette())


def client(app: ASGIApp, key: str | None = "all") -> httpx2.AsyncClient:
    """A client of that application, connected to a loopback port."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=HERE, headers=headers)


def modern(method: str, id: int | str = 1, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """A request of the 2026-07-28 revision: body and headers."""
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META | params.get("_meta", {})}}
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    name = params.get("uri") if method == "resources/read" else params.get("name")
    return body, headers | ({"mcp-name": str(name)} if name is not None else {})


def legacy(method: str, version: str | None = "2025-11-25", id: int | str = 1, **params: Any) -> Any:
    """A request of an older revision: body and headers."""
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return body, {"mcp-protocol-version": version} if version else {}


async def post(
    http: httpx2.AsyncClient, request: tuple[Any, dict[str, str]], path: str = "/mcp", **headers: str
) -> httpx2.Response:
    """Post a message; names of further headers are written with `_` for `-`."""
    body, own = request
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    fixed = {"accept": "application/json", "content-type": "application/json"}
    return await http.post(path, content=json.dumps(body), headers={**fixed, **own, **more})
