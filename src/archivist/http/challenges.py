"""The caller's credential, from the headers that may carry it, and what answers a wrong one (RFC 6750, RFC 9728)."""

import re
from collections.abc import Iterable

from archivist.domain.access import Scope, ordered
from archivist.http.headers import Headers

LONGEST = 512
"""Characters of the longest credential that is looked at; every key we make is far shorter."""

METADATA = "/.well-known/oauth-protected-resource"
_VISIBLE = re.compile("[!-~]+")


class Ambiguous(ValueError):
    """The request carries two different credentials; the text says so."""


def presented(headers: Headers) -> str | None:
    """The credential of a request, or None if it has none; "" for one that cannot be any of ours.

    Raises:
        Ambiguous: two headers carry different ones.
        Repeated: one of the headers came twice.
    """
    found = set()
    authorization = headers.get(b"authorization")
    if authorization is not None:
        scheme, _, value = authorization.partition(" ")
        found.add(value.strip() if scheme.lower() == "bearer" else "")
    for name in (b"x-api-key", b"x-memory-key"):
        value_or_none = headers.get(name)
        if value_or_none is not None:
            found.add(value_or_none)
    if len(found) > 1:
        raise Ambiguous("the request carries two different credentials; send one")
    credential = found.pop() if found else None
    return credential if credential is None or _plausible(credential) else ""


def metadata_path(resource_path: str) -> str:
    """Where the metadata of a resource is served (RFC 9728 §3.1)."""
    return f"{METADATA}{resource_path}"


def unauthenticated(metadata_url: str, *, sent: bool) -> str:
    """The challenge of a 401: where to learn how to sign in, and what to ask for."""
    error = 'error="invalid_token", ' if sent else ""
    return f'Bearer {error}resource_metadata="{metadata_url}", scope="{Scope.READ}"'


def ambiguous(metadata_url: str) -> str:
    """The challenge of a 400 for a request with more than one credential."""
    return f'Bearer error="invalid_request", resource_metadata="{metadata_url}"'


def insufficient(metadata_url: str, held: Iterable[Scope], needed: Iterable[Scope]) -> str:
    """The challenge of a 403. It names what is held too: clients ask for exactly what it says."""
    needed = frozenset(needed)
    scope = " ".join(ordered(needed | frozenset(held)))
    return (
        f'Bearer error="insufficient_scope", scope="{scope}", resource_metadata="{metadata_url}", '
        f'error_description="{missing(needed)}"'
    )


def missing(needed: Iterable[Scope]) -> str:
    """One sentence for people; without a comma, for there are clients that cut a challenge at every one of them."""
    return f"this needs {' and '.join(sorted(needed))}; allow it for this connection because asking again does not help"


def _plausible(credential: str) -> bool:
    return len(credential) <= LONGEST and _VISIBLE.fullmatch(credential) is not None
