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


def ordered(scopes: Iterable[Scope]) -> list[Scope]:
    """The scopes as lists show them: always in the same order."""
    found = frozenset(scopes)
    return [scope for scope in Scope if scope in found]


LOCAL_OWNER = UserId("local-owner")
"""Acts on the command line, over stdio and through keys until somebody signs up."""


Credential = Literal["key", "account", "oauth", "stdio", "session", "cli"]
"""key, account: a memory key, and one that only mints keys. oauth: a connected app. session: a person in a browser."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller: a person, the one vault of the credential, and what the credential allows there.

    `credential` says how they came, `credential_id` which one; neither is secret. `app_host` is where a connected app
    gets its answers; `administrator` holds for the pages and the command line alone. `process` tells the programs of
    this computer apart, which all come without a credential of their own.
    """

    user: UserId
    vault: VaultId
    scopes: frozenset[Scope]
    credential: Credential
    credential_id: str
    app_host: str = ""
    administrator: bool = False
    process: str = ""

    @property
    def holder(self) -> str:
        """Who holds what is lent to one connection."""
        return self.process or self.credential_id

    def narrowed(self, scopes: Iterable[Scope]) -> "Principal":
        """The same caller with at most `scopes`; never more than before."""
        return replace(self, scopes=self.scopes & frozenset(scopes))

    @property
    def is_person(self) -> bool:
        """Whether somebody acts themselves, in a browser or on this computer, and not a program for them."""
        return self.credential in ("session", "cli")

    @property
    def may_change(self) -> bool:
        """Whether any act that changes the vault is allowed; without it the vault is opened read-only."""
        return bool(self.scopes - {Scope.READ})


def require_person(who: Principal) -> None:
    """Raises InsufficientScope for a program: people, vaults, keys and connections are managed by people."""
    if not who.is_person:
        raise InsufficientScope("this is done on the pages of the server or on its command line, not with a credential")


def require_administrator(who: Principal) -> None:
    """Raises InsufficientScope unless a person asks who runs this server."""
    if not (who.is_person and who.administrator):
        raise InsufficientScope("only an administrator of this server may do this")


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
