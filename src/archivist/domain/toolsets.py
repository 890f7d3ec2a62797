"""The two tool sets and their addresses: what an access token is for (RFC 8707)."""

from collections.abc import Collection, Sequence
from typing import Literal, get_args
from urllib.parse import urlsplit

from archivist.domain.rejections import Rejected

Toolset = Literal["vault", "coding"]
TOOLSETS: tuple[Toolset, ...] = get_args(Toolset)
PATHS: dict[Toolset, str] = {"vault": "/mcp", "coding": "/mcp/coding"}


def toolset_of(resources: Sequence[str], origins: Collection[str], *, required: bool = False) -> Toolset:
    """The tool set that the `resource` parameters of a request mean.

    Ours are the two addresses below any of `origins` (lower case), with or without a slash at the end. The bare
    origin means `/mcp`, and so does no resource at all: older clients leave it out.

    required: refuse a request without one.

    Raises:
        Rejected: invalid_target, another resource, several, or none although one is required.
    """
    if not resources and not required:
        return "vault"
    if len(resources) == 1:
        given = _canonical(resources[0])
        if given in origins:
            return "vault"
        for toolset, path in PATHS.items():
            if given in {origin + path for origin in origins}:
                return toolset
    raise Rejected("invalid_target", "resource: must be the address of this server that you connect to, once")


def _canonical(resource: str) -> str | None:
    """Scheme and host in lower case, one slash at the end dropped; None for what cannot be ours."""
    if not resource.isascii() or any(mark in resource for mark in "#?@\\ ") or not resource.isprintable():
        return None
    scheme, found, rest = resource.partition("://")
    if not found:
        return None
    authority, slash, path = rest.partition("/")
    try:
        urlsplit(resource)
    except ValueError:
        return None
    return f"{scheme.lower()}://{authority.lower()}{slash}{path}".removesuffix("/")
