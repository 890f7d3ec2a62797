"""Which protocol revision a message speaks. Decided for each message by itself; nothing is locked.

Since 2026-07-28 every request says its revision in `_meta`, and over HTTP in mirrored headers that must agree with
the body. The revisions before shook hands; over HTTP they name theirs in one header, or not at all.
"""

from collections.abc import Mapping
from typing import Any

from archivist.http.headers import Headers, decoded
from archivist.mcp.rpc import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION, Message, Rejection

MODERN = "2026-07-28"
BATCHING = "2025-03-26"
"""The one revision with batches; also what a request without any version speaks."""
LATEST_LEGACY = "2025-11-25"
SERVED = (MODERN, LATEST_LEGACY, "2025-06-18", BATCHING)
OLDEST = "2024-11-05"
"""Not served by its own rules, but clients still name it; what they send is read as 2025-03-26."""
_LEGACY = {version: version for version in SERVED[1:]} | {OLDEST: BATCHING}

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that `Mcp-Name` mirrors, by method."""


def over_http(message: Message, headers: Headers) -> str:
    """The revision of a request or notification that came by HTTP.

    Raises:
        Rejection: it contradicts itself, lacks what its revision demands, or speaks a revision that we do not.
    """
    header = headers.get(b"mcp-protocol-version")
    if VERSION_KEY in message.meta or (header is not None and header not in _LEGACY):
        if message.id is None:
            return _served(header)
        _require_envelope(message)
        _require_agreement(message, headers, header)
        return _served(message.meta[VERSION_KEY])
    return _legacy(message, header or BATCHING)


def over_stdio(message: Message, negotiated: str) -> str:
    """The revision of a message that came by stdio; `negotiated` is that of the last handshake.

    Raises:
        Rejection: as for HTTP, without the headers.
    """
    if VERSION_KEY not in message.meta:
        return _legacy(message, negotiated)
    if message.id is not None:
        _require_envelope(message)
    return _served(message.meta[VERSION_KEY])


def may_batch(version: str | None) -> bool:
    """Whether a request that names `version` in its header may be an array of messages."""
    return version is None or _LEGACY.get(version) == BATCHING


def negotiated(message: Message) -> str:
    """What an `initialize` settles on: what was asked for if it is a handshake revision, else the latest of them."""
    asked = (message.params or {}).get("protocolVersion")
    return asked if isinstance(asked, str) and asked in _LEGACY else LATEST_LEGACY


def _legacy(message: Message, version: str) -> str:
    if message.method == "initialize":
        version = negotiated(message)
    return _LEGACY[version]


def _require_envelope(message: Message) -> None:
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in message.meta]
    if missing:
        raise Rejection(INVALID_PARAMS, f"params._meta: must have {' and '.join(missing)}")
    if not isinstance(message.meta[VERSION_KEY], str):
        raise Rejection(INVALID_PARAMS, f"params._meta: {VERSION_KEY} must be a string")


def _require_agreement(message: Message, headers: Headers, version: str | None) -> None:
    if version != message.meta[VERSION_KEY]:
        raise _mismatch("MCP-Protocol-Version", f"params._meta {VERSION_KEY}")
    method = headers.get(b"mcp-method")
    if method is None or decoded(method) != message.method:
        raise _mismatch("Mcp-Method", "method")
    parameter = _NAMED.get(message.method)
    if parameter is not None:
        _require_name(message.params or {}, parameter, headers.get(b"mcp-name"))


def _require_name(params: Mapping[str, Any], parameter: str, header: str | None) -> None:
    if header is None and parameter not in params:
        return  # nothing is named on either side; the method itself refuses that
    if header is None or decoded(header) != params.get(parameter):
        raise _mismatch("Mcp-Name", f"params.{parameter}")


def _mismatch(header: str, place: str) -> Rejection:
    return Rejection(HEADER_MISMATCH, f"the header {header} must be there once and equal {place}")


def _served(version: str | None) -> str:
    if version == MODERN:
        return MODERN
    data = {"supported": list(SERVED), "requested": version}
    raise Rejection(UNSUPPORTED_VERSION, "this protocol revision is not served", data=data)
