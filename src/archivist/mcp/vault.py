"""The registries of the two faces: tools, resources and instructions on the SDK's server, and what each call needs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from archivist import __version__
from archivist.domain.access import Scope
from archivist.domain.errors import ArchivistError
from archivist.domain.operations import SCOPES
from archivist.domain.toolsets import Toolset
from archivist.http import wire
from archivist.mcp import resources, rpc, toolsets
from archivist.mcp.asking import round_of
from archivist.mcp.call import Call
from archivist.mcp.registry import Registry
from archivist.mcp.resources import Resource
from archivist.mcp.rpc import Message
from archivist.mcp.tool import Tool

Context = ServerRequestContext[Call, Any]

_INSTRUCTIONS = Path(__file__).parent / "instructions"
_CATALOGUE = CacheHint(3_600_000, "public")
_CONTENTS = CacheHint(10_000, "private")
"""Milliseconds. The catalogue is the same for every caller and changes with releases; contents are the caller's."""
_COMPLETE = {"resultType": "complete"}
_HINTS: Any = {
    "server/discover": _CATALOGUE,
    "tools/list": _CATALOGUE,
    "resources/list": _CATALOGUE,
    "resources/templates/list": _CATALOGUE,
    "resources/read": _CONTENTS,
    "prompts/list": _CATALOGUE,
}


def registry(toolset: Toolset = "vault") -> Registry:
    """The tools and resources of one set, ready to be served. Neither set ever shows the other's."""
    handlers = Handlers(toolsets.TOOLS[toolset], resources.RESOURCES[toolset])
    server = VaultServer(
        "archivist",
        version=__version__,
        title="Archivist",
        instructions=(_INSTRUCTIONS / f"{toolset}.md").read_text(encoding="utf-8").strip(),
        cache_hints=_HINTS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    server.middleware[:] = [handlers.stamp_security]
    return Registry(server, handlers.needs)


class VaultServer(Server[Call]):
    """The SDK's server, without a deep copy of three words for every result."""

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """Who answers, as every result of the modern revision says."""
        return {"name": self.name, "title": self.title, "version": self.version}


class Handlers:
    """What the SDK calls. The lists are made once, so they are the same bytes for everybody."""

    def __init__(self, tools: Sequence[Tool], readable: Sequence[Resource]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._resources = {resource.uri: resource for resource in readable}
        self._listed_tools = [tool.listed() for tool in tools]
        self._listed_resources = [resource.listed() for resource in readable]

    def needs(self, message: Message) -> Scope | None:
        """The scope of the tool or resource that a request names."""
        known: Any = {"tools/call": self._tools, "resources/read": self._resources}.get(message.method, ())
        name = rpc.name_of(message)
        return SCOPES[name] if name in known else None

    async def list_tools(self, _ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        _only_page(params)
        return {**_COMPLETE, "tools": self._listed_tools}

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(rpc.INVALID_PARAMS, "name: there is no tool of this name; tools/list shows those there are")
        call = replace(ctx.lifespan_context, round=round_of(ctx.protocol_version, ctx.params, params))
        return {**_COMPLETE, **await tool.result(call, params.arguments or {})}

    async def list_resources(self, _ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        _only_page(params)
        return {**_COMPLETE, "resources": self._listed_resources}

    async def list_templates(self, _ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        _only_page(params)
        return {**_COMPLETE, "resourceTemplates": []}

    async def list_prompts(self, _ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        """There are none, but many clients ask every server and report a missing method as a fault."""
        _only_page(params)
        return {**_COMPLETE, "prompts": []}

    async def get_prompt(self, _ctx: Context, _params: types.GetPromptRequestParams) -> Any:
        """Whoever announces prompts must answer this too."""
        raise MCPError(rpc.INVALID_PARAMS, "name: there is no prompt of this name")

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        resource = self._resources.get(uri)
        if resource is None:
            raise MCPError(rpc.INVALID_PARAMS, "uri: there is no such resource", {"uri": uri})
        try:
            text = wire.write(await resource.read(ctx.lifespan_context)).decode()
        except ArchivistError as exc:
            raise MCPError(exc.status, exc.detail) from None
        return {**_COMPLETE, "contents": [{"uri": uri, "mimeType": "application/json", "text": text}]}

    async def stamp_security(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Put `securitySchemes` where clients look: the SDK drops what the protocol's schema does not know."""
        result = await call_next(ctx)
        if ctx.method == "tools/list" and isinstance(result, dict):
            tools = [{**tool, "securitySchemes": self._tools[tool["name"]].security()} for tool in result["tools"]]
            return {**result, "tools": tools}
        return result


def _only_page(params: types.PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor:
        raise MCPError(rpc.INVALID_PARAMS, "cursor: this list has one page; leave the cursor out")
