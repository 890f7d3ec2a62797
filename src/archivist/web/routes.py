"""The routes of the pages."""

from collections.abc import Iterator, Sequence

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from archivist.app import App
from archivist.http.site import Site
from archivist.settings import Settings
from archivist.web.door import here
from archivist.web.frame import Frame, Visit
from archivist.web.pages.account_routes import account_routes
from archivist.web.pages.outside import outside_routes
from archivist.web.pages.vault_routes import vault_routes
from archivist.web.rendering import static_routes


def page_routes(app: App, site: Site, settings: Settings) -> list[Route]:
    """Every page, and the files beside them."""
    frame = Frame(app, site, settings)
    pages = [*account_routes(frame), *outside_routes(frame), *vault_routes(frame)]
    return [*static_routes(), *pages, *_entrances(frame, pages)]


def _entrances(frame: Frame, pages: Sequence[Route]) -> Iterator[Route]:
    """The sign-in form stands in front of each page at its own address, also where nothing else is ever posted to."""
    posted = {page.path for page in pages if "POST" in (page.methods or ())}
    for path in dict.fromkeys(page.path for page in pages):
        if path.startswith("/app") and not path.endswith(".json") and path not in posted:
            yield frame.route(path, _again, ("POST",))


async def _again(visit: Visit) -> Response:
    return RedirectResponse(here(visit.request), 303)
