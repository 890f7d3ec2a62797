"""Posted forms (application/x-www-form-urlencoded), read strictly: bounded, UTF-8, and told apart from repeats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl

from starlette.types import Receive

from archivist.domain.limits import FORM_BYTES
from archivist.http import bodies
from archivist.http.headers import Headers, Repeated

FIELDS = 100
_TYPE = "application/x-www-form-urlencoded"


class Malformed(ValueError):
    """Not a form that can be read. `status` is the HTTP one."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class Form:
    """The fields by name, with every value that came; empty ones are left out."""

    fields: Mapping[str, Sequence[str]]

    def one(self, name: str) -> str:
        """The value of a field, "" if it did not come.

        Raises:
            Malformed: it came twice.
        """
        values = self.fields.get(name, ())
        if len(values) > 1:
            raise Malformed(400, f"{name}: must be given once")
        return values[0] if values else ""

    def require_once(self, *but: str) -> None:
        """Raises Malformed: a field other than `but` came twice."""
        for name in self.fields.keys() - frozenset(but):
            self.one(name)

    def all(self, name: str) -> Sequence[str]:
        """Every value of a field that may come more than once."""
        return self.fields.get(name, ())


async def read(headers: Headers, receive: Receive) -> Form:
    """The form in the body of a request.

    Raises:
        Malformed: another content type, too long, not UTF-8, too many fields, or the client hung up.
    """
    try:
        kind = (headers.get(b"content-type") or "").partition(";")[0].strip().lower()
        length = headers.get(b"content-length")
    except Repeated as exc:
        raise Malformed(400, str(exc)) from None
    try:
        body = await bodies.read(receive, length, FORM_BYTES)
    except bodies.TooLarge as exc:
        raise Malformed(413, str(exc)) from None
    except bodies.Gone:
        raise Malformed(400, "the request broke off") from None
    if kind != _TYPE:
        raise Malformed(415, f"Content-Type must be {_TYPE}")
    return Form(fields_of(body.decode("latin-1")))


def fields_of(text: str, *, errors: Literal["strict", "surrogateescape"] = "strict") -> Mapping[str, Sequence[str]]:
    """The fields of a form or of a query, by name; empty ones are left out (RFC 6749 §3.1).

    errors: what becomes of encoded bytes that are not UTF-8; with `surrogateescape` they can be given back as they
    came.

    Raises:
        Malformed: not UTF-8, not encoded, or too many fields.
    """
    try:
        text.encode("ascii")  # whoever sends forms encodes everything else
        pairs = parse_qsl(text, errors=errors, max_num_fields=FIELDS)
    except ValueError:
        raise Malformed(400, f"the fields must be UTF-8, at most {FIELDS} of them") from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found
