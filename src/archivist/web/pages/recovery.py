"""`/recovery/{link}`: a new password for somebody who lost theirs. A second factor stays, and is asked for next."""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from archivist.domain.errors import ArchivistError, NotFound
from archivist.web import browser
from archivist.web.browser import Browser
from archivist.web.frame import Frame
from archivist.web.mistakes import mistakes, new_password
from archivist.web.pages.arriving import arrived
from archivist.web.rendering import page


def recovery_routes(frame: Frame) -> list[Route]:
    """The page behind the link that an administrator makes."""
    return [frame.open("/recovery/{link}", partial(_recovery, frame), ("GET", "POST"))]


async def _recovery(frame: Frame, request: Request, at: Browser) -> Response:
    app, link = frame.app, request.path_params["link"]
    form = await browser.posted(at, frame.site, request) if request.method == "POST" else None
    person = ""
    try:
        _found, user = await app.accounts.opened(link, "recovery")
        person = user.name if user else ""
        if form is None:
            return _shown(at, person)
        recovered = await app.accounts.recover(link, new_password(form))
    except NotFound:
        return frame.error(at, 404, reason="link")
    except ArchivistError as error:
        return _shown(at, person, error.status, errors=mistakes(error))
    return await arrived(app, at, recovered)


def _shown(at: Browser, person: str, status: int = 200, **more: Any) -> Response:
    return at.remember(page("recovery", status, csrf=at.csrf, person=person, needs_code=False, **more))
