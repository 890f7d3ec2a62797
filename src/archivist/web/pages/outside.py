"""`/sign-in/outside`, its callback, and linking on the account page: signing in through the operator's provider."""

from datetime import timedelta

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from archivist.domain.errors import ArchivistError, NotFound
from archivist.http import forms
from archivist.http.forms import Malformed
from archivist.web import browser
from archivist.web.browser import Browser
from archivist.web.door import COMING_BACK
from archivist.web.frame import HOME, Frame, Visit
from archivist.web.pages.account import ACCOUNT
from archivist.web.rendering import page

_HOUR = timedelta(hours=1)


def outside_routes(frame: Frame) -> list[Route]:
    """None of them is there without a provider."""
    if not frame.settings.provider:
        return []
    pages = _Outside(frame)
    return [
        Route("/sign-in/outside", pages.leave, methods=["POST"]),
        Route("/sign-in/outside/callback", pages.come_back, methods=["GET"]),
        frame.route("/app/outside/link", _link, ["POST"], proof="link this account"),
        frame.route("/app/outside/unlink", _unlink, ["POST"], proof="unlink this account"),
    ]


class _Outside:
    """The two steps of somebody who is not signed in yet, or who links their account."""

    def __init__(self, frame: Frame) -> None:
        self._app, self._site = frame.app, frame.site

    async def leave(self, request: Request) -> Response:
        """To the provider; where to go afterwards was sealed by the page that this form stood on."""
        at = await browser.browser(self._app, self._site, request)
        try:
            form = await browser.posted(at, self._site, request)
            leaving = await self._app.outside.leave(None, at.visit, self._path(at, form.one("coming_back")))
        except (browser.Forged, Malformed):
            return _failed(403, "stale")
        except ArchivistError:
            return _failed(503, "outside")
        return browser.hold(RedirectResponse(leaving.address, 303), leaving.sealed)

    async def come_back(self, request: Request) -> Response:
        """From the provider, in the browser that left."""
        at = await browser.browser(self._app, self._site, request)
        try:
            given = forms.fields_of(request.scope["query_string"].decode("latin-1"))
            state, code = (given.get(name, [""])[0] for name in ("state", "code"))
            who = at.who if at.signed else None
            mark = at.who.credential_id if who and at.who else at.visit
            returned = await self._app.outside.returned(who, mark, at.outside, state, code)
            if who is not None:
                await self._app.outside.link(who, returned.outsider)
                return browser.let_go(RedirectResponse(ACCOUNT, 303))
            user = await self._app.outside.known(returned.outsider)
            entered = await self._app.sign_in.outside(user, at.visitor)
        except (ArchivistError, Malformed):
            return browser.let_go(_failed(403, "outside"))
        return browser.let_go(browser.enter(RedirectResponse(returned.path, 303), entered))

    def _path(self, at: Browser, sealed: str) -> str:
        """What the sign-in page of this browser stood in front of; else the first page."""
        try:
            visit, path = self._app.keyring.open(COMING_BACK, sealed, _HOUR)
        except NotFound:
            return HOME
        return str(path) if visit == at.visit else HOME


async def _link(visit: Visit) -> Response:
    leaving = await visit.app.outside.leave(visit.who, visit.who.credential_id, ACCOUNT)
    return browser.hold(RedirectResponse(leaving.address, 303), leaving.sealed)


async def _unlink(visit: Visit) -> Response:
    await visit.app.outside.unlink(visit.who)
    return RedirectResponse(ACCOUNT, 303)


def _failed(status: int, reason: str) -> Response:
    return page("error", status, me=None, reason=reason, retry_after=None)
