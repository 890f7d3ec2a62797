"""The revocation endpoint (RFC 7009): an app gives its tokens back."""

from starlette.requests import Request
from starlette.responses import Response

from archivist.app import App
from archivist.domain.errors import ArchivistError
from archivist.domain.rejections import Rejected
from archivist.http.forms import Malformed
from archivist.http.headers import Headers, Repeated
from archivist.http.site import Site
from archivist.oauth.clients import caller, posted
from archivist.oauth.replies import answered, malformed, refused


async def revoke(app: App, site: Site, request: Request) -> Response:
    """200 for whatever token is named, known or not; the hint about its kind is not needed (§2.1, §2.2)."""
    headers = Headers(request.scope["headers"])
    try:
        form = await posted(headers, request)
        form.require_once()
        async with caller(app, site, request, form) as client:
            named = form.one("token")
            if not named:
                raise Rejected("invalid_request", "token: is missing")
            await app.tokens.revoke(client, named)
    except (Malformed, Repeated) as error:
        return malformed(getattr(error, "status", 400), str(error))
    except ArchivistError as error:
        return refused(error, basic=b"authorization" in headers)
    return answered({})
