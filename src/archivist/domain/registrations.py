"""What an app says about itself when it registers (RFC 7591 §2): what is believed of it, and what it must not be.

Two things are kept: a name, made harmless, and where answers may go. All else is looked at for its type alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from archivist.domain.client_names import shown_name
from archivist.domain.errors import InvalidArgument
from archivist.domain.redirects import acceptable
from archivist.domain.rejections import Rejected

_ADDRESSES = ("client_uri", "logo_uri", "tos_uri", "policy_uri")
"""For people to look at; none of them is ever fetched."""

_TEXTS = (
    "client_name", "token_endpoint_auth_method", "scope", "application_type", "jwks_uri", "software_id",
    "software_version", "software_statement", *_ADDRESSES,
)  # fmt: skip
_LISTS = ("redirect_uris", "grant_types", "response_types", "contacts")


@dataclass(frozen=True, slots=True)
class Registration:
    """A name that can be shown, and targets that answers may go to."""

    name: str
    redirect_uris: tuple[str, ...]


def registration(metadata: Mapping[str, Any], schemes: frozenset[str]) -> Registration:
    """What is kept of the metadata; `schemes` as for `redirects.acceptable`. A member that is null is not there.

    Raises:
        Rejected: invalid_client_metadata for a member of the wrong type or an address for people that is not https;
            invalid_redirect_uri for targets that are missing or not allowed.
    """
    given = {name: value for name, value in metadata.items() if value is not None}
    for name in _TEXTS:
        _require(isinstance(given.get(name, ""), str), name, "must be text")
    for name in _LISTS:
        value = given.get(name, [])
        right = isinstance(value, list) and all(isinstance(one, str) for one in value)
        _require(right, name, "must be a list of texts")
    _require(isinstance(given.get("jwks", {}), dict), "jwks", "must be an object")
    for name in _ADDRESSES:
        _require(not given.get(name) or given[name].startswith("https://"), name, "must begin with https://")
    try:
        targets = acceptable(given.get("redirect_uris", []), schemes)
    except InvalidArgument as error:
        raise Rejected("invalid_redirect_uri", error.detail) from None
    return Registration(shown_name(given.get("client_name", "")), targets)


def _require(right: bool, name: str, rule: str) -> None:
    if not right:
        raise Rejected("invalid_client_metadata", f"{name}: {rule}")
