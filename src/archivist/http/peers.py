"""Where a request came from: the socket, or what a proxy says that the operator named (RFC 7239 describes the idea)."""

from ipaddress import IPv6Address, ip_address

from starlette.types import Scope

from archivist.http.site import Site

UNKNOWN = ""


def address(scope: Scope, site: Site) -> str:
    """The address that limits and the audit trail go by; "" if the server cannot tell.

    `X-Forwarded-For` counts only if the socket's other end is one of the named proxies, and of its list the last
    address that is none of them.
    """
    client = scope.get("client")
    peer = _plain(client[0]) if client else UNKNOWN
    if not _is_proxy(peer, site):
        return peer
    forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    hops = [_plain(hop.strip()) for value in forwarded for hop in value.decode("latin-1").split(",")]
    for hop in reversed(hops):
        if not _is_proxy(hop, site):
            return hop if _is_address(hop) else peer
    return peer


def _is_proxy(peer: str, site: Site) -> bool:
    return _is_address(peer) and any(ip_address(peer) in network for network in site.proxies)


def _plain(text: str) -> str:
    """An IPv4 address as itself, where a socket for both versions spells it as one of IPv6."""
    found = ip_address(text) if _is_address(text) else None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped) if mapped else text


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
