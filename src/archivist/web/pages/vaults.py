"""The page of a person's vaults, and making one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import RedirectResponse, Response

from archivist.domain.access import Scope
from archivist.domain.errors import ArchivistError, Conflict, InvalidArgument
from archivist.domain.vaults import KINDS, Kind
from archivist.services.vaults import Held
from archivist.web import words
from archivist.web.door import sentence
from archivist.web.frame import Visit

PATH = "/app/vaults"


async def rows(visit: Visit) -> Mapping[str, Any]:
    """All of them, oldest first."""
    found = [await visit.app.vaults.held(visit.who, vault.id) for vault in await visit.app.vaults.list(visit.who)]
    return {"vaults": [await view(visit, held) for held in found]}


async def page(visit: Visit) -> Response:
    """Shows them, and the form to make one."""
    return visit.page("app/vaults", **await rows(visit))


async def make(visit: Visit) -> Response:
    """Makes one."""
    values = {name: visit.form.one(name) for name in ("name", "kind")}
    try:
        await visit.app.vaults.create(visit.who, values["name"], _kind(values["kind"]))
    except Conflict as error:
        return await _again(visit, error, values, {"name": words.MISTAKES["vault_taken"]})
    except InvalidArgument as error:
        field = "name" if error.field == "name" else "form"
        return await _again(visit, error, values, {field: sentence(error)})
    return RedirectResponse(PATH, 303)


async def view(visit: Visit, held: Held) -> Mapping[str, Any]:
    """One vault. Its membership was looked up: only then may its memories be counted."""
    return {
        "id": held.vault.id,
        "name": held.vault.name,
        "kind": held.vault.kind,
        "role": held.role,
        "members": held.members,
        "memories": await _memories(visit, held),
        "last_used": held.used,
        "approval": held.vault.approval,
    }


async def _memories(visit: Visit, held: Held) -> int:
    looking = replace(visit.who, vault=held.vault.id, scopes=frozenset({Scope.READ}))
    try:
        return (await visit.app.status.of(looking)).memories
    except ArchivistError:  # a damaged vault must not keep anybody from the others
        return 0


async def _again(visit: Visit, error: ArchivistError, values: Mapping[str, str], errors: Mapping[str, str]) -> Response:
    return visit.page("app/vaults", error.status, **await rows(visit), values=values, errors=errors)


def _kind(word: str) -> Kind:
    for kind in KINDS:
        if kind == word:
            return kind
    raise InvalidArgument("kind", f"must be one of {', '.join(KINDS)}")
