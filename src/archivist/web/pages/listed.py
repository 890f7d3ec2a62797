"""Lists as JSON, at the address of their page plus `.json`: what the page shows, for whoever is signed in there."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from archivist.domain.errors import ArchivistError
from archivist.domain.times import iso
from archivist.http.forms import Form, Malformed
from archivist.web import browser
from archivist.web.frame import Frame, Visit

Rows = Callable[[Visit], Awaitable[Mapping[str, Any]]]

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def listed(frame: Frame, path: str, rows: Rows) -> Route:
    """A list without its page. Nobody is asked to sign in here: whoever is not gets an error that a program reads."""

    async def endpoint(request: Request) -> Response:
        at = await browser.browser(frame.app, frame.site, request)
        try:
            return JSONResponse(plain(await rows(frame.visit(request, at, Form({})))), headers=_HEADERS)
        except ArchivistError as error:
            return _refused(error.status, error.detail)
        except Malformed as error:
            return _refused(error.status, str(error))

    return Route(path, endpoint, methods=["GET"])


def plain(value: Any) -> Any:
    """The same value with moments as text, which JSON has no form for."""
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def _refused(status: int, text: str) -> Response:
    return JSONResponse({"error": {"code": status, "message": text}}, status, _HEADERS)
