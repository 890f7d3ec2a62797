"""The pages of keys: a person's own ones, in every vault; making, renewing and ending them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from starlette.responses import RedirectResponse, Response

from archivist.domain.access import Scope, ordered
from archivist.domain.errors import InsufficientScope, InvalidArgument
from archivist.domain.ids import VaultId
from archivist.domain.keys import Key
from archivist.domain.toolsets import PATHS
from archivist.services.keys import Listed
from archivist.web import words
from archivist.web.frame import Visit
from archivist.web.mistakes import mistakes

PATH = "/app/keys"
LIVES: Mapping[str, tuple[timedelta | None, str]] = {
    "30": (timedelta(days=30), "30 days"),
    "90": (timedelta(days=90), "90 days"),
    "365": (timedelta(days=365), "a year"),
    "never": (None, "as long as I let it"),
}
"""How long a key may work: what the form sends, and what that means."""

_AT_FIRST = {"expires": "90", "scope": [Scope.READ.value]}


async def rows(visit: Visit) -> Mapping[str, Any]:
    """All of them, oldest first, without the keys themselves."""
    names = {vault.id: vault.name for vault in await visit.app.vaults.list(visit.who)}
    return {"keys": [_listed(one, names) for one in await visit.app.keys.list(visit.who)]}


async def page(visit: Visit) -> Response:
    """Shows them, and the form to make one."""
    return await _page(visit)


async def make(visit: Visit) -> Response:
    """Makes one, and shows it once."""
    form = visit.form
    values = {name: form.one(name) for name in ("name", "vault", "expires")} | {"scope": list(form.all("scope"))}
    found = await visit.app.vaults.list(visit.who)
    vault = next((one for one in found if one.id == values["vault"]), None)
    scopes = frozenset(scope for scope in Scope if scope.value in values["scope"])
    if vault is None:
        return await _page(visit, 400, values, {"vault": words.MISTAKES["vault"]})
    if not scopes:
        return await _page(visit, 400, values, {"scope": words.MISTAKES["key_nothing"]})
    if values["expires"] not in LIVES:
        return await _page(visit, 400, values, {"expires": words.MISTAKES["expires"]})
    life, _ = LIVES[str(values["expires"])]
    expires = None if life is None else visit.app.keys.now() + life
    who = replace(visit.who, vault=vault.id)
    try:
        key, made = await visit.app.keys.create(who, name=str(values["name"]), scopes=scopes, expires=expires)
    except InsufficientScope as error:
        return await _page(visit, error.status, values, {"scope": words.MISTAKES["scope"]})
    except InvalidArgument as error:
        return await _page(visit, error.status, values, mistakes(error))
    return await _made(visit, key, made, rotated=False)


async def rotate(visit: Visit) -> Response:
    """Makes the successor of one, and shows it once."""
    key, made = await visit.app.keys.rotate(visit.who, visit.path("id"))
    return await _made(visit, key, made, rotated=True)


async def revoke(visit: Visit) -> Response:
    """Ends one."""
    await visit.app.keys.revoke(visit.who, visit.path("id"))
    return RedirectResponse(PATH, 303)


async def _page(
    visit: Visit,
    status: int = 200,
    values: Mapping[str, Any] = _AT_FIRST,
    errors: Mapping[str, str] | None = None,
) -> Response:
    roles = await visit.app.vaults.roles(visit.who)
    found = await visit.app.vaults.list(visit.who)
    return visit.page(
        "app/keys",
        status,
        **await rows(visit),
        vaults=[{"id": vault.id, "name": vault.name, "role": roles[vault.id]} for vault in found if vault.id in roles],
        expiries=[(value, text) for value, (_, text) in LIVES.items()],
        values=values,
        errors=errors or {},
    )


async def _made(visit: Visit, key: Key, made: str, *, rotated: bool) -> Response:
    names = {vault.id: vault.name for vault in await visit.app.vaults.list(visit.who)}
    address = f"{visit.settings.origin}{PATHS['vault']}"
    shown = _listed(Listed(key, None), names)
    return visit.page("app/key-made", key=shown, secret=made, rotated=rotated, address=address)


def _listed(one: Listed, names: Mapping[VaultId, str]) -> Mapping[str, Any]:
    key, seen = one.key, one.seen
    return {
        "id": key.id,
        "name": key.name,
        "kind": key.kind,
        "start": key.start,
        "vault": names.get(key.vault, "") if key.kind != "account" else "",
        "vault_id": key.vault if key.vault in names else None,
        "scopes": [scope.value for scope in ordered(key.scopes)],
        "created": key.created,
        "expires": key.expires,
        "first_used": seen.first if seen else None,
        "last_used": seen.last if seen else None,
        "revoked": key.revoked,
    }
