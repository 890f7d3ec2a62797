"""The tool that tells how the vault stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from archivist.domain.times import iso_or_none
from archivist.mcp.arguments import Arguments, Schema
from archivist.mcp.call import Call
from archivist.mcp.tool import Outcome, Tool, output
from archivist.mcp.tools.reflections import debt

if TYPE_CHECKING:  # the services pull in the database and numpy; the catalogue answers before they are there
    from archivist.services.status import Status

_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}


class NoArguments(Arguments):
    """What `memory_status` takes: nothing."""


async def _memory_status(call: Call, _given: NoArguments) -> Outcome:
    return Outcome(view(await call.app.status.of(call.who)))


def view(status: Status) -> dict[str, Any]:
    """The state of a vault as callers see it."""
    return {
        "connected": True,
        "vaultRef": status.vault_ref,
        "vaultKind": status.vault_kind,
        "storage": status.storage,
        "totalMemories": status.memories,
        "totalTokens": status.tokens,
        "archivedMemories": status.archived,
        "tiers": {str(tier): count for tier, count in sorted(status.tiers.items())},
        "oldest": iso_or_none(status.oldest),
        "newest": iso_or_none(status.newest),
        "grantedScopes": list(status.scopes),
        "search": {"state": status.embedder, "detail": status.embedder_reason, "pending": status.pending},
        "mirror": status.mirror.state,
        **({} if status.mirror.entries is None else {"mirror_lag": status.mirror.entries}),
        "erasing": status.erasing,
        "reflection": debt(status.reflection),
    }


MEMORY_STATUS = Tool(
    name="memory_status",
    title="Check memory status",
    description=(
        "Whether memory is connected, what the vault holds and what this connection may do. Use it when a search finds "
        "nothing, or when the user asks."
    ),
    arguments=NoArguments,
    output=output(
        {
            "connected": {"type": "boolean"},
            "vaultRef": _TEXT,
            "storage": _TEXT,
            "totalMemories": _WHOLE,
            "totalTokens": _WHOLE,
            "grantedScopes": {"type": "array", "items": _TEXT},
            "reflection": {"type": "object"},
        },
        "connected",
        "vaultRef",
        "storage",
        "totalMemories",
        "totalTokens",
        "grantedScopes",
    ),
    run=_memory_status,
    reads=True,
)
