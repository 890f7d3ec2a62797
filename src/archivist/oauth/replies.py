"""Answers of the endpoints that programs call: JSON, never kept by anybody, with the errors of the RFCs."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from archivist.domain.errors import ArchivistError, RateLimited
from archivist.domain.rejections import Rejected

PUBLIC = {"Access-Control-Allow-Origin": "*", "Vary": "Origin"}
"""These endpoints take no cookies, so pages of any origin may call them and read the answer."""

_NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}


def answered(value: Mapping[str, Any], status: int = 200) -> JSONResponse:
    """A result."""
    return JSONResponse(dict(value), status, {**PUBLIC, **_NO_STORE})


def refused(error: ArchivistError, *, basic: bool = False) -> JSONResponse:
    """An error (RFC 6749 §5.2). basic: the client tried to authenticate in the header."""
    if isinstance(error, Rejected):
        status, code = error.http_status, error.error
    else:
        status, code = error.status, "temporarily_unavailable" if error.retryable else "invalid_request"
    headers = {**PUBLIC, **_NO_STORE}
    if status == 401 and basic:
        headers["WWW-Authenticate"] = 'Basic realm="archivist"'
    if isinstance(error, RateLimited):
        headers["Retry-After"] = str(error.retry_after)
    return JSONResponse({"error": code, "error_description": _plain(error.detail)}, status, headers)


def malformed(status: int, text: str) -> JSONResponse:
    """A request that cannot be read."""
    return JSONResponse(
        {"error": "invalid_request", "error_description": _plain(text)}, status, {**PUBLIC, **_NO_STORE}
    )


def _plain(text: str) -> str:
    """Only the characters that RFC 6749 §5.2 allows in a description."""
    return "".join(letter if " " <= letter <= "~" and letter not in '"\\' else "'" for letter in text)
