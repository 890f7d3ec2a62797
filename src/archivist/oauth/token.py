"""The token endpoint (RFC 6749 §3.2, §4.1.3, §6; RFC 7636 §4.5; RFC 8707 §2.2): a code or a refresh for tokens."""

from starlette.requests import Request
from starlette.responses import Response

from archivist.app import App
from archivist.domain.access import Scope
from archivist.domain.clients import Client
from archivist.domain.errors import ArchivistError
from archivist.domain.rejections import Rejected
from archivist.http import forms
from archivist.http.forms import Form, Malformed
from archivist.http.headers import Headers, Repeated
from archivist.oauth.clients import authenticated
from archivist.oauth.replies import answered, malformed, refused
from archivist.services.tokens import Pair


async def token(app: App, request: Request) -> Response:
    """Answers one request; whatever is wrong with it becomes an error of the RFC."""
    headers = Headers(request.scope["headers"])
    basic = b"authorization" in headers
    try:
        if request.url.query:
            raise Malformed(400, "parameters belong into the body, not into the address")
        form = await forms.read(headers, request.receive)
        client = await authenticated(app, headers, form)
        pair = await _granted(app, client, form)
    except (Malformed, Repeated) as error:
        return malformed(getattr(error, "status", 400), str(error))
    except ArchivistError as error:
        return refused(error, basic=basic)
    return answered(_view(pair))


async def _granted(app: App, client: Client, form: Form) -> Pair:
    kind = form.one("grant_type")
    if kind == "authorization_code":
        return await app.tokens.exchange(
            client,
            code=form.one("code"),
            verifier=form.one("code_verifier"),
            redirect_uri=form.one("redirect_uri"),
            resources=form.all("resource"),
        )
    if kind == "refresh_token":
        return await app.tokens.refresh(
            client, token=form.one("refresh_token"), scope=form.one("scope"), resources=form.all("resource")
        )
    if not kind:
        raise Rejected("invalid_request", "grant_type: must be authorization_code or refresh_token")
    raise Rejected("unsupported_grant_type", "grant_type: must be authorization_code or refresh_token")


def _view(pair: Pair) -> dict[str, object]:
    return {
        "access_token": pair.access,
        "token_type": "Bearer",
        "expires_in": pair.expires_in,
        "refresh_token": pair.refresh,
        "scope": " ".join(scope for scope in Scope if scope in pair.scopes),
    }
