"""Metadata of the protected resources (RFC 9728) and of the authorization server (RFC 8414), wherever clients look."""

from typing import Any

from archivist.domain.access import Scope
from archivist.domain.toolsets import PATHS
from archivist.http.challenges import metadata_path
from archivist.services.clients import Policy

AUTHORIZE, TOKEN, REGISTER, REVOKE = "/oauth/authorize", "/oauth/token", "/oauth/register", "/oauth/revoke"
UNLOOKED = "/token"
"""Where the endpoint for tokens is called by clients that keep their tokens but not our document: the default of the
revision of 2025-03-26. Without it FastMCP's client would have to ask its person anew after every start."""

CALLED = (TOKEN, UNLOOKED, REGISTER, REVOKE)
"""Where programs call and read what is answered; the other endpoint is for people."""

_DOCUMENTS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
_BELOW = ("", *PATHS.values())
RESOURCES = {metadata_path(path): path or PATHS["vault"] for path in _BELOW}
"""Where the document of a resource stands, and which path it is about; at the root it is that of `/mcp`."""

SERVERS = tuple(dict.fromkeys([
    *(f"{document}{path}" for document in _DOCUMENTS for path in _BELOW),
    *(f"{path}{document}" for document in _DOCUMENTS for path in _BELOW),
]))  # fmt: skip
"""Where clients look for the document of the authorization server: RFC 8414 §3.1, and as OpenID Connect does."""


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


def authorization_server(issuer: str, policy: Policy) -> dict[str, Any]:
    """What the authorization server can do; nothing else works, and all of it does."""
    methods = ["none", "client_secret_basic", "client_secret_post"]
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}{AUTHORIZE}",
        "token_endpoint": f"{issuer}{TOKEN}",
        "revocation_endpoint": f"{issuer}{REVOKE}",
        **({"registration_endpoint": f"{issuer}{REGISTER}"} if policy.registration else {}),
        "scopes_supported": [scope.value for scope in Scope],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "authorization_response_iss_parameter_supported": True,
        **({"client_id_metadata_document_supported": True} if policy.documents else {}),
    }
