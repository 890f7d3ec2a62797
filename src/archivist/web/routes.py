"""The routes of the pages."""

from starlette.routing import Route

from archivist.app import App
from archivist.http.site import Site
from archivist.settings import Settings
from archivist.web.frame import Frame
from archivist.web.pages.account_routes import account_routes
from archivist.web.pages.outside import outside_routes
from archivist.web.pages.vault_routes import vault_routes
from archivist.web.rendering import static_routes


def page_routes(app: App, site: Site, settings: Settings) -> list[Route]:
    """Every page, and the files beside them."""
    frame = Frame(app, site, settings)
    return [*static_routes(), *account_routes(frame), *outside_routes(frame), *vault_routes(frame)]
