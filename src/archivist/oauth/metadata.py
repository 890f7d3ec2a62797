"""Metadata of the protected resource (RFC 9728): what `/mcp` is called, who signs people in, what to ask for."""

from typing import Any

from archivist.domain.access import Scope

PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource"
AUTHORIZATION_SERVER = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


def protected_resource(resource: str, issuer: str) -> dict[str, Any]:
    """The document for one resource.

    Args:
        resource: the exact address that clients connect to, without a final slash.
        issuer: the authorization server; the same string everywhere, without a final slash.
    """
    return {
        "resource": resource,
        "authorization_servers": [issuer],
        "scopes_supported": [Scope.READ.value],
        "bearer_methods_supported": ["header"],
        "resource_name": "Archivist",
    }
