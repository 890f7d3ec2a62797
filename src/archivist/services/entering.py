"""Who a request comes from: the credential of a program, looked up and narrowed to what holds now."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from archivist.domain import keys as key_rules
from archivist.domain import secrets
from archivist.domain.access import Principal
from archivist.domain.changes import Head
from archivist.domain.errors import InsufficientScope, NotFound, Unauthenticated
from archivist.domain.grants import Token
from archivist.domain.ids import CONTROL, UserId, VaultId
from archivist.domain.keys import Key
from archivist.domain.roles import CAPS, Role
from archivist.domain.toolsets import Toolset
from archivist.storage import heads, keys, members, tokens, vaults
from archivist.storage.database import Database
from archivist.storage.people import users
from archivist.storage.stores import Stores
from archivist.storage.tokens import Standing

T = TypeVar("T")

REMEMBERED = 4096
"""Credentials kept ready; the log of the control database empties them on any change there."""


@dataclass(slots=True)
class _Ready(Generic[T]):
    """Records that are right as long as the control log stands at `head`."""

    head: Head | None = None
    found: dict[Hashable, T] = field(default_factory=dict)

    def at(self, head: Head) -> dict[Hashable, T]:
        if self.head != head or len(self.found) > REMEMBERED:
            self.head, self.found = head, {}
        return self.found


@dataclass(frozen=True, slots=True)
class Entering:
    """Recognises keys and access tokens. What was revoked anywhere is refused at the next request, in every process."""

    stores: Stores
    now: Callable[[], datetime]
    _keys: _Ready[tuple[Key, Role]] = field(default_factory=_Ready)
    _tokens: _Ready[tuple[Token, Standing]] = field(default_factory=_Ready)
    _roles: _Ready[Role] = field(default_factory=_Ready)

    async def authenticate(self, presented: str, toolset: Toolset) -> Principal:
        """The caller behind a credential, at the address of one tool set.

        Raises:
            Unauthenticated: unknown, malformed, revoked, expired, for the other tool set, or nothing stands behind it.
        """
        control = await self.stores.control()
        head = (await heads.read(control, CONTROL)).head
        if secrets.is_a("access", presented):
            return await self._by_token(control, head, presented, toolset)
        who = await self._by_key(control, head, presented)
        if who.credential == "account":
            raise Unauthenticated("this key only makes keys, at /v1/keys; it opens no vault")
        return who

    async def account(self, presented: str) -> Principal:
        """The caller behind an account key; no other credential is one.

        Raises:
            Unauthenticated: anything else, or not valid (any more).
        """
        control = await self.stores.control()
        who = await self._by_key(control, (await heads.read(control, CONTROL)).head, presented)
        if who.credential != "account":
            raise Unauthenticated("this needs an account key; `archivist keys create --kind account` makes one")
        return who

    async def again(self, who: Principal) -> Principal:
        """The same caller on this computer, with no more than what their role in the vault allows now.

        Raises:
            NotFound: they are not in that vault (any more), or their account is disabled.
        """
        if who.credential not in ("cli", "stdio"):
            raise InsufficientScope("only callers on this computer come without a credential")
        control = await self.stores.control()
        ready = self._roles.at((await heads.read(control, CONTROL)).head)
        place = who.vault, who.user
        role = ready.get(place)
        if role is None:
            role = await role_now(control, who.vault, who.user)
            if role is None:
                raise NotFound("you are not in this vault any more, or your account is disabled; see `archivist users`")
            ready[place] = role
        return who.narrowed(CAPS[role])

    async def _by_token(self, control: Database, head: Head, presented: str, toolset: Toolset) -> Principal:
        ready, digest = self._tokens.at(head), secrets.digest(presented)
        found = ready.get(digest)
        if found is None:
            token = await tokens.by_digest(control, digest)
            if token is None or token.kind != "access":
                raise _unknown()
            standing = await tokens.standing(control, token.vault, token.grant)
            if standing is None:
                raise _unknown()
            found = ready[digest] = token, standing
        token, standing = found
        if token.toolset != toolset:
            raise Unauthenticated("this token is for another address of this server")
        if token.ended is not None or self.now() >= token.expires:
            raise _unknown()
        scopes = standing.allows(token.scopes)
        return Principal(standing.user, token.vault, scopes, "oauth", token.grant, app_host=standing.host)

    async def _by_key(self, control: Database, head: Head, presented: str) -> Principal:
        claim = key_rules.parse(presented)
        ready = self._keys.at(head)
        found = ready.get(claim.digest)
        if found is None:
            key = await keys.by_digest(control, claim.digest)
            role = await role_now(control, key.vault, key.owner) if key else None
            if key is None or role is None:
                raise Unauthenticated("this is not a key of this server, or it is not valid any more")
            found = ready[claim.digest] = key, role
        key, role = found
        return key_rules.principal(key, claim, self.now()).narrowed(CAPS[role])


async def role_now(control: Database, vault: VaultId, user: UserId) -> Role | None:
    """What a person is in a vault; None if the vault is gone, they are not in it, or their account is disabled."""
    member = await members.find(control, vault, user)
    account = await users.find(control, user)
    if member is None or (account is not None and account.disabled is not None):
        return None
    return member.role if await vaults.find(control, vault) is not None else None


def _unknown() -> Unauthenticated:
    return Unauthenticated("this token is not valid (any more); sign in again")
