"""API keys: making, listing, revoking, and recognising them on every request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from archivist.domain import keys as rules
from archivist.domain.access import Principal, Scope
from archivist.domain.audit import entry
from archivist.domain.changes import Head, Op
from archivist.domain.errors import InsufficientScope, NotFound, Unauthenticated
from archivist.domain.ids import CONTROL, KeyId
from archivist.domain.keys import Key
from archivist.storage import audit, changes, heads
from archivist.storage import keys as stored
from archivist.storage.database import Database, Write
from archivist.storage.stores import Stores

REMEMBERED = 1024
"""Keys kept ready; the log of the control database empties them on any change there."""


@dataclass(slots=True)
class _Ready:
    """Key records that are right as long as the control log stands at `head`."""

    head: Head | None = None
    keys: dict[str, Key] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Keys:
    """The key use cases. Only the command line can make and revoke keys, never another key."""

    stores: Stores
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    _ready: _Ready = field(default_factory=_Ready)

    async def create(
        self, who: Principal, *, name: str, scopes: frozenset[Scope], expires: datetime | None = None
    ) -> tuple[Key, str]:
        """A new key for the vault of `who`, and its secret, kept nowhere. Reading alone makes a read-only form.

        Raises:
            InsufficientScope: a key asks, or for more than the caller may.
            InvalidArgument: the name is outside its range.
        """
        _require_person(who, scopes)
        secret = rules.new_secret(read_only=scopes == {Scope.READ})
        now = self.now()
        key = Key(
            id=KeyId(self.new_id()),
            vault=who.vault,
            digest=rules.digest_of(secret),
            start=secret[: rules.SHOWN],
            name=rules.checked_name(name),
            owner=who.user,
            scopes=scopes,
            created=now,
            expires=expires,
        )
        control = await self.stores.control()
        await control.apply([*await self._log(who, control, key, "keys create", now), stored.insert(key)])
        return key, secret

    async def list(self, who: Principal) -> Sequence[Key]:
        """The keys of this person, in every vault, oldest first."""
        _require_person(who, frozenset())
        return await stored.of_owner(await self.stores.control(), who.user)

    async def revoke(self, who: Principal, id: str) -> None:
        """End a key. It holds from the next request on, in every process.

        Raises:
            NotFound: this person has no such key, or it is revoked already.
        """
        key = await self._own(who, id)
        if key.revoked is not None:
            raise NotFound("that key is revoked already")
        control, now = await self.stores.control(), self.now()
        log = await self._log(who, control, key, "keys revoke", now)
        await control.apply([*log, stored.revoke(key.vault, key.id, now)])

    async def forget(self, who: Principal, id: str) -> None:
        """End a key and take it out of the list. The audit trail keeps that it was there.

        Raises:
            NotFound: this person has no such key.
        """
        key = await self._own(who, id)
        control, now = await self.stores.control(), self.now()
        await control.apply([*await self._log(who, control, key, "keys forget", now), stored.delete(key.vault, key.id)])

    async def authenticate(self, presented: str) -> Principal:
        """The caller behind a key.

        Raises:
            Unauthenticated: unknown, malformed, revoked or expired.
        """
        claim = rules.parse(presented)
        control = await self.stores.control()
        head = (await heads.read(control, CONTROL)).head
        ready = self._ready
        if ready.head != head or len(ready.keys) > REMEMBERED:
            ready.head, ready.keys = head, {}
        key = ready.keys.get(claim.digest)
        if key is None:
            key = await stored.by_digest(control, claim.digest)
            if key is None:
                raise Unauthenticated("this is not a key of this server")
            if ready.head == head:
                ready.keys[claim.digest] = key
        return rules.principal(key, claim, self.now())

    async def _own(self, who: Principal, id: str) -> Key:
        _require_person(who, frozenset())
        for key in await stored.of_owner(await self.stores.control(), who.user):
            if key.id == id:
                return key
        raise NotFound("no key with that id; `archivist keys list` shows them")

    async def _log(self, who: Principal, control: Database, key: Key, action: str, now: datetime) -> Sequence[Write]:
        """What goes with every change of a key: its line in the log and in the audit trail."""
        head = (await heads.read(control, CONTROL)).head
        op: Op = "put" if action == "keys create" else "delete"
        log = changes.append(CONTROL, head.epoch, kind="key", id=key.id, version=1, op=op, at=now)
        act = entry(replace(who, vault=CONTROL), self.new_id(), now, action, target=key.id)
        return [*log, audit.insert(act)]


def _require_person(who: Principal, scopes: frozenset[Scope]) -> None:
    if who.credential == "key" or not scopes <= who.scopes:
        raise InsufficientScope("keys are made and ended on the command line, with at most your own rights")
