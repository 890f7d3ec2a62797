"""Who asks, and what they may do. Authority is one immutable value; it can only shrink."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from archivist.domain.errors import InsufficientScope, InvalidArgument
from archivist.domain.ids import UserId, VaultId


class Scope(StrEnum):
    """The four rights. They are independent: none contains another."""

    READ = "memories:read"
    WRITE = "memories:write"
    REFLECT = "memories:reflect"
    DELETE = "memories:delete"


ALL_SCOPES = frozenset(Scope)
LOCAL_OWNER = UserId("local-owner")
"""Acts on the command line, over stdio and through keys until somebody signs up."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller: a person, the one vault of the credential, and what the credential allows there.

    `credential` says how they came ("key", "stdio", "cli"), `credential_id` which one; neither is secret.
    """

    user: UserId
    vault: VaultId
    scopes: frozenset[Scope]
    credential: Literal["key", "stdio", "cli"]
    credential_id: str

    def narrowed(self, scopes: Iterable[Scope]) -> "Principal":
        """The same caller with at most `scopes`; never more than before."""
        return replace(self, scopes=self.scopes & frozenset(scopes))

    @property
    def may_change(self) -> bool:
        """Whether any act that changes the vault is allowed; without it the vault is opened read-only."""
        return bool(self.scopes - {Scope.READ})


def authorise(who: Principal, scope: Scope) -> None:
    """Raises InsufficientScope unless `who` holds `scope`."""
    if scope not in who.scopes:
        raise InsufficientScope(f"this connection does not have {scope.value}; ask its owner to allow it")


def parse_scopes(words: str) -> frozenset[Scope]:
    """Short or full names, separated by commas or blanks: `read,write`, `memories:read memories:write`.

    Raises:
        InvalidArgument: a word is not a scope, or there is none.
    """
    names = words.replace(",", " ").split()
    full = [name if name.startswith("memories:") else f"memories:{name}" for name in names]
    known = {scope.value for scope in Scope}
    if not full or not known.issuperset(full):
        raise InvalidArgument("scopes", "must be one or more of read, write, reflect, delete")
    return frozenset(Scope(name) for name in full)
