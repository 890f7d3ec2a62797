"""The pages of connections: the apps that a person has let in, what each of them did, and its end."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import RedirectResponse, Response

from archivist.domain.access import ordered
from archivist.domain.ids import VaultId
from archivist.domain.toolsets import PATHS
from archivist.services.connections import Connection
from archivist.web import words
from archivist.web.frame import HOME, Visit
from archivist.web.pages import entries


async def rows(visit: Visit) -> Mapping[str, Any]:
    """All of them, the last allowed first."""
    return {"connections": await _views(visit, await visit.app.connections.list(visit.who))}


async def one(visit: Visit) -> Mapping[str, Any]:
    """One of them, with what was done through it lately, and how often."""
    id = visit.path("id")
    found = await visit.app.connections.find(visit.who, id)
    doings = await visit.app.trail.of_connection(visit.who, found.grant.vault, id)
    [connection] = await _views(visit, [found])
    place = {connection["vault_id"]: connection["vault"]}
    named = entries.Names(users={visit.user.id: visit.user.name}, credentials={id: connection["app"]}, vaults=place)
    return {
        "connection": connection,
        "activity": [named.entry(act) for act in doings.acts],
        "sums": named.sums(doings),
    }


async def list_page(visit: Visit) -> Response:
    """Shows all, and where one more would connect."""
    return visit.page("app/connections", **await rows(visit), address=f"{visit.settings.origin}{PATHS['vault']}")


async def page(visit: Visit) -> Response:
    """Shows one."""
    return visit.page("app/connection", **await one(visit))


async def revoke(visit: Visit) -> Response:
    """Ends one."""
    await visit.app.connections.end(visit.who, visit.path("id"))
    return RedirectResponse(HOME, 303)


async def _views(visit: Visit, found: Sequence[Connection]) -> Sequence[Mapping[str, Any]]:
    names = {vault.id: vault.name for vault in await visit.app.vaults.list(visit.who)}
    return [_view(connection, names) for connection in found]


def _view(connection: Connection, names: Mapping[VaultId, str]) -> Mapping[str, Any]:
    grant, seen = connection.grant, connection.seen
    return {
        "id": grant.id,
        "app": grant.client_name or words.NAMELESS_APP,
        "host": grant.host,
        "tools": PATHS[grant.toolset],
        "vault": names.get(grant.vault, ""),
        "vault_id": grant.vault if grant.vault in names else None,
        "scopes": [scope.value for scope in ordered(grant.scopes)],
        "created": grant.created,
        "first_used": seen.first if seen else None,
        "last_used": seen.last if seen else None,
        "ended": grant.ended,
        "why": grant.reason or None,
    }
