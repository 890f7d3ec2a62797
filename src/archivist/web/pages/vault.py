"""The page of one vault: who is in it, with which role, and who is invited."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import RedirectResponse, Response

from archivist.domain.errors import Conflict, InvalidArgument
from archivist.domain.ids import UserId, VaultId
from archivist.domain.links import LIFE
from archivist.domain.roles import ROLES, checked_role, may_manage
from archivist.web import links, words
from archivist.web.frame import Visit
from archivist.web.pages import vaults


async def rows(visit: Visit) -> Mapping[str, Any]:
    """The vault, its members, and the invitations and questions that the person who looks may decide about."""
    id = _vault(visit)
    held = await visit.app.vaults.held(visit.who, id)
    return {
        "vault": await vaults.view(visit, held),
        "mine": held.role,
        "members": await _members(visit, id),
        "invitations": [
            {"id": one.id, "role": one.role, "by": one.by, "expires": one.expires}
            for one in await visit.app.members.invitations(visit.who, id)
        ],
        "waiting": [
            {"id": one.id, "approved": one.approved is not None, "expires": one.expires}
            for one in await visit.app.approvals.pending(visit.who, id)
        ],
        "roles": [role for role in ROLES if may_manage(held.role, role)] if held.vault.kind != "personal" else [],
    }


async def page(visit: Visit) -> Response:
    """Shows it."""
    return visit.page("app/vault", **await rows(visit), link=None)


async def invite(visit: Visit) -> Response:
    """Makes a link by which one person joins, and shows it once."""
    id = _vault(visit)
    try:
        role = checked_role(visit.form.one("role"))
    except InvalidArgument as error:
        return await _refused(visit, error.status, "role")
    made = await visit.app.members.invite(visit.who, id, role)
    shown = await rows(visit)
    link = {
        "url": links.address(visit.settings, "invitation", made),
        "purpose": "invitation",
        "name": shown["vault"]["name"],
        "role": role,
        "expires": visit.app.members.now() + LIFE["invitation"],
    }
    return visit.page("app/vault", **shown, link=link)


async def withdraw(visit: Visit) -> Response:
    """Takes an invitation back."""
    await visit.app.members.withdraw(visit.who, _vault(visit), visit.path("invitation"))
    return _back(visit)


async def set_role(visit: Visit) -> Response:
    """Gives somebody another role."""
    try:
        role = checked_role(visit.form.one("role"))
        await visit.app.members.set_role(visit.who, _vault(visit), _member(visit), role)
    except InvalidArgument as error:
        return await _refused(visit, error.status, "role")
    except Conflict as error:
        return await _refused(visit, error.status, "last_owner")
    return _back(visit)


async def remove(visit: Visit) -> Response:
    """Takes somebody out."""
    return await _out(visit, _member(visit))


async def leave(visit: Visit) -> Response:
    """Takes the person who asks out."""
    return await _out(visit, visit.who.user)


async def _out(visit: Visit, member: UserId) -> Response:
    try:
        await visit.app.members.remove(visit.who, _vault(visit), member)
    except Conflict as error:
        return await _refused(visit, error.status, "last_owner")
    return RedirectResponse(vaults.PATH, 303) if member == visit.who.user else _back(visit)


async def _refused(visit: Visit, status: int, mistake: str) -> Response:
    """The page as it is, with what was wrong."""
    shown = await rows(visit)
    return visit.page("app/vault", status, **shown, link=None, errors={"form": words.MISTAKES[mistake]})


async def _members(visit: Visit, id: VaultId) -> Sequence[Mapping[str, Any]]:
    found = await visit.app.members.list(visit.who, id)
    owners = [one.member.user for one in found if one.member.role == "owner"]
    return [
        {
            "id": one.member.user,
            "name": one.name,
            "role": one.member.role,
            "joined": one.member.created,
            "last_owner": owners == [one.member.user],
            "me": one.member.user == visit.who.user,
        }
        for one in found
    ]


def _vault(visit: Visit) -> VaultId:
    return VaultId(visit.path("id"))


def _member(visit: Visit) -> UserId:
    return UserId(visit.path("member"))


def _back(visit: Visit) -> Response:
    return RedirectResponse(f"{vaults.PATH}/{_vault(visit)}", 303)
