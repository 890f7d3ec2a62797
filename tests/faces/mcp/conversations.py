"""A person's assistant: a connection with a key, and calls of tools over the modern revision."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
from starlette.types import ASGIApp

from archivist.app import OWNER, App
from archivist.domain.access import ALL_SCOPES, Scope
from tests.faces.mcp.talking import client, modern, post


@dataclass(frozen=True, slots=True)
class Person:
    """One connection. `call` and `read` give results; `structured` what programs read of them."""

    http: httpx2.AsyncClient

    @staticmethod
    @asynccontextmanager
    async def connected(app: App, server: ASGIApp, *scopes: Scope, vault: str = "") -> AsyncIterator[Person]:
        if vault and vault not in [one.name for one in await app.vaults.list(OWNER)]:
            await app.vaults.create(OWNER, vault, "project")
        owner = replace(await app.local(vault or None), scopes=ALL_SCOPES)
        _, key = await app.keys.create(owner, name="test", scopes=frozenset(scopes))
        async with client(server, key=key) as http:
            yield Person(http)

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool, errors of tools included."""
        answer = await post(self.http, modern("tools/call", name=tool, arguments=arguments))
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    async def structured(self, tool: str, **arguments: Any) -> Any:
        """What a tool that works answers to programs."""
        result = await self.call(tool, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    async def error(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool that refuses answers."""
        result = await self.call(tool, **arguments)
        assert result["isError"], result
        found: dict[str, Any] = result["structuredContent"]["error"]
        assert result["content"][0]["text"] == f"{found['code']}: {found['message']}"
        return found

    async def store(self, text: str, **more: Any) -> Any:
        """Store a memory."""
        return await self.structured("store_memory", content=text, **more)

    async def ids(self, query: str) -> list[str]:
        """The ids that a search finds."""
        return [row["id"] for row in (await self.structured("search_memories", query=query, limit=500))["results"]]

    async def total(self) -> int:
        """How many memories the vault holds."""
        found: int = (await self.structured("memory_status"))["totalMemories"]
        return found
