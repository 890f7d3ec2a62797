"""Posted forms (application/x-www-form-urlencoded), read strictly: bounded, UTF-8, and told apart from repeats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

    def all(self, name: str) -> Sequence[str]:
        """Every value of a field that may come more than once."""
        return self.fields.get(name, ())


async def read(headers: Headers, receive: Receive) -> Form:
    """The form in the body of a request.

    Raises:
        Malformed: another content type, too long, not UTF-8, or too many fields.
        Gone: the client hung up.
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
    if kind != _TYPE:
        raise Malformed(415, f"Content-Type must be {_TYPE}")
    return Form(fields_of(body.decode("latin-1")))


def fields_of(text: str) -> Mapping[str, Sequence[str]]:
    """The fields of a form or of a query, by name; empty ones are left out (RFC 6749 §3.1).

    Raises:
        Malformed: not UTF-8, or too many fields.
    """
    try:
        pairs = parse_qsl(text, errors="strict", max_num_fields=FIELDS)
    except (UnicodeDecodeError, ValueError):
        raise Malformed(400, f"the fields must be UTF-8, at most {FIELDS} of them") from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found
