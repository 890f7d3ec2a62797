"""What an entry serves: the SDK's registry of handlers, and what each request needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from archivist.domain.access import Scope
from archivist.mcp.era import SERVED
from archivist.mcp.rpc import Message


@dataclass(frozen=True, slots=True)
class Registry:
    """A set of tools, resources and prompts, ready to be served over HTTP or stdio.

    needs: the scope that a request needs before it may be carried out; None if it is free to every caller, who then
    touches no memories either.
    """

    server: Server[Any]
    needs: Callable[[Message], Scope | None]

    def __post_init__(self) -> None:
        """Every revision that we serve is announced; the SDK would name only the latest."""
        self.server.add_request_handler("server/discover", types.RequestParams, self._discover)

    def serves(self, method: str) -> bool:
        """Whether there is such a method, in any revision."""
        return method == "initialize" or self.server.get_request_handler(method) is not None

    async def _discover(
        self, ctx: ServerRequestContext[Any, Any], _params: types.RequestParams | None
    ) -> types.DiscoverResult:
        return types.DiscoverResult(
            supported_versions=list(SERVED),
            capabilities=self.server.get_capabilities(protocol_version=ctx.protocol_version),
            instructions=self.server.instructions,
        )
