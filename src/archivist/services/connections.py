"""Connections: what a person allowed which app, and taking it back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from archivist.domain.access import Principal, require_administrator, require_person
from archivist.domain.audit import entry
from archivist.domain.errors import Conflict, NotFound
from archivist.domain.grants import Grant, Reason
from archivist.domain.ids import CONTROL, UserId, VaultId
from archivist.domain.keys import Key
from archivist.domain.uses import Seen
from archivist.services import acts, endings
from archivist.storage import grants, keys, uses
from archivist.storage.database import Database, Write
from archivist.storage.people import sessions, users
from archivist.storage.stores import Stores


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection and its use; None if it was never used."""

    grant: Grant
    seen: Seen | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """What is to end: all that meets every condition given. None is no condition."""

    user: UserId | None = None
    client: str | None = None
    vault: VaultId | None = None
    since: datetime | None = None
    until: datetime | None = None

    def takes(self, made: datetime, user: UserId, vault: VaultId, client: str | None = None) -> bool:
        """Whether something of this user, vault and app, made then, is meant."""
        return (
            self.user in (None, user)
            and self.vault in (None, vault)
            and self.client in (None, client)
            and (self.since is None or made >= self.since)
            and (self.until is None or made < self.until)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How many of each were ended."""

    connections: int
    keys: int
    sessions: int


@dataclass(frozen=True, slots=True)
class Connections:
    """The use cases of connections."""

    stores: Stores
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def list(self, who: Principal) -> Sequence[Connection]:
        """Those of this person that have not ended, the last allowed first."""
        require_person(who)
        control = await self.stores.control()
        found = await grants.of_user(control, who.user)
        return [Connection(grant, await uses.seen(control, grant.vault, grant.id)) for grant in found]

    async def find(self, who: Principal, id: str) -> Connection:
        """Raises NotFound: this person has no connection of that id."""
        require_person(who)
        for connection in await self.list(who):
            if connection.grant.id == id:
                return connection
        raise NotFound("no connection with that id")

    async def end(self, who: Principal, id: str) -> None:
        """End a connection. It holds from the next request on, in every process.

        Raises:
            NotFound: this person has no connection of that id, or it has ended.
        """
        require_person(who)
        grant = (await self.find(who, id)).grant
        control, now = await self.stores.control(), self.now()
        act = entry(who, self.new_id(), now, "connections end", target=grant.id, vault=grant.vault)
        log = await acts.written(control, act, "grant", op="delete")
        try:
            await control.apply([*log, *endings.ending(grant, now, "revoked")])
        except Conflict:
            raise NotFound("that connection has ended already") from None

    async def end_all(self, who: Principal, which: Which) -> Ended:
        """The operator's kill switch: connections, keys and sessions that are meant, all at once."""
        require_administrator(who)
        control, now = await self.stores.control(), self.now()
        meant = [g for g in await grants.alive(control) if which.takes(g.created, g.user, g.vault, g.client)]
        cut_keys = await self._keys(control, which) if which.client is None else ()
        cut_sessions = await self._sessions(control, which) if which.client is None and which.vault is None else ()
        ended = Ended(connections=len(meant), keys=len(cut_keys), sessions=len(cut_sessions))
        count = ended.connections + ended.keys + ended.sessions
        act = entry(who, self.new_id(), now, "end all", target=which.user or "", count=count, vault=CONTROL)
        log = await acts.written(control, act, "grant", op="delete", id=act.target or CONTROL)
        writes: list[Write] = [write for g in meant for write in endings.ending(g, now, _reason(which))]
        writes += [keys.revoke(key.vault, key.id, now) for key in cut_keys]
        writes += [sessions.end(digest) for digest in cut_sessions]
        await control.apply([*log, *writes])
        return ended

    async def _keys(self, control: Database, which: Which) -> Sequence[Key]:
        found = await keys.alive(control)
        return [key for key in found if which.takes(key.created, key.owner, key.vault)]

    async def _sessions(self, control: Database, which: Which) -> Sequence[str]:
        everybody = [user.id for user in await users.everybody(control)]
        meant = everybody if which.user is None else [which.user]
        found = [session for user in meant for session in await sessions.of_user(control, user)]
        return [one.digest for one in found if which.takes(one.created, one.user, CONTROL)]


def _reason(which: Which) -> Reason:
    return "user" if which.user else "client" if which.client else "vault" if which.vault else "operator"
