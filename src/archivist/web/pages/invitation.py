"""`/invitation/{link}`: an account of one's own, or a vault of somebody else's, or both."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from archivist.domain.errors import ArchivistError, NotFound
from archivist.http.forms import Form
from archivist.services.accounts import Invitation
from archivist.web import browser
from archivist.web.browser import Browser
from archivist.web.door import door
from archivist.web.frame import Frame
from archivist.web.mistakes import mistakes, new_password
from archivist.web.pages.arriving import arrived
from archivist.web.rendering import page

SIGNING_IN = "sign-in"
_NOBODY = "Whoever runs this server"


def invitation_routes(frame: Frame) -> list[Route]:
    """The page behind the links that administrators of the server and owners of vaults make."""
    return [frame.open("/invitation/{link}", partial(_invitation, frame), ("GET", "POST"))]


async def _invitation(frame: Frame, request: Request, at: Browser) -> Response:
    if not at.signed and (at.half is not None or SIGNING_IN in request.query_params):
        return await door(frame.app, frame.site, frame.settings, request, at)
    link = request.path_params["link"]
    form = await browser.posted(at, frame.site, request) if request.method == "POST" else None
    try:
        invitation = await frame.app.accounts.invitation(link)
        if form is None:
            return _shown(frame, at, invitation)
        return await _decided(frame, at, link, invitation, form)
    except NotFound:
        return frame.error(at, 404, reason="link")


async def _decided(frame: Frame, at: Browser, link: str, invitation: Invitation, form: Form) -> Response:
    """What the button means that was pressed; each of them leads to the page again if it cannot be."""
    app, decision, here = frame.app, form.one("decision"), f"/invitation/{link}"
    try:
        if decision == "sign-in":
            return RedirectResponse(f"{here}?{SIGNING_IN}", 303)
        if decision == "another-account" and at.who is not None and at.session is not None:
            await app.sign_in.sign_out(at.who, at.session)
            return browser.leave(RedirectResponse(f"{here}?{SIGNING_IN}", 303))
        if _may_join_as_themselves(at, invitation) and at.who is not None:
            taken_up = await app.accounts.accept(at.who, link)
            return RedirectResponse(f"/app/vaults/{taken_up.into_vault}", 303)
        user = await app.accounts.join(link, form.one("name"), new_password(form))
    except NotFound:
        raise
    except ArchivistError as error:
        values = {"name": form.one("name")}
        return _shown(frame, at, invitation, error.status, errors=mistakes(error), values=values)
    return await arrived(app, at, user)


def _may_join_as_themselves(at: Browser, invitation: Invitation) -> bool:
    """Somebody who is signed in joins a vault; an account that an invitation makes is always another one."""
    return at.signed and invitation.vault is not None and invitation.user is None


def _shown(frame: Frame, at: Browser, invitation: Invitation, status: int = 200, **more: Any) -> Response:
    me = {"name": at.user.name} if at.user is not None and _may_join_as_themselves(at, invitation) else None
    now, shown = frame.app.connections.now(), _view(invitation)
    return at.remember(page("invitation", status, csrf=at.csrf, now=now, invitation=shown, me=me, **more))


def _view(invitation: Invitation) -> Mapping[str, Any]:
    vault = invitation.vault
    return {
        "vault": vault.name if vault else None,
        "kind": vault.kind if vault else None,
        "role": invitation.link.role or None,
        "by": invitation.maker or _NOBODY,
        "expires": invitation.link.expires,
        "person": invitation.user.name if invitation.user else None,
    }
