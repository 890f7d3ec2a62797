"""The ASGI application: the door that checks the Host, the MCP entry, and the few plain routes beside it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_network
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from archivist.app import OWNER, App
from archivist.domain.errors import ArchivistError, Unavailable
from archivist.domain.toolsets import PATHS
from archivist.http.site import LOOPBACK_NAMES, Site
from archivist.mcp import vault
from archivist.mcp.call import Call
from archivist.mcp.entry import Access, Entry
from archivist.mcp.step_up import StepUp
from archivist.oauth.metadata import CALLED
from archivist.oauth.replies import refused
from archivist.oauth.routes import oauth_routes
from archivist.rest.keys import key_routes
from archivist.rest.memory import memory_routes
from archivist.settings import Settings
from archivist.telemetry.logging import unexpected
from archivist.web.rendering import page
from archivist.web.routes import page_routes

_HTTP_PORT = 80
BEFORE_SET_UP = ("/health", "/.well-known/", "/mcp", "/static/", "/set-up/", "/v1/", "/api/v1/")
"""How the addresses begin that answer before there is an account: keys work then, for whoever runs the server."""


def asgi(app: App, settings: Settings, log: Callable[[Access], None] | None = None) -> ASGIApp:
    """The server over services that the caller starts and closes.

    log: told of each request to an MCP endpoint once it is answered; a line of the standard log by default.
    """
    site = site_of(settings)
    step_up = StepUp(settings.step_up, app.entering.now)
    entries: dict[str, ASGIApp] = {}
    for toolset, path in PATHS.items():
        entry = Entry(
            vault.registry(toolset),
            site,
            partial(app.entering.authenticate, toolset=toolset),
            lambda who: Call(app, who),
            log,
            path=path,
            step_up=step_up,
            note=app.counting.note,
        )
        entries |= {path: entry, f"{path}/": entry}
    return Door(site, entries, plain_routes(app, site, settings))


def site_of(settings: Settings) -> Site:
    """Where the settings say that we are reachable."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return Site(
        settings.public_url,
        host in LOOPBACK_NAMES,
        frozenset(settings.allowed_origins),
        issuer=settings.origin,
        proxies=tuple(ip_network(proxy) for proxy in settings.trusted_proxies),
    )


@dataclass(frozen=True, slots=True)
class Door:
    """Refuses requests for other hosts before anything looks at them (DNS rebinding), then picks who answers.

    entries: applications by exact path; they bypass the router, whose work they do not need.
    """

    site: Site
    entries: Mapping[str, ASGIApp]
    routes: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, or carries the lifespan messages on."""
        if scope["type"] != "http":
            await self.routes(scope, receive, send)
        elif not self._is_ours(scope):
            refused = JSONResponse(_error(421, "this Host is not served here"), 421, {"Vary": "Origin"})
            await refused(scope, receive, send)
        else:
            with suppress(Exception):  # it was logged and answered; Starlette raises it once more for debuggers
                await self.entries.get(scope["path"], self.routes)(scope, receive, send)

    def _is_ours(self, scope: Scope) -> bool:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        server = scope.get("server")
        port = (server and server[1]) or _HTTP_PORT
        return len(hosts) == 1 and self.site.is_ours(hosts[0].decode("latin-1"), port)


def plain_routes(app: App, site: Site, settings: Settings) -> Starlette:
    """Health, sign-in, pages, and a readable answer for everything else."""
    first_run = FirstRun(app)

    async def health(_request: Request) -> Response:
        try:
            await app.check()
        except ArchivistError as exc:
            return JSONResponse({"status": "unavailable", "detail": exc.detail}, 503)
        return JSONResponse({"status": "ok"})

    routes = [
        Route("/health", health),
        *oauth_routes(app, site, settings),
        *key_routes(app, site),
        *memory_routes(app, site),
        *page_routes(app, site, settings),
    ]
    plain = Starlette(
        routes=[first_run.behind(route) for route in routes],
        exception_handlers={HTTPException: _not_served, ArchivistError: _refused, Exception: _failed},
    )
    plain.router.redirect_slashes = False  # 307 would send a form a second time, to an address made from the Host
    return plain


class FirstRun:
    """Until there is an account, pages and the endpoints of apps say how to make the first one, and do nothing else."""

    def __init__(self, app: App) -> None:
        self._app, self._over = app, False

    def behind(self, route: Route) -> Route:
        """The route, closed until then unless it is one of those that need no account."""
        if not route.path.startswith(BEFORE_SET_UP):
            route.app = partial(self._guarded, route.app)
        return route

    async def _guarded(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._over = self._over or await self._app.accounts.is_set_up(OWNER)
        except ArchivistError as exc:
            app = page("error", exc.status, me=None, reason=None, retry_after=None)
        else:
            app = app if self._over else _not_set_up(scope)
        await app(scope, receive, send)


def _not_set_up(scope: Scope) -> Response:
    """For people a page, for programs the form that they read."""
    if scope["path"] in CALLED:
        return refused(Unavailable("this server is not set up yet; whoever runs it makes the first account"))
    return page("error", 503, me=None, reason="no_set_up", retry_after=None)


async def _not_served(request: Request, exc: Exception) -> Response:
    status, headers = (exc.status_code, exc.headers) if isinstance(exc, HTTPException) else (404, None)
    if "text/html" in request.headers.get("accept", ""):
        return page("error", status, headers=headers, me=None, reason=None, retry_after=None)
    text = "nothing is served here; assistants connect to /mcp" if status == 404 else "this method is not served here"
    return JSONResponse(_error(status, text), status, headers)


async def _refused(request: Request, exc: Exception) -> Response:
    """What a route did not expect, such as a store that is away before it is known who asks. Nothing was done."""
    if not isinstance(exc, ArchivistError) or not exc.retryable:
        return await _failed(request, exc)
    if request.scope["path"] in CALLED:
        return refused(exc)
    if "text/html" in request.headers.get("accept", ""):
        return page("error", exc.status, me=None, reason=None, retry_after=None)
    return JSONResponse(_error(exc.status, exc.detail), exc.status)


async def _failed(request: Request, exc: Exception) -> Response:
    """A short answer with an id that the log knows; what went wrong, and where, only the log says."""
    reference = secrets.token_hex(8)
    unexpected(exc, reference)
    headers = {"x-request-id": reference}
    if request.scope["path"] in CALLED:
        told = {"error": "server_error", "error_description": f"the server's log has it as {reference}"}
        return JSONResponse(told, 500, headers)
    if "text/html" in request.headers.get("accept", ""):
        return page("error", 500, headers=headers, me=None, reason=None, retry_after=None, reference=reference)
    return JSONResponse(_error(500, f"internal error; the server's log has it as {reference}"), 500, headers)


def _error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message}}
