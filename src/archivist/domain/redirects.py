"""Where an authorization's answer may go: which redirect targets an app may name, and how they are compared.

The rules of RFC 6749 §3.1.2, RFC 8252 §7 and RFC 9700 §2.1, read strictly. A target is never normalised: it is stored
and compared as it was written.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, unquote_plus, urlencode

from archivist.domain.errors import InvalidArgument

URIS = 10
URI_LENGTH = 2048
RULE = (
    f"must be 1..{URIS} addresses of at most {URI_LENGTH} characters: https, or http with localhost, 127.0.0.1 or "
    "[::1]; without fragment, user, wildcard or a query that answers use themselves"
)

Verdict = Literal["allowed", "unlisted", "dangerous"]
"""unlisted: not allowed, but harmless beside entries that are. dangerous: no honest app names such a target."""

Kind = Literal["web", "loopback", "app"]

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
_PORT = r"(?::(?P<port>[1-9][0-9]{0,4}))?"
_REST = r"(?P<rest>(?:[/?].*)?)"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_LOOPBACK = re.compile(rf"http://(?P<host>127\.0\.0\.1|\[::1\]|localhost){_PORT}{_REST}")
_WEB = re.compile(rf"https://(?P<host>{_LABEL}(?:\.{_LABEL})*){_PORT}{_REST}")
_LIKE_AN_ADDRESS = re.compile(r"(?:.*\.)?(?:[0-9]+|0[Xx][0-9A-Fa-f]*)")
"""Browsers read a host that ends in a number as an IPv4 address, in whatever spelling."""

_AUTHORITY = re.compile(r"[^:]*:/*([^/?]*)")
_UNHEARD_OF = re.compile(r"[^!-~]|[\\*#]|%(?![0-9A-Fa-f]{2})|%[01][0-9A-Fa-f]|%7[Ff]")
"""What is refused anywhere: beyond visible ASCII, backslash, wildcard, fragment, broken or control escapes."""

_DANGEROUS_SCHEMES = frozenset({
    "about", "blob", "chrome", "cid", "content", "data", "file", "filesystem", "ftp", "intent", "jar", "javascript",
    "livescript", "mailto", "mhtml", "mk", "ms-its", "resource", "shell", "sms", "tel", "vbscript", "view-source",
    "wyciwyg",
})  # fmt: skip
_ANSWERS = frozenset({
    "code", "state", "iss", "error", "error_description", "error_uri", "response", "access_token", "id_token",
    "refresh_token", "token_type", "expires_in", "session_state",
})  # fmt: skip
"""Parameters of answers; one that stood in the target already could be taken for ours."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a person is told about a redirect target.

    host: in lower case, internationalised names in their `xn--` form; empty for an app. kind: web for https, loopback
    for a program on the person's own computer, app for whatever the system opens `scheme` with.
    """

    host: str
    kind: Kind
    scheme: str


def matches(registered: str, given: str) -> bool:
    """Whether `given` is the target `registered`: the same string, or for loopback http another port (RFC 8252 §7.3).

    `localhost` has that freedom too, for clients register it without the port of the day; the three loopback hosts do
    not stand for each other.
    """
    if registered == given:
        return True
    ours, theirs = _loopback(registered), _loopback(given)
    return ours is not None and theirs is not None and ours.group("host", "rest") == theirs.group("host", "rest")


def acceptable(uris: Sequence[object], schemes: frozenset[str]) -> tuple[str, ...]:
    """The allowed ones of `uris`, in their order and without repeats; merely unlisted ones are left out.

    schemes: app schemes without a dot that the operator allows.

    Raises:
        InvalidArgument: one is dangerous or no text, there are too many, one is too long, or none is left.
    """
    if len(uris) > URIS:
        raise InvalidArgument("redirect_uris", RULE)
    kept = []
    for uri in uris:
        found = verdict(uri, schemes) if isinstance(uri, str) and len(uri) <= URI_LENGTH else "dangerous"
        if found == "dangerous":
            raise InvalidArgument("redirect_uris", RULE)
        kept += [str(uri)] if found == "allowed" else []
    if not kept:
        raise InvalidArgument("redirect_uris", RULE)
    return tuple(dict.fromkeys(kept))


def verdict(uri: str, schemes: frozenset[str]) -> Verdict:
    """What is to be thought of one target; `schemes` as for `acceptable`."""
    scheme, colon, rest = uri.partition(":")
    if _UNHEARD_OF.search(uri) or scheme.lower() in _DANGEROUS_SCHEMES or _names_a_user(uri) or _answers_already(uri):
        return "dangerous"
    if not colon or not rest or not _SCHEME.fullmatch(scheme):
        return "unlisted"
    if scheme in ("http", "https"):
        return "allowed" if _loopback(uri) or _web(uri) else "unlisted"
    return "allowed" if "." in scheme or scheme in schemes else "unlisted"


def target(uri: str) -> Target:
    """What is shown of a target that `verdict` allows."""
    scheme = uri.partition(":")[0]
    if loopback := _loopback(uri):
        return Target(loopback["host"], "loopback", scheme)
    if web := _web(uri):
        return Target(web["host"].lower(), "web", scheme)
    return Target("", "app", scheme)


def with_parameters(uri: str, parameters: Mapping[str, str]) -> str:
    """`uri` with the parameters of an answer behind whatever query it has, which stays as it is (RFC 6749 §4.1.2).

    Bytes that were no UTF-8 when they came leave as the same bytes.
    """
    glue = "" if uri.endswith(("?", "&")) else "&" if "?" in uri else "?"
    return uri + glue + urlencode(parameters, quote_via=quote, errors="surrogateescape")


def _loopback(uri: str) -> re.Match[str] | None:
    return _with_a_port(_LOOPBACK.fullmatch(uri))


def _web(uri: str) -> re.Match[str] | None:
    found = _with_a_port(_WEB.fullmatch(uri))
    return None if found is None or len(found["host"]) > 253 or _LIKE_AN_ADDRESS.fullmatch(found["host"]) else found


def _with_a_port(found: re.Match[str] | None) -> re.Match[str] | None:
    return None if found is None or int(found["port"] or 1) >= 2**16 else found


def _names_a_user(uri: str) -> bool:
    """Whether a browser could take a part of the address for a user: `https:user@host` counts as well as with `//`."""
    authority = _AUTHORITY.match(uri)
    return authority is not None and "@" in authority[1]


def _answers_already(uri: str) -> bool:
    """Whether the query has a parameter that answers use, in any spelling that some framework reads as it."""
    fields = re.split("[&;]", uri.partition("?")[2])
    names = (unquote_plus(field.partition("=")[0]).strip().lower().partition("[")[0] for field in fields)
    return not _ANSWERS.isdisjoint(names)
