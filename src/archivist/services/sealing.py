"""Exchanging the server's own secrets while everything runs. What lies sealed in the database goes along."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from archivist.domain.access import Principal, require_administrator
from archivist.domain.audit import entry
from archivist.domain.errors import Conflict, NotFound, Unavailable
from archivist.domain.ids import CONTROL
from archivist.services import acts
from archivist.storage.database import Database, Write
from archivist.storage.keyring import Keyring
from archivist.storage.people import users
from archivist.storage.stores import Stores

TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Resealed:
    """How many second factors were sealed anew, and the names of those whose own no secret opens."""

    count: int
    lost: Sequence[str]


@dataclass(frozen=True, slots=True)
class Sealing:
    """The use cases around the keyring. The trail is written first: no exchange is without its line there."""

    stores: Stores
    keyring: Keyring
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def rotate(self, who: Principal) -> Resealed:
        """A new secret seals from now on; the one that did until now still opens, one before it no more.

        Raises:
            Conflict: somebody else exchanges them at this moment.
            Unavailable: people change their second factors all the time; nothing was changed.
        """
        require_administrator(who)
        with self.keyring.alone():
            done = await self._reseal(who, "secrets rotate")
            self.keyring.rotate()
        return done

    async def strike(self, who: Principal) -> Resealed:
        """Only the newest secret is valid any more: what the one before it sealed, and was given out, is dead.

        Raises:
            Conflict: there is one secret only, so that nothing can be struck off; or as `rotate`.
            Unavailable: as `rotate`.
        """
        require_administrator(who)
        with self.keyring.alone():
            if self.keyring.versions == 1:
                raise Conflict("there is only one secret, so none was struck off; `archivist secrets rotate` makes one")
            done = await self._reseal(who, "secrets strike")
            self.keyring.strike()
        return done

    async def _reseal(self, who: Principal, action: str) -> Resealed:
        """Seal every second factor by the newest secret, in one batch with the line in the trail."""
        control = await self.stores.control()
        for _ in range(TRIES):
            writes, lost = await self._writes(control)
            act = entry(who, self.new_id(), self.now(), action, count=len(writes), vault=CONTROL)
            try:
                await control.apply([*await acts.written(control, act, "user"), *writes])
            except Conflict:
                continue  # somebody changed theirs meanwhile
            return Resealed(count=len(writes), lost=lost)
        raise Unavailable("second factors change at this moment; try again")

    async def _writes(self, control: Database) -> tuple[Sequence[Write], Sequence[str]]:
        writes, lost = [], []
        for user in await users.everybody(control):
            if not user.factor:
                continue
            try:
                writes.append(users.reseal(user.id, user.factor, self.keyring.reseal(user.factor)))
            except NotFound:
                lost.append(user.name)
        return writes, lost
