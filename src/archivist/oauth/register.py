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
from archivist.http.headers import Headers, Repeated
from archivist.http.site import Site
from archivist.oauth.replies import answered, malformed, refused


async def register(app: App, site: Site, request: Request) -> Response:
    """Answers one registration. What we do not use of it is dropped; no address in it is ever fetched."""
    headers = Headers(request.scope["headers"])
    try:
        kind = (headers.get(b"content-type") or "").partition(";")[0].strip().lower()
        body = await bodies.read(request.receive, headers.get(b"content-length"), FORM_BYTES)
        if kind != "application/json":
            return malformed(415, "Content-Type must be application/json")
        metadata = wire.read(body)
        if not isinstance(metadata, dict):
            raise Rejected("invalid_client_metadata", "the body must be a JSON object")
        client = await app.clients.register(metadata, peers.address(request.scope, site))
    except bodies.TooLarge as error:
        return malformed(413, str(error))
    except Repeated as error:
        return malformed(400, str(error))
    except wire.Malformed as error:
        return refused(Rejected("invalid_client_metadata", str(error)))
    except ArchivistError as error:
        return refused(error)
    return answered(_view(client, metadata), 201)


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
