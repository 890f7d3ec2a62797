"""Which app calls, and how it proves it (RFC 6749 §2.3): by its id alone, or with a secret, in header or form."""

import base64
import binascii
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import unquote_plus

from starlette.requests import Request

from archivist.app import App
from archivist.domain.clients import Client, Method
from archivist.domain.rejections import Rejected, Unheard
from archivist.http import forms, peers
from archivist.http.forms import Form, Malformed
from archivist.http.headers import Headers
from archivist.http.site import Site


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


async def posted(headers: Headers, request: Request) -> Form:
    """The form of a call. Raises Malformed: it is none, or there are parameters in the address."""
    if request.scope["query_string"]:
        raise Malformed(400, "parameters belong into the body, not into the address")
    return await forms.read(headers, request.receive)


@asynccontextmanager
async def caller(app: App, site: Site, request: Request, form: Form) -> AsyncIterator[Client]:
    """The app that calls, once it is known. Guesses, also those within, are counted for it and where they come from.

    Raises:
        Rejected: invalid_client or invalid_request.
        RateLimited: there were too many guesses; it is not even looked at.
    """
    claim, address = claimed(Headers(request.scope["headers"]), form), peers.address(request.scope, site)
    await app.clients.require_calm(claim.client_id, address)
    try:
        yield await app.clients.authenticated(claim.client_id, claim.secret, claim.method)
    except Unheard:
        await app.clients.guessed(claim.client_id, address)
        raise


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
