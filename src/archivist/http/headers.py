"""Request headers, read strictly: one value each, blanks around it stripped, encoded values decoded."""

import base64
import binascii
from collections.abc import Iterable

_SENTINEL, _END = "=?base64?", "?="
_SINGLE = frozenset({
    b"host", b"origin", b"authorization", b"x-api-key", b"x-memory-key", b"content-length", b"content-type",
    b"mcp-protocol-version", b"mcp-method", b"mcp-name",
})  # fmt: skip


class Repeated(ValueError):
    """A header that may come once came twice: two readers would disagree about which one counts."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the header {name} must not be repeated")
        self.name = name


class Headers:
    """The headers of one request by lower-case name."""

    __slots__ = ("_values", "repeated")

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[bytes, bytes] = {}
        self.repeated: set[bytes] = set()
        for name, value in raw:
            if name in self._values:
                if name in _SINGLE:
                    self.repeated.add(name)
                value = self._values[name] + b"," + value  # RFC 9110 §5.3: repeats are one list
            self._values[name] = value

    def get(self, name: bytes) -> str | None:
        """The value without surrounding blanks, or None.

        Raises:
            Repeated: the header may come only once, and came twice.
        """
        if name in self.repeated:
            raise Repeated(name.decode("ascii"))
        value = self._values.get(name)
        return None if value is None else value.strip(b" \t").decode("latin-1")

    def __contains__(self, name: bytes) -> bool:
        return name in self._values


def decoded(value: str) -> str | None:
    """A mirrored value in clear: `=?base64?…?=` holds UTF-8 that a header could not carry. None if it is broken."""
    if not (value.startswith(_SENTINEL) and value.endswith(_END)):
        return value
    try:
        return base64.b64decode(value[len(_SENTINEL) : -len(_END)], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
