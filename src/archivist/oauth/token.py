"""The token endpoint (RFC 6749 §3.2, §4.1.3, §6; RFC 7636 §4.5; RFC 8707 §2.2): a code or a refresh for tokens."""

from starlette.requests import Request
from starlette.responses import Response

from archivist.app import App
from archivist.domain.access import ordered
from archivist.domain.clients import Client
from archivist.domain.errors import ArchivistError
from archivist.domain.rejections import Code, Rejected
from archivist.http.forms import Form, Malformed
from archivist.http.headers import Headers, Repeated
from archivist.http.site import Site
from archivist.oauth.clients import caller, posted
from archivist.oauth.replies import answered, malformed, refused
from archivist.services.tokens import Pair


async def token(app: App, site: Site, request: Request) -> Response:
    """Answers one request; whatever is wrong with it becomes an error of the RFC."""
    headers = Headers(request.scope["headers"])
    basic = b"authorization" in headers
    try:
        form = await posted(headers, request)
        form.require_once("resource")
        _require_supported(form.one("grant_type"))
        async with caller(app, site, request, form) as client:
            pair = await _granted(app, client, form)
    except (Malformed, Repeated) as error:
        return malformed(getattr(error, "status", 400), str(error))
    except ArchivistError as error:
        return refused(error, basic=basic)
    return answered(_view(pair))


async def _granted(app: App, client: Client, form: Form) -> Pair:
    if form.one("grant_type") == "authorization_code":
        return await app.tokens.exchange(
            client,
            code=form.one("code"),
            verifier=form.one("code_verifier"),
            redirect_uri=form.one("redirect_uri"),
            resources=form.all("resource"),
        )
    return await app.tokens.refresh(
        client, token=form.one("refresh_token"), scope=form.one("scope"), resources=form.all("resource")
    )


def _require_supported(kind: str) -> None:
    if kind not in ("authorization_code", "refresh_token"):
        code: Code = "unsupported_grant_type" if kind else "invalid_request"
        raise Rejected(code, "grant_type: must be authorization_code or refresh_token")


def _view(pair: Pair) -> dict[str, object]:
    return {
        "access_token": pair.access,
        "token_type": "Bearer",
        "expires_in": pair.expires_in,
        "refresh_token": pair.refresh,
        "scope": " ".join(ordered(pair.scopes)),
    }
