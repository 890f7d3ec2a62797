"""`/app/vaults/{id}/approvals/{approval}`: whether a program may empty a vault; and whether anybody is asked that."""

from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from archivist.domain.approvals import checked
from archivist.domain.errors import InvalidArgument
from archivist.domain.ids import VaultId
from archivist.services.approvals import PAGE
from archivist.web import words
from archivist.web.frame import Frame, Visit
from archivist.web.pages import vault, vaults

OWN = f"{vaults.PATH}/{{id}}"
WORD = "delete"
"""What is typed to approve: what follows cannot be undone."""


def approval_routes(frame: Frame) -> list[Route]:
    """The page, what its forms post to, and the choice on the page of the vault."""
    one, back = f"{OWN}/approvals/{{approval}}", vaults.PATH
    return [
        frame.route(one, page),
        frame.act(f"{one}/approve", approve, back, proof="approve that everything in the vault is deleted"),
        frame.act(f"{one}/refuse", refuse, back),
        frame.act(f"{OWN}/approval", choose, back, proof="change when you are asked"),
    ]


async def page(visit: Visit) -> Response:
    """Shows what is asked, and by whom."""
    return await _shown(visit)


async def approve(visit: Visit) -> Response:
    """Lets the call through that asked, once the word is typed."""
    vault_id, id = _place(visit)
    if visit.form.one("word").strip().casefold() != WORD:
        return await _shown(visit, 400, errors={"word": words.MISTAKES["word"]})
    await visit.app.approvals.approve(visit.who, vault_id, id)
    return RedirectResponse(PAGE.format(vault=vault_id, id=id), 303)


async def refuse(visit: Visit) -> Response:
    """Ends the question; what was approved and not used yet is taken back."""
    vault_id, id = _place(visit)
    await visit.app.approvals.refuse(visit.who, vault_id, id)
    return RedirectResponse(f"{vaults.PATH}/{vault_id}", 303)


async def choose(visit: Visit) -> Response:
    """Switches the asking on or off."""
    vault_id = VaultId(visit.path("id"))
    try:
        wanted = checked(visit.form.one("approval"))
    except InvalidArgument as error:
        shown = await vault.rows(visit)
        mistake = {"approval": words.MISTAKES["approval"]}
        return visit.page("app/vault", error.status, **shown, link=None, errors=mistake)
    await visit.app.approvals.choose(visit.who, vault_id, wanted)
    return RedirectResponse(f"{vaults.PATH}/{vault_id}", 303)


async def _shown(visit: Visit, status: int = 200, **more: Any) -> Response:
    vault_id, id = _place(visit)
    question = await visit.app.approvals.shown(visit.who, vault_id, id)
    found = question.approval
    shown = {
        "id": found.id,
        "by": question.by,
        "through": question.through,
        "memories": question.memories,
        "asked": found.created,
        "expires": found.expires,
        "approved": found.approved,
    }
    about = {"id": question.vault.id, "name": question.vault.name, "kind": question.vault.kind}
    return visit.page("app/approval", status, vault=about, approval=shown, **more)


def _place(visit: Visit) -> tuple[VaultId, str]:
    return VaultId(visit.path("id")), visit.path("approval")
