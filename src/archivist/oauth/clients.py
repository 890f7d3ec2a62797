"""Which app calls, and how it proves it (RFC 6749 §2.3): by its id alone, or with a secret, in header or form."""

import base64
import binascii
from dataclasses import dataclass
from urllib.parse import unquote_plus

from archivist.app import App
from archivist.domain.clients import Client, Method
from archivist.domain.rejections import Rejected
from archivist.http.forms import Form
from archivist.http.headers import Headers


@dataclass(frozen=True, slots=True)
class Claimed:
    """What the caller says it is."""

    client_id: str
    secret: str | None
    method: Method


def claimed(headers: Headers, form: Form) -> Claimed:
    """Raises Rejected: no client, two ways at once, or two ids."""
    authorization = headers.get(b"authorization")
    client_id, secret = form.one("client_id"), form.one("client_secret")
    if authorization is None:
        if not client_id:
            raise Rejected("invalid_client", "client_id: is missing")
        return Claimed(client_id, secret or None, "client_secret_post" if secret else "none")
    if secret:
        raise Rejected("invalid_request", "client_secret: the client authenticates in the header already")
    named, password = _basic(authorization)
    if client_id and client_id != named:
        raise Rejected("invalid_request", "client_id: differs from that of the header")
    return Claimed(named, password, "client_secret_basic")


async def authenticated(app: App, headers: Headers, form: Form) -> Client:
    """Raises Rejected: invalid_client or invalid_request."""
    claim = claimed(headers, form)
    return await app.clients.authenticated(claim.client_id, claim.secret, claim.method)


def _basic(authorization: str) -> tuple[str, str]:
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic":
        raise Rejected("invalid_client", "authorization: must be Basic here")
    try:
        name, found, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        found = ""
    if not found:
        raise Rejected("invalid_client", "authorization: is not what Basic looks like")
    return unquote_plus(name), unquote_plus(password)
