"""`/set-up/{link}`: the first account of a server. There is one, and then this page is gone."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from archivist.app import OWNER, App
from archivist.domain.access import Scope
from archivist.domain.errors import ArchivistError, NotFound
from archivist.domain.links import GONE
from archivist.web import browser
from archivist.web.browser import Browser
from archivist.web.frame import Frame
from archivist.web.mistakes import mistakes, new_password
from archivist.web.pages.arriving import arrived
from archivist.web.rendering import page


def set_up_routes(frame: Frame) -> list[Route]:
    """The page behind the link that the server prints."""
    return [frame.open("/set-up/{link}", partial(_set_up, frame), ("GET", "POST"))]


async def _set_up(frame: Frame, request: Request, at: Browser) -> Response:
    app, link = frame.app, request.path_params["link"]
    form = await browser.posted(at, frame.site, request) if request.method == "POST" else None
    try:
        await app.accounts.opened(link, "set-up")
        if await app.accounts.is_set_up(OWNER):
            raise NotFound(GONE)
        if form is None:
            return await _shown(app, at)
        user = await app.accounts.set_up(link, form.one("name"), new_password(form))
    except NotFound:
        return frame.error(at, 404, reason="link")
    except ArchivistError as error:
        values = {"name": form.one("name")} if form else {}
        return await _shown(app, at, error.status, errors=mistakes(error), values=values)
    return await arrived(app, at, user)


async def _shown(app: App, at: Browser, status: int = 200, **more: Any) -> Response:
    return at.remember(page("set-up", status, csrf=at.csrf, found=await _found(app), **more))


async def _found(app: App) -> Mapping[str, int]:
    """What lies here already and will belong to the first account."""
    vaults = await app.vaults.list(OWNER)
    reading = [replace(OWNER, vault=vault.id, scopes=frozenset({Scope.READ})) for vault in vaults]
    return {"vaults": len(vaults), "memories": sum([(await app.status.of(who)).memories for who in reading])}
