"""A person's browser: its cookies, the token that every form carries, and where a posted form may come from.

Cookies are ours alone (`__Host-`), and read strictly: a request whose cookies could be read in two ways is nobody's.
The token of a form is made from the cookie of its browser, so it needs to be kept nowhere.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from archivist.app import App
from archivist.domain.access import Principal
from archivist.domain.errors import Unauthenticated
from archivist.domain.secrets import url_safe
from archivist.domain.sessions import DEVICE as DEVICE_LIFE
from archivist.domain.sessions import Session
from archivist.domain.users import User
from archivist.http import forms, peers
from archivist.http.forms import Form
from archivist.http.headers import Headers
from archivist.http.site import Site
from archivist.services.sign_in import Entered, Visitor

SESSION, VISIT, DEVICE = "__Host-archivist-session", "__Host-archivist-visit", "__Host-archivist-device"
OUTSIDE = "__Host-archivist-outside"
_OURS = frozenset({SESSION, VISIT, DEVICE, OUTSIDE})
_VALUE = re.compile(r"[A-Za-z0-9_-]{1,16000}")


class Forged(Exception):
    """A posted form that did not come from a page of ours in the same browser; nothing was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """Who is at the other end. signed: the whole session, if there is one; half: one whose second factor is missing.

    `visit` is the value of the cookie that forms of people who are not signed in are bound to; `outside` what is kept
    while they are at an outside provider.
    """

    visitor: Visitor
    visit: str
    secret: str
    outside: str = ""
    session: Session | None = None
    user: User | None = None
    who: Principal | None = None

    @property
    def signed(self) -> bool:
        """Whether somebody is signed in, wholly."""
        return self.session is not None and self.session.stage == "full"

    @property
    def half(self) -> Session | None:
        """A session that waits for its second factor."""
        return self.session if self.session is not None and self.session.stage == "half" else None

    @property
    def csrf(self) -> str:
        """What forms of this browser carry."""
        key = self.secret if self.session is not None else self.visit
        made = hmac.new(key.encode(), b"form", hashlib.sha256).digest()
        return url_safe(made)

    def remember(self, response: Response) -> Response:
        """Gives the browser its visit cookie, unless it is signed in."""
        if self.session is None:
            _set(response, VISIT, self.visit)
        return response


async def browser(app: App, site: Site, request: Request) -> Browser:
    """Who is at the other end of a request."""
    cookies = _cookies(request)
    visitor = Visitor(
        address=peers.address(request.scope, site),
        agent=request.headers.get("user-agent", ""),
        device=cookies.get(DEVICE, ""),
    )
    visit = cookies.get(VISIT) or secrets.token_urlsafe(32)
    secret = cookies.get(SESSION, "")
    try:
        session, who, user = await app.sign_in.session(secret)
    except Unauthenticated:
        return Browser(visitor=visitor, visit=visit, secret="", outside=cookies.get(OUTSIDE, ""))
    outside = cookies.get(OUTSIDE, "")
    return Browser(visitor=visitor, visit=visit, secret=secret, outside=outside, session=session, user=user, who=who)


async def posted(at: Browser, site: Site, request: Request) -> Form:
    """The form of a request, once it is sure that a page of ours sent it, in this browser.

    Raises:
        Forged: it comes from elsewhere, or without the token of this browser.
        Malformed: it cannot be read.
    """
    if not _from_here(site, request):
        raise Forged
    form = await forms.read(Headers(request.scope["headers"]), request.receive)
    token = form.one("csrf")
    visited = at.session is not None or VISIT in _cookies(request)
    if not visited or not hmac.compare_digest(token.encode("utf-8", "replace"), at.csrf.encode()):
        raise Forged
    return form


def enter(response: Response, entered: Entered) -> Response:
    """Gives the browser its new session, and takes the visit away."""
    _set(response, SESSION, entered.secret)
    if entered.device:
        _set(response, DEVICE, entered.device, seconds=int(DEVICE_LIFE.total_seconds()))
    _unset(response, VISIT)
    return response


def hold(response: Response, sealed: str) -> Response:
    """Gives the browser what it must bring back from an outside provider."""
    _set(response, OUTSIDE, sealed, seconds=600)
    return response


def let_go(response: Response) -> Response:
    """Takes that away again: it works once."""
    _unset(response, OUTSIDE)
    return response


def leave(response: Response) -> Response:
    """Takes the session away, and what the browser keeps of these pages."""
    _unset(response, SESSION)
    response.headers["clear-site-data"] = '"cache", "storage"'
    return response


def _from_here(site: Site, request: Request) -> bool:
    """By `Sec-Fetch-Site` where browsers send it, else by `Origin`; pages without referrer send `Origin: null`."""
    fetch, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if fetch is not None:
        return fetch == "same-origin"
    return origin is None or origin == site.address(request.headers["host"])


def _cookies(request: Request) -> dict[str, str]:
    """Our cookies. If one comes twice, or is spelled so that another reader could find a different one: none."""
    found: dict[str, str] = {}
    for header in _headers(request):
        for part in header.split(";"):
            name, _, value = part.partition("=")
            if name.strip(" \t\"'") not in _OURS and name.strip().casefold() not in _FOLDED:
                continue
            name = name.lstrip(" ")
            if name not in _OURS or name in found or _VALUE.fullmatch(value.rstrip(" ")) is None:
                return {}
            found[name] = value.rstrip(" ")
    return found


_FOLDED = frozenset(name.casefold() for name in _OURS)


def _headers(request: Request) -> Sequence[str]:
    return [value.decode("latin-1") for name, value in request.scope["headers"] if name == b"cookie"]


def _set(response: Response, name: str, value: str, *, seconds: int | None = None) -> None:
    response.set_cookie(name, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="lax")


def _unset(response: Response, name: str) -> None:
    response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="lax")
