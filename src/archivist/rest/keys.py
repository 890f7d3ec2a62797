"""`/v1/keys`: a product's backend mints a key, and with it a vault, for each of its users, by an account key."""

from starlette.routing import Route

from archivist.app import App
from archivist.http.site import Site


def key_routes(app: App, site: Site) -> list[Route]:
    """The routes."""
    del app, site
    return []
