"""Metadata documents: an app whose id is the address of a JSON document about it (draft-ietf-oauth-client-id-metadata).

An id is compared as it was sent and never normalised, for two spellings that mean the same address are two apps.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from archivist.domain.client_names import shown_name
from archivist.domain.errors import InvalidArgument
from archivist.domain.limits import CLIENT_ID_LENGTH
from archivist.domain.redirects import acceptable, target, verdict

Reason = Literal["not_json", "repeated_member", "not_an_object", "client_id", "client_name", "redirect_uris", "secret"]

_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ADDRESS = re.compile(
    rf"https://(?P<host>(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9]))"
    r"(?P<path>/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})+)"
)
_HOST_LENGTH = 253
_NOWHERE = frozenset({"arpa", "internal", "invalid", "local", "localhost", "onion"})
"""Top-level names that never lead to the public internet; asking for some of them calls out into the local network."""

_SEPARATORS = re.compile(r"[\x00-\x1f\x7f/\\%]")


class InvalidDocument(Exception):
    """The document is not one that an app may have. `reason` says which rule is broken, never what was sent."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What is believed of a metadata document, beside that its owner holds `host`.

    name: ready to be shown. client_uri: an https address for people, or empty. digest: SHA-256 in hex of name and
    redirect targets, which a person allowed; another one means that the app has changed since.
    """

    client_id: str
    host: str
    name: str
    redirect_uris: tuple[str, ...]
    client_uri: str
    digest: str


def is_document_address(client_id: str) -> bool:
    """Whether a client id is the address of a document that may be asked for; decided on the text alone."""
    if len(client_id) > CLIENT_ID_LENGTH:
        return False
    found = _ADDRESS.fullmatch(client_id)
    if found is None or len(found["host"]) > _HOST_LENGTH or found["host"].rpartition(".")[2] in _NOWHERE:
        return False
    *inner, last = found["path"][1:].split("/")
    return all(inner) and all(_is_plain(segment) for segment in (*inner, last))


def host_of(address: str) -> str:
    """The host of an address that `is_document_address` takes."""
    return address.removeprefix("https://").partition("/")[0]


def read_document(client_id: str, body: bytes, schemes: frozenset[str]) -> Document:
    """The document that was found at `client_id`; `schemes` as for `redirects.acceptable`.

    Members that mean nothing here are passed over, and no address in it is ever asked for. One that announces a key of
    its own (`private_key_jwt`) is read like any other: such an app is a public client here.

    Raises:
        InvalidDocument: with the reason.
    """
    members = _members(body)
    if members.get("client_id") != client_id:
        raise InvalidDocument("client_id")
    if "client_secret" in members or _shares_a_secret(members.get("token_endpoint_auth_method", "none")):
        raise InvalidDocument("secret")
    name, uris = shown_name(members.get("client_name")), _redirect_uris(members.get("redirect_uris"), schemes)
    if not name:
        raise InvalidDocument("client_name")
    return Document(
        client_id=client_id,
        host=host_of(client_id),
        name=name,
        redirect_uris=uris,
        client_uri=_for_people(members.get("client_uri")),
        digest=hashlib.sha256(json.dumps([name, sorted(uris)]).encode()).hexdigest(),
    )


def other_hosts(document: Document) -> tuple[str, ...]:
    """Hosts of its web targets that are neither the document's own nor below it: they may belong to somebody else."""
    own = document.host.removeprefix("www.")
    hosts = dict.fromkeys(found.host for found in map(target, document.redirect_uris) if found.kind == "web")
    return tuple(host for host in hosts if host != own and not host.endswith(f".{own}"))


def only_loopback(document: Document) -> bool:
    """Whether every target is on the person's own computer, where any program can say that it is this app."""
    return all(target(uri).kind == "loopback" for uri in document.redirect_uris)


def _is_plain(segment: str) -> bool:
    """No dot segment, in clear or encoded or before parameters, and nothing encoded that would split the path anew."""
    decoded = unquote(segment, "latin-1")
    return decoded.partition(";")[0] not in (".", "..") and not _SEPARATORS.search(decoded)


def _members(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise InvalidDocument("not_json") from None
    if not isinstance(found, dict):
        raise InvalidDocument("not_an_object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(members := dict(pairs)) != len(pairs):
        raise InvalidDocument("repeated_member")
    return members


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _redirect_uris(value: object, schemes: frozenset[str]) -> tuple[str, ...]:
    try:
        return acceptable(value if isinstance(value, list) else [], schemes)
    except InvalidArgument:
        raise InvalidDocument("redirect_uris") from None


def _shares_a_secret(method: object) -> bool:
    return not isinstance(method, str) or method.lower().startswith("client_secret")


def _for_people(value: object) -> str:
    """An informational address if it is https to a named host, else nothing."""
    fits = isinstance(value, str) and len(value) <= CLIENT_ID_LENGTH and value.startswith("https://")
    return str(value) if fits and verdict(str(value), frozenset()) == "allowed" else ""
