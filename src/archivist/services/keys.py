"""API keys: making, listing, rotating, revoking, and minting them for the users of a product."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from archivist.domain import keys as rules
from archivist.domain.access import Principal, Scope, require_person
from archivist.domain.audit import entry
from archivist.domain.changes import Op
from archivist.domain.errors import Conflict, InsufficientScope, InvalidArgument, NotFound
from archivist.domain.ids import KeyId, VaultId
from archivist.domain.keys import Key, Kind
from archivist.domain.operations import permit
from archivist.domain.roles import CAPS
from archivist.domain.uses import Seen
from archivist.services import acts
from archivist.services.entering import role_now
from archivist.services.vaults import Vaults
from archivist.storage import keys as stored
from archivist.storage import uses
from archivist.storage.database import Database, Write
from archivist.storage.stores import Stores

READ_WRITE = frozenset({Scope.READ, Scope.WRITE})
NAMELESS = "New Key"
"""What a minted key is called for which no name came; its vault gets a name of its own, for these are unique."""

OVERLAP = timedelta(hours=24)
"""For so long the old key goes on working beside the one that takes its place, unless said otherwise."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A key, and when it was first and last used; None if never."""

    key: Key
    seen: Seen | None


@dataclass(frozen=True, slots=True)
class Keys:
    """The key use cases. People make and end keys; an account key makes keys of its users' vaults, and no others."""

    stores: Stores
    vaults: Vaults
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def create(
        self,
        who: Principal,
        *,
        name: str,
        scopes: frozenset[Scope],
        expires: datetime | None = None,
        kind: Kind = "memory",
    ) -> tuple[Key, str]:
        """A new key for the vault of `who`, and its secret, kept nowhere. Reading alone makes a read-only form.

        Raises:
            InsufficientScope: a program asks, or for more than the person's role allows.
            InvalidArgument: the name is outside its range, or the end lies in the past.
        """
        require_person(who)
        control = await self.stores.control()
        role = await role_now(control, who.vault, who.user)
        if role is None or not scopes <= who.scopes & CAPS[role]:
            raise InsufficientScope("a key can have at most the rights that you have in this vault")
        now = self.now()
        if expires is not None and expires <= now:
            raise InvalidArgument("expires", "must lie in the future")
        secret = rules.new_secret(read_only=scopes == {Scope.READ})
        key = self._key(who, secret, rules.checked_name(name), scopes, expires=expires, kind=kind)
        log = await self._log(who, control, key, "keys create", now)
        await control.apply([*log, stored.insert(key)])
        return key, secret

    async def mint(
        self, who: Principal, *, name: str | None, vault: VaultId | None, scopes: frozenset[Scope] | None
    ) -> tuple[Key, str]:
        """A key for one user of a product: of a new vault that is called like it, or of one that this owner has.

        Without `scopes` it may read and write, as far as the account key may hand that on. The vault in which the
        account key itself is kept is no user's.

        Raises:
            InsufficientScope: not an account key, or for more than it may hand on.
            InvalidArgument: the name is outside its range.
            NotFound: there is no such vault of its owner.
            Conflict: there is a vault of that name.
        """
        permit(who, "keys mint")
        granted = who.scopes & READ_WRITE if scopes is None else scopes
        if not granted or not granted <= who.scopes:
            raise InsufficientScope("this account key cannot hand on these rights")
        called, control = rules.checked_name(NAMELESS if name is None else name), await self.stores.control()
        if vault is None:
            room = called if name is not None else f"{NAMELESS} {self.new_id()[-12:]}"
            vault = (await self.vaults.create_for(who, room)).id
        elif vault == who.vault or await role_now(control, vault, who.user) != "owner":
            raise NotFound("vault_ref: there is no such vault")
        secret = rules.new_secret(read_only=granted == {Scope.READ})
        key = self._key(replace(who, vault=vault), secret, called, granted, kind="minted")
        log = await self._log(who, control, key, "keys mint", self.now())
        await control.apply([*log, stored.insert(key)])
        return key, secret

    async def minted(self, who: Principal) -> Sequence[Listed]:
        """The keys that account keys of this owner made, oldest first; none that the owner made themselves."""
        permit(who, "keys minted")
        return [one for one in await self._of(who) if one.key.kind == "minted"]

    async def unmint(self, who: Principal, id: str) -> None:
        """End such a key.

        Raises:
            NotFound: there is none of that id, or it is revoked already.
        """
        permit(who, "keys unmint")
        for one in await self.minted(who):
            if one.key.id == id:
                await self._revoke(who, one.key)
                return
        raise NotFound("no key with that id")

    async def list(self, who: Principal) -> Sequence[Listed]:
        """The keys of this person, in every vault, oldest first."""
        require_person(who)
        return await self._of(who)

    async def revoke(self, who: Principal, id: str) -> None:
        """End a key. It holds from the next request on, in every process.

        Raises:
            NotFound: this person has no such key, or it is revoked already.
        """
        require_person(who)
        await self._revoke(who, await self._own(who, id))

    async def rotate(self, who: Principal, id: str, overlap: timedelta = OVERLAP) -> tuple[Key, str]:
        """A new key with the name, the vault, the rights and the end of an old one, which works on for the overlap.

        Raises:
            NotFound: this person has no such key, or it is revoked.
        """
        require_person(who)
        old = await self._own(who, id)
        now = self.now()
        if old.revoked is not None or (old.expires is not None and old.expires <= now):
            raise NotFound("that key is revoked or expired; make a new one")
        secret = rules.new_secret(read_only=old.scopes == {Scope.READ})
        who = replace(who, vault=old.vault)
        key = self._key(who, secret, old.name, old.scopes, expires=old.expires, kind=old.kind)
        control = await self.stores.control()
        until = now + overlap if old.expires is None else min(now + overlap, old.expires)
        log = await self._log(who, control, key, "keys rotate", now)
        try:
            await control.apply([*log, stored.expire(old.vault, old.id, until), stored.insert(key)])
        except Conflict:
            raise NotFound("that key was revoked meanwhile") from None
        return key, secret

    async def forget(self, who: Principal, id: str) -> None:
        """End a key and take it out of the list. The audit trail keeps that it was there.

        Raises:
            NotFound: this person has no such key.
        """
        require_person(who)
        key = await self._own(who, id)
        control, now = await self.stores.control(), self.now()
        await control.apply([*await self._log(who, control, key, "keys forget", now), stored.delete(key.vault, key.id)])

    async def _of(self, who: Principal) -> Sequence[Listed]:
        control = await self.stores.control()
        found = await stored.of_owner(control, who.user)
        return [Listed(key, await uses.seen(control, key.vault, key.id)) for key in found]

    async def _revoke(self, who: Principal, key: Key) -> None:
        if key.revoked is not None:
            raise NotFound("that key is revoked already")
        control, now = await self.stores.control(), self.now()
        log = await self._log(who, control, key, "keys revoke", now)
        try:
            await control.apply([*log, stored.revoke(key.vault, key.id, now)])
        except Conflict:
            raise NotFound("that key is revoked already") from None

    def _key(
        self,
        who: Principal,
        secret: str,
        name: str,
        scopes: frozenset[Scope],
        *,
        expires: datetime | None = None,
        kind: Kind = "memory",
    ) -> Key:
        return Key(
            id=KeyId(self.new_id()),
            vault=who.vault,
            digest=rules.digest_of(secret),
            start=secret[: rules.SHOWN],
            name=name,
            owner=who.user,
            scopes=scopes,
            created=self.now(),
            expires=expires,
            kind=kind,
        )

    async def _own(self, who: Principal, id: str) -> Key:
        for key in await stored.of_owner(await self.stores.control(), who.user):
            if key.id == id:
                return key
        raise NotFound("no key with that id; `archivist keys list` shows them")

    async def _log(self, who: Principal, control: Database, key: Key, action: str, now: datetime) -> Sequence[Write]:
        """What goes with every change of a key: its line in the log and in the audit trail."""
        op: Op = "put" if action in ("keys create", "keys mint", "keys rotate") else "delete"
        act = entry(who, self.new_id(), now, action, target=key.id, vault=key.vault)
        return await acts.written(control, act, "key", op=op)
