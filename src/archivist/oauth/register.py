"""Dynamic client registration (RFC 7591): an app makes itself known, and gains nothing until somebody allows it."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from archivist.app import App
from archivist.domain.access import Scope
from archivist.domain.clients import Client
from archivist.domain.errors import ArchivistError
from archivist.domain.limits import FORM_BYTES
from archivist.domain.rejections import Rejected
from archivist.http import bodies, peers, wire
from archivist.http.forms import Malformed
from archivist.http.headers import Headers, Repeated
from archivist.http.site import Site
from archivist.oauth.replies import answered, malformed, refused


async def register(app: App, site: Site, request: Request) -> Response:
    """Answers one registration. What we do not use of it is dropped; no address in it is ever fetched."""
    try:
        metadata = await _metadata(request)
        client = await app.clients.register(metadata, peers.address(request.scope, site))
    except (Malformed, Repeated) as error:
        return malformed(getattr(error, "status", 400), str(error))
    except ArchivistError as error:
        return refused(error)
    return answered(_view(client, metadata), 201)


async def _metadata(request: Request) -> dict[str, Any]:
    """The object in the body of a request."""
    headers = Headers(request.scope["headers"])
    try:
        body = await bodies.read(request.receive, headers.get(b"content-length"), FORM_BYTES)
    except bodies.TooLarge as error:
        raise Malformed(413, str(error)) from None
    except bodies.Gone:
        raise Malformed(400, "the request broke off") from None
    if not bodies.is_json(headers.get(b"content-type")):
        raise Malformed(415, "Content-Type must be application/json")
    try:
        metadata = wire.read(body)
    except wire.Malformed as error:
        raise Rejected("invalid_client_metadata", str(error)) from None
    if not isinstance(metadata, dict):
        raise Rejected("invalid_client_metadata", "the body must be a JSON object")
    return metadata


def _view(client: Client, metadata: dict[str, Any]) -> dict[str, Any]:
    """What was registered: a public client, whatever was asked for (§3.2.1)."""
    native = metadata.get("application_type") == "native"
    return {
        "client_id": client.client_id,
        "client_id_issued_at": int(client.created.timestamp()),
        "client_name": client.name,
        "redirect_uris": list(client.redirect_uris),
        "token_endpoint_auth_method": client.method,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": " ".join(Scope),
        "application_type": "native" if native else "web",
    }
