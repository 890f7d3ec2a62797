"""The routes of the pages."""

from starlette.routing import Route

from archivist.app import App
from archivist.http.site import Site
from archivist.settings import Settings
from archivist.web.rendering import static_routes


def page_routes(app: App, site: Site, settings: Settings) -> list[Route]:
    """Every page, and the files beside them."""
    del app, site, settings
    return [*static_routes()]
