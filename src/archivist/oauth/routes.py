"""The routes of the authorization server: its endpoints, and the documents that lead to them."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from archivist.app import App
from archivist.http.site import Site
from archivist.oauth import metadata, register, revoke, token
from archivist.oauth.authorize import Authorize
from archivist.oauth.replies import PUBLIC, malformed
from archivist.settings import Settings

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_SPELLINGS = ("", "/")
"""Some people type the address of this server with a slash at its end, and their apps look below it."""

_HOUR = "public, max-age=3600"


def oauth_routes(app: App, site: Site, settings: Settings) -> list[Route]:
    """What is not announced is not there: without registration, no such endpoint."""
    authorize = Authorize(app, site, settings)

    async def authorized(request: Request) -> Response:
        return await authorize(request)

    async def tokens(request: Request) -> Response:
        return await token.token(app, site, request)

    async def revoked(request: Request) -> Response:
        return await revoke.revoke(app, site, request)

    async def registered(request: Request) -> Response:
        return await register.register(app, site, request)

    async def server(_request: Request) -> Response:
        return _document(metadata.authorization_server(site.issuer, app.clients.policy))

    async def resource(request: Request) -> Response:
        path = metadata.RESOURCES[request.scope["path"].removesuffix("/")]
        address = f"{site.address(request.headers['host'])}{path}"
        return _document(metadata.protected_resource(address, site.issuer))

    registering = [_called(metadata.REGISTER, registered)] if app.clients.policy.registration else []
    return [
        Route(metadata.AUTHORIZE, authorized, methods=["GET", "POST"]),
        *(_called(path, tokens) for path in (metadata.TOKEN, metadata.UNLOOKED)),
        _called(metadata.REVOKE, revoked),
        *registering,
        *(_read(f"{path}{slash}", resource) for path in metadata.RESOURCES for slash in _SPELLINGS),
        *(_read(f"{path}{slash}", server) for path in metadata.SERVERS for slash in _SPELLINGS),
    ]


def _document(value: dict[str, Any]) -> JSONResponse:
    return JSONResponse(value, headers={**PUBLIC, "Cache-Control": _HOUR})


def _read(path: str, endpoint: Callable[[Request], Any]) -> Route:
    """A document that pages of any origin may read."""
    return Route(path, _shared(endpoint, "GET", "HEAD"), methods=_METHODS)


def _called(path: str, endpoint: Callable[[Request], Any]) -> Route:
    """An endpoint that pages of any origin may post to; it takes no cookies."""
    return Route(path, _shared(endpoint, "POST"), methods=_METHODS)


def _shared(endpoint: Callable[[Request], Any], *methods: str) -> Callable[[Request], Awaitable[Response]]:
    """Answers these methods, the question that browsers ask first, and any other in the form of an error."""
    served = ", ".join(methods)
    allowed = {
        "Access-Control-Allow-Methods": served,
        "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
        "Access-Control-Max-Age": "86400",
    }

    async def answer(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=PUBLIC | allowed)
        if request.method not in methods:
            refusal = malformed(405, f"only {served} is served here")
            refusal.headers["allow"] = f"{served}, OPTIONS"
            return refusal
        answered: Response = await endpoint(request)
        return answered

    return answer
