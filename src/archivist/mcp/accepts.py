"""What form of answer a client takes (RFC 9110 §12.5.1), read generously: few send what the protocol asks for."""

from functools import lru_cache

_JSON = frozenset({"application/json", "application/*", "*/*"})
_EVENTS = frozenset({"text/event-stream", "text/*", "*/*"})


@lru_cache(maxsize=64)
def forms(accept: str | None) -> tuple[bool, bool]:
    """Whether JSON and whether an event stream is accepted. No header means JSON."""
    if not accept:
        return True, False
    ranges = {kind for kind, _, parameters in map(_split, accept.split(",")) if not _excluded(parameters)}
    return bool(ranges & _JSON), bool(ranges & _EVENTS)


def _split(item: str) -> tuple[str, str, str]:
    kind, separator, parameters = item.strip().partition(";")
    return kind.strip().lower(), separator, parameters


def _excluded(parameters: str) -> bool:
    """Whether the weight is zero, which means: not this."""
    weights = [part.partition("=")[2] for part in parameters.replace(" ", "").split(";") if part.startswith("q=")]
    return any(weight.strip("0.") == "" for weight in weights)
