"""CORS (Fetch §3.2): which browser pages may call `/mcp`, and what they may read of an answer."""

_ALLOWED = "Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID"
_ALLOWED_KEYS = "X-API-Key, X-Memory-Key"
_EXPOSED = "WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, X-Request-Id"
_DAY = 86_400

VARY = (b"vary", b"Origin")


def readable_by(origin: str) -> list[tuple[bytes, bytes]]:
    """What lets pages of `origin`, which has been found on the list, read an answer. Never with cookies."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _EXPOSED.encode()),
    ]


def preflight(methods: str) -> list[tuple[bytes, bytes]]:
    """The answer to the question a browser asks first; `methods` is a list such as `POST, OPTIONS`."""
    return [
        (b"access-control-allow-methods", methods.encode()),
        (b"access-control-allow-headers", f"{_ALLOWED}, {_ALLOWED_KEYS}".encode()),
        (b"access-control-max-age", str(_DAY).encode()),
    ]
