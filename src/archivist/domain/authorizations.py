"""An authorization request (RFC 6749 §4.1.1, RFC 7636, RFC 8707): read strictly, and what its person may decide."""

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from archivist.domain.access import Scope
from archivist.domain.limits import CLIENT_ID_LENGTH, STATE_BYTES
from archivist.domain.rejections import Rejected, Unanswerable
from archivist.domain.secrets import url_safe
from archivist.domain.toolsets import Toolset, toolset_of

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_KNOWN = (
    "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "code_challenge",
    "code_challenge_method", "prompt", "request", "request_uri",
)  # fmt: skip

Parameters = Mapping[str, Sequence[str]]
"""By name, every value that came; empty ones are left out (RFC 6749 §3.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """Who asks, and where the answer would go: checked before anything else is looked at."""

    client_id: str
    redirect_uri: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What an app asks for. `asked` is empty if it named no scope."""

    client_id: str
    redirect_uri: str
    state: str
    challenge: str
    toolset: Toolset
    asked: frozenset[Scope]


def addressed(parameters: Parameters) -> Addressed:
    """Client and redirect target, each exactly once.

    Raises:
        Unanswerable: missing, repeated, or too long; the answer must not leave this server.
    """
    for name in ("client_id", "redirect_uri"):
        if len(parameters.get(name, ())) != 1:
            reason = "repeated" if parameters.get(name) else "request"
            raise Unanswerable(reason, f"{name}: must be given exactly once")
    state = parameters.get("state", ())
    if any(len(value.encode("utf-8", "surrogateescape")) > STATE_BYTES for value in state):
        raise Unanswerable("request", f"state: must be at most {STATE_BYTES} bytes")
    if len(parameters["client_id"][0]) > CLIENT_ID_LENGTH or len(parameters["redirect_uri"][0]) > CLIENT_ID_LENGTH:
        raise Unanswerable("request", f"client_id and redirect_uri: must be at most {CLIENT_ID_LENGTH} characters")
    return Addressed(
        client_id=parameters["client_id"][0],
        redirect_uri=parameters["redirect_uri"][0],
        state=state[0] if len(state) == 1 else "",
    )


def read(parameters: Parameters, to: Addressed, origins: Collection[str], *, resource_required: bool) -> Request:
    """The whole request of a client that is known, for a target that is its own.

    Raises:
        Rejected: the code of the RFC; it may be sent to the redirect target.
    """
    for name in _KNOWN:
        if len(parameters.get(name, ())) > 1:
            raise Rejected("invalid_request", f"{name}: must be given once")
    one = {name: values[0] for name, values in parameters.items()}
    if "request" in one or "request_uri" in one:
        raise Rejected("invalid_request", "request and request_uri are not supported; send plain parameters")
    if "response_type" not in one:
        raise Rejected("invalid_request", "response_type: must be code")
    if one["response_type"] != "code":
        raise Rejected("unsupported_response_type", "response_type: must be code")
    if one.get("response_mode", "query") != "query":
        raise Rejected("invalid_request", "response_mode: must be query, or left out")
    if one.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(one.get("code_challenge", "")):
        raise Rejected("invalid_request", "code_challenge: 43 characters with code_challenge_method=S256 are required")
    if "none" in one.get("prompt", "").split():
        raise Rejected("interaction_required", "prompt: the person is always asked")
    return Request(
        client_id=to.client_id,
        redirect_uri=to.redirect_uri,
        state=to.state,
        challenge=one["code_challenge"],
        toolset=toolset_of(parameters.get("resource", ()), origins, required=resource_required),
        asked=asked_scopes(one.get("scope", "")),
    )


def asked_scopes(scope: str) -> frozenset[Scope]:
    """The scopes of a blank-separated list; what is unknown is dropped, for some clients add words of their own.

    Raises:
        Rejected: invalid_scope, if something was asked for and nothing of it is known.
    """
    words = scope.split(" ")
    found = frozenset(one for one in Scope if one.value in words)
    if not found and scope.strip():
        raise Rejected("invalid_scope", f"scope: must hold one or more of {' '.join(Scope)}")
    return found


def ticked_at_first(asked: frozenset[Scope], held: frozenset[Scope], cap: frozenset[Scope]) -> frozenset[Scope]:
    """What the consent page has ticked before anybody touched it: reading, and what this app holds here already."""
    reading = frozenset({Scope.READ}) if not asked or Scope.READ in asked else frozenset[Scope]()
    return (reading | held) & cap


def proves(verifier: str, challenge: str) -> bool:
    """Whether `verifier` is the secret behind the S256 `challenge` (RFC 7636 §4.6)."""
    return _VERIFIER.fullmatch(verifier) is not None and hmac.compare_digest(s256(verifier), challenge)


def s256(verifier: str) -> str:
    """The challenge of a verifier (RFC 7636 §4.2)."""
    return url_safe(hashlib.sha256(verifier.encode()).digest())
