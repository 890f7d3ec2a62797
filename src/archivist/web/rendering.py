"""Pages: a template and its values become an answer with the headers that protect it; and the files beside them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from archivist.web import formats, words

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cross-origin-resource-policy": "same-origin",
}
_SENDS_ON = frozenset({"consent"})
"""Browsers hold `form-action` against every hop after a post, also hops of the app's own site; here it is left out."""
_OPENED_BY_APPS = frozenset({"sign-in", "second-factor", "consent", "denied", "authorization-error"})
"""Apps open these in a window and wait for it; `Cross-Origin-Opener-Policy` would cut the two apart."""

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
}
_YEAR = "public, max-age=31536000, immutable"


def page(
    name: str,
    status: int = 200,
    *,
    headers: Mapping[str, str] | None = None,
    form_to: Iterable[str] = (),
    **context: object,
) -> HTMLResponse:
    """The page `name` (`app/keys`) with all its headers; those given beside them can add, never replace.

    `form_to` names other origins to which a form of the page may lead. A missing value of the context is an error.
    """
    given = {"notice": None, "errors": {}, "values": {}, "status": status, **context}
    text = _environment().get_template(f"{name}.html").render(given)
    return HTMLResponse(text, status, headers={**_lowered(headers or {}), **protection(name, form_to)})


def protection(name: str, form_to: Iterable[str] = ()) -> dict[str, str]:
    """The headers that protect the page `name`."""
    found = dict(_HEADERS)
    targets = " ".join(["'self'", *form_to])
    found["content-security-policy"] = _POLICY if name in _SENDS_ON else f"{_POLICY}; form-action {targets}"
    if name not in _OPENED_BY_APPS:
        found["cross-origin-opener-policy"] = "same-origin"
    return found


def static_routes() -> list[Route]:
    """A route for each file that belongs to the pages, and for nothing else."""
    return [Route(f"/static/{name}", file.answer, methods=["GET"]) for name, file in _static().items()]


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the pages, and the start of its digest: an address that carries it never changes its content."""

    body: bytes
    type: str
    version: str

    async def answer(self, request: Request) -> Response:
        current = request.query_params.get("v") == self.version
        headers = {
            "content-type": self.type,
            "cache-control": _YEAR if current else "no-cache",
            "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
            "x-content-type-options": "nosniff",
            "cross-origin-resource-policy": "same-origin",
        }
        return Response(self.body, headers=headers)


@cache
def _static() -> Mapping[str, _File]:
    folder = files("archivist.web") / "static"
    bodies = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}
    return {
        name: _File(body, _TYPES[name.rpartition(".")[2]], hashlib.sha256(body).hexdigest()[:16])
        for name, body in sorted(bodies.items())
    }


def _address(name: str) -> str:
    """Where the file `name` is served, with its version."""
    return f"/static/{name}?v={_static()[name].version}"


@cache
def _environment() -> Environment:
    loader = PackageLoader("archivist.web", "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.globals |= {"words": words, "static": _address}
    made.filters |= {
        "ago": formats.ago,
        "count": formats.count,
        "day": formats.day,
        "exact": formats.exact,
        "grouped": formats.grouped,
        "plural": formats.plural,
    }
    return made


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
