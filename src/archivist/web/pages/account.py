"""`/app/account`: one's name, one's password, and the browsers that are signed in."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from archivist.domain.errors import ArchivistError, RateLimited, Unauthenticated
from archivist.domain.sessions import Session
from archivist.web import browser
from archivist.web.agents import readable
from archivist.web.frame import Frame, Visit
from archivist.web.mistakes import mistakes, new_password

ACCOUNT = "/app/account"
_CHANGED = {"kind": "good", "text": "The password is changed, and every other browser is signed out."}


def account_page_routes(frame: Frame) -> list[Route]:
    """The page, and what its forms post to."""
    return [
        frame.route(ACCOUNT, shown),
        frame.act(f"{ACCOUNT}/name", _rename, ACCOUNT),
        frame.act(f"{ACCOUNT}/password", _change_password, ACCOUNT),
        frame.act("/app/sessions/end-others", _end_others, ACCOUNT, proof="sign out every other browser"),
        frame.act("/app/sessions/{session}/end", _end, ACCOUNT, proof="sign out another browser"),
    ]


async def shown(visit: Visit, status: int = 200, **more: Any) -> Response:
    """The page, perhaps with what was wrong."""
    found = await visit.app.sign_in.list(visit.who)
    sessions = [_view(one, visit.session) for one in sorted(found, key=lambda one: one.id != visit.session.id)]
    codes_left = await visit.app.factors.codes_left(visit.who)
    two_factor = {"on": bool(visit.user.factor), "since": None, "codes_left": codes_left}
    outside = await _outside(visit)
    return visit.page("app/account", status, two_factor=two_factor, sessions=sessions, outside=outside, **more)


async def _rename(visit: Visit) -> Response:
    name = visit.form.one("name")
    try:
        await visit.app.accounts.rename(visit.who, name)
    except ArchivistError as error:
        return await shown(visit, error.status, errors=mistakes(error), values={"name": name})
    return RedirectResponse(ACCOUNT, 303)


async def _change_password(visit: Visit) -> Response:
    """The present password is the proof here, with a code if there is a second factor: nothing is carried on."""
    app, present = visit.app, visit.form.one("current")
    try:
        chosen = new_password(visit.form)
        await app.accounts.require_good(visit.who, chosen)
        entered = await app.sign_in.confirm(visit.who, visit.session, visit.at.visitor, present, visit.form.one("code"))
    except RateLimited:
        raise
    except Unauthenticated as error:
        field = "form" if visit.user.factor else "current"
        return await shown(visit, error.status, errors={field: mistakes(error)["form"]})
    except ArchivistError as error:
        return await shown(visit, error.status, errors=mistakes(error))
    renewed = await visit.renewed(entered)
    await app.accounts.change_password(renewed.who, present, chosen)
    return browser.enter(await shown(renewed, notice=_CHANGED), entered)


async def _end(visit: Visit) -> Response:
    await visit.app.sign_in.end(visit.who, visit.path("session"))
    return RedirectResponse(ACCOUNT, 303)


async def _end_others(visit: Visit) -> Response:
    await visit.app.sign_in.end_others(visit.who)
    return RedirectResponse(ACCOUNT, 303)


async def _outside(visit: Visit) -> Mapping[str, Any] | None:
    """How the account stands with the operator's provider, if there is one."""
    if not visit.settings.provider:
        return None
    name = visit.settings.provider_name or visit.settings.provider
    return {"provider": name, "linked": await visit.app.outside.linked(visit.who), "since": None}


def _view(session: Session, present: Session) -> Mapping[str, Any]:
    return {
        "id": session.id,
        "browser": readable(session.agent),
        "started": session.created,
        "last_used": session.used,
        "current": session.id == present.id,
    }
