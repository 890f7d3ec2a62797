"""The page of activity: a person's own acts; of a vault, for its admins and owners; of the server, for administrators.

Who reads what others did leaves a line there.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from archivist.domain.ids import VaultId
from archivist.http.forms import Form, fields_of
from archivist.services.trail import Doings, Page
from archivist.web import words
from archivist.web.frame import Visit
from archivist.web.pages.entries import Names

PATH = "/app/activity"
SERVER = "server"
"""Stands where the id of a vault stands, for what belongs to none."""

_FARTHEST = 9
"""Digits of the number that the first entry of a page has."""


async def rows(visit: Visit) -> Mapping[str, Any]:
    """One page of entries, newest first, and on the first page of a vault how often its apps and keys did what.

    The query says which: `vault`, and `before`, with which the page before ended.
    """
    asked = _asked(visit)
    vault, before = asked.one("vault"), asked.one("before") or None
    found, names, counts = await _found(visit, vault, before)
    return {
        "entries": [names.entry(act) for act in found.entries],
        "sums": names.sums(counts),
        "older": found.older,
    }


async def page(visit: Visit) -> Response:
    """Shows it, with a form to choose."""
    asked, shown = _asked(visit), await rows(visit)
    vault = asked.one("vault")
    first = _number(asked.one("first")) if asked.one("before") else 1
    last = first + len(shown["entries"]) - 1
    older = {"before": shown["older"], "first": str(last + 1)} if shown["older"] else None
    pager = {
        "first": first,
        "last": last,
        "total": None,
        "newer": _link(vault) if asked.one("before") else None,
        "older": _link(vault, **older) if older else None,
    }
    return visit.page(
        "app/activity",
        entries=shown["entries"],
        sums=shown["sums"],
        vaults=await _choices(visit),
        vault=vault or None,
        pager=pager,
    )


async def _found(visit: Visit, vault: str, before: str | None) -> tuple[Page, Names, Doings]:
    trail, who = visit.app.trail, visit.who
    me, nothing = {visit.user.id: visit.user.name}, Doings([], [])
    if not vault:
        return await trail.mine(who, before=before), Names(users=me, credentials={}, vaults={}), nothing
    if vault == SERVER:
        found = await trail.of_server(who, before=before)
        everybody = {user.id: user.name for user in await visit.app.accounts.list(who)}
        return found, Names(users=everybody, credentials={}, vaults={}), nothing
    id = VaultId(vault)
    found = await trail.of_vault(who, id, before=before)
    counts = nothing if before else Doings([], await trail.reads(who, id))
    held = await visit.app.vaults.held(who, id)
    members = {one.member.user: one.name for one in await visit.app.members.list(who, id)}
    names = Names(users=members, credentials=await trail.names(who, id), vaults={id: held.vault.name})
    return found, names, counts


async def _choices(visit: Visit) -> Sequence[Mapping[str, str]]:
    """What this person may look at beside their own acts."""
    roles = await visit.app.vaults.roles(visit.who)
    found = await visit.app.vaults.list(visit.who)
    open_ = [{"id": one.id, "name": one.name} for one in found if roles.get(one.id) in ("admin", "owner")]
    return [{"id": SERVER, "name": words.SERVER}, *open_] if visit.who.administrator else open_


def _asked(visit: Visit) -> Form:
    return Form(fields_of(visit.request.scope["query_string"].decode("latin-1")))


def _number(text: str) -> int:
    """A number that only counts what is shown; whatever else stands there is taken for the first."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _FARTHEST else 1


def _link(vault: str, **more: str) -> str:
    query = urlencode({**({"vault": vault} if vault else {}), **more})
    return f"{PATH}?{query}" if query else PATH
