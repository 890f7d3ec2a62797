"""`/`, `/sign-in`, `/sign-out` and `/app`: coming in, going out, and where each of them leads."""

from contextlib import suppress
from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from archivist.domain.errors import NotFound
from archivist.web import browser
from archivist.web.browser import Browser
from archivist.web.door import door
from archivist.web.frame import HOME, Frame, Visit

SIGN_IN = "/sign-in"


def sign_in_routes(frame: Frame) -> list[Route]:
    """The ways in and out."""
    return [
        frame.open("/", _first),
        frame.open(SIGN_IN, partial(_sign_in, frame), ("GET", "POST")),
        frame.open("/sign-out", partial(_sign_out, frame), ("GET", "POST")),
        frame.route("/app", _home),
    ]


async def _first(_request: Request, at: Browser) -> Response:
    return RedirectResponse(HOME if at.signed else SIGN_IN, 303)


async def _home(_visit: Visit) -> Response:
    return RedirectResponse(HOME, 303)


async def _sign_in(frame: Frame, request: Request, at: Browser) -> Response:
    if at.signed:
        return RedirectResponse(HOME, 303)
    return await door(frame.app, frame.site, frame.settings, request, at)


async def _sign_out(frame: Frame, request: Request, at: Browser) -> Response:
    """Ends a session, also one whose second factor is still missing. Looking at the address ends nothing."""
    if request.method != "POST" or at.session is None or at.who is None:
        return RedirectResponse(HOME if at.signed else SIGN_IN, 303)
    await browser.posted(at, frame.site, request)
    with suppress(NotFound):  # another window was faster, and this one is to be signed out, too
        await frame.app.sign_in.sign_out(at.who, at.session)
    return browser.leave(RedirectResponse(SIGN_IN, 303))
