"""The steps in front of every page that needs somebody: name and password, then the second factor if there is one.

They stand at the address of the page that is wanted, and lead back to it: no address comes out of a parameter.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from archivist.app import App
from archivist.domain.errors import ArchivistError, RateLimited, Unauthenticated
from archivist.http.forms import Form
from archivist.http.site import Site
from archivist.settings import Settings
from archivist.web import browser
from archivist.web.browser import Browser
from archivist.web.rendering import page

COMING_BACK = "coming back"
"""The purpose of what an outside sign-in is given, so that it leads back here and nowhere else."""


async def door(
    app: App, site: Site, settings: Settings, request: Request, at: Browser, *, waiting: str | None = None
) -> Response:
    """What somebody gets who is not wholly signed in. waiting: the app that wants to be connected.

    Raises:
        Forged, Malformed: the posted form is none of ours; nothing was done.
    """
    if request.method != "POST":
        return await _asked(app, settings, request, at, waiting)
    form = await browser.posted(at, site, request)
    try:
        if at.half is not None:
            code = form.one("code") or form.one("recovery_code")
            entered = await app.sign_in.second_factor(at.half, at.visitor, code)
        else:
            entered = await app.sign_in.password(at.visitor, form.one("name"), form.one("password"))
    except ArchivistError as error:
        return await _asked(app, settings, request, at, waiting, error=error, form=form)
    return browser.enter(RedirectResponse(here(request), 303), entered)


async def _asked(
    app: App,
    settings: Settings,
    request: Request,
    at: Browser,
    waiting: str | None,
    *,
    error: ArchivistError | None = None,
    form: Form | None = None,
) -> Response:
    """The page of the step that is missing."""
    status, headers, values = 200, {}, {}
    if error is not None:
        status = 401 if isinstance(error, Unauthenticated) else error.status
        headers = {"retry-after": str(error.retry_after)} if isinstance(error, RateLimited) else {}
        values = {"name": form.one("name")} if form else {}
    errors = {"form": sentence(error)} if error else {}
    shared: dict[str, Any] = {"csrf": at.csrf, "waiting": waiting}
    if at.half is not None:
        person, field = at.user.name if at.user else "", _field(form)
        wrong = {field: errors["form"]} if errors else {}
        return page("second-factor", status, headers=headers, person=person, errors=wrong, **shared)
    shared |= {"errors": errors, "values": values, "provider": None}
    elsewhere: tuple[str, ...] = ()
    if settings.provider and (origin := await app.outside.sign_in_origin()):
        elsewhere = (origin,)
        coming_back = app.keyring.seal(COMING_BACK, [at.visit, here(request)])
        shared |= {"provider": settings.provider_name or origin, "coming_back": coming_back}
    return at.remember(page("sign-in", status, headers=headers, form_to=elsewhere, **shared))


def _field(form: Form | None) -> str:
    """Which of the two ways through the second step was tried."""
    return "recovery_code" if form is not None and form.all("recovery_code") else "code"


def sentence(error: ArchivistError) -> str:
    """What was wrong, as a page says it."""
    return f"{error.detail[:1].upper()}{error.detail[1:]}."


def here(request: Request) -> str:
    """The path and query that were asked for, as they came."""
    query = request.scope["query_string"].decode("latin-1")
    path: str = request.scope["path"]
    return f"{path}?{query}" if query else path
