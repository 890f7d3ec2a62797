"""Connections: what a person allowed which app, and taking it back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from archivist.domain.access import Principal, require_administrator, require_person
from archivist.domain.audit import entry
from archivist.domain.errors import Conflict, NotFound, Unavailable
from archivist.domain.grants import Grant, Reason
from archivist.domain.ids import CONTROL, UserId, VaultId
from archivist.domain.keys import Key
from archivist.domain.links import Link
from archivist.domain.uses import Seen
from archivist.services import acts, endings
from archivist.storage import grants, keys, uses
from archivist.storage.database import Database, Write
from archivist.storage.people import links, sessions, users
from archivist.storage.stores import Stores

TRIES = 5
TOLD = timedelta(days=30)
"""For so long a person is told that a connection ended because a token of it was in the wrong hands."""


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

    @property
    def named(self) -> str:
        """The id of whom or what it is about, for the audit trail; "" if only a time, or everything, is meant."""
        return self.user or self.client or self.vault or ""


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
        """Those of this person that have not ended, the last allowed first; then those that ended of misuse lately."""
        require_person(who)
        control = await self.stores.control()
        misused = await grants.reused(control, who.user, self.now() - TOLD)
        return await _seen(control, [*await grants.of_user(control, who.user), *misused])

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
        await self._end(who, (await self.find(who, id)).grant, "revoked")

    async def everybody(self, who: Principal, user: UserId | None = None) -> Sequence[Connection]:
        """Those of all people, or of one, that have not ended, the last allowed first: for whoever runs the server."""
        require_administrator(who)
        control = await self.stores.control()
        return await _seen(control, await (grants.alive(control) if user is None else grants.of_user(control, user)))

    async def cut(self, who: Principal, id: str) -> Grant:
        """End a connection of anybody's: for whoever runs the server.

        Raises:
            NotFound: there is no connection of that id, or it has ended.
        """
        require_administrator(who)
        for grant in await grants.alive(await self.stores.control()):
            if grant.id == id:
                await self._end(who, grant, "administrator")
                return grant
        raise NotFound("no connection with that id; `archivist connections list` shows them")

    async def end_all(self, who: Principal, which: Which) -> Ended:
        """The operator's kill switch: connections, keys and sessions that are meant, all at once.

        With them go the open links of whoever is meant, and into the vault that is. What came into being while the
        first of it was written is looked for once more.

        Raises:
            Unavailable: others end the same things at the same time; whether anything was ended by this is unknown.
        """
        require_administrator(who)
        control = await self.stores.control()
        first = await self._tried(who, control, which)
        late = await self._tried(who, control, which, late=True)
        return Ended(
            connections=first.connections + late.connections,
            keys=first.keys + late.keys,
            sessions=first.sessions + late.sessions,
        )

    async def _end(self, who: Principal, grant: Grant, reason: Reason) -> None:
        control, now = await self.stores.control(), self.now()
        act = entry(who, self.new_id(), now, "connections end", target=grant.id, vault=grant.vault)
        log = await acts.written(control, act, "grant", op="delete")
        try:
            await control.apply([*log, *endings.ending(grant, now, reason)])
        except Conflict:
            raise NotFound("that connection has ended already") from None

    async def _tried(self, who: Principal, control: Database, which: Which, *, late: bool = False) -> Ended:
        for _ in range(TRIES):
            try:
                return await self._end_all(who, control, which, late=late)
            except Conflict:
                continue  # something of it ended meanwhile: what is left is looked up anew
        raise Unavailable("others end the same at this moment; try again")

    async def _end_all(self, who: Principal, control: Database, which: Which, *, late: bool) -> Ended:
        """late: a second look, which leaves no line if nothing is left."""
        now = self.now()
        meant = [g for g in await grants.alive(control) if which.takes(g.created, g.user, g.vault, g.client)]
        cut_keys = await self._keys(control, which) if which.client is None else ()
        cut_sessions = await self._sessions(control, which) if which.client is None and which.vault is None else ()
        ended = Ended(connections=len(meant), keys=len(cut_keys), sessions=len(cut_sessions))
        count = ended.connections + ended.keys + ended.sessions
        if late and not count:
            return ended
        act = entry(who, self.new_id(), now, "end all", target=which.named, count=count, vault=CONTROL)
        log = await acts.written(control, act, "grant", op="delete", id=act.target or CONTROL)
        writes: list[Write] = [write for g in meant for write in endings.ending(g, now, _reason(which))]
        writes += [keys.revoke(key.vault, key.id, now) for key in cut_keys]
        writes += [sessions.end(digest) for digest in cut_sessions]
        writes += [links.end(link.digest, now) for link in await self._links(control, which)]
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

    async def _links(self, control: Database, which: Which) -> Sequence[Link]:
        """Open ones that lead somebody in; none if an app is meant."""
        found = [link for link in await links.unused(control) if link.kind != "set-up" and which.client is None]
        return [link for link in found if which.takes(link.created, link.maker, link.into_vault or CONTROL)]


async def _seen(control: Database, found: Sequence[Grant]) -> Sequence[Connection]:
    return [Connection(grant, await uses.seen(control, grant.vault, grant.id)) for grant in found]


def _reason(which: Which) -> Reason:
    return "blocked" if which.client else "vault" if which.vault and not which.user else "administrator"
