"""What an administrator sees of the people of a server, and of the apps that are blocked there: counts, no contents."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from archivist.domain.access import Principal, require_administrator
from archivist.domain.audit import TARGET_LENGTH
from archivist.domain.clients import Client
from archivist.domain.ids import CONTROL, UserId
from archivist.domain.users import User
from archivist.storage import audit, grants, keys
from archivist.storage.database import Database
from archivist.storage.people import clients, sessions, users
from archivist.storage.stores import Stores

_LOOKED_AT = 20
"""Of the last entries about a person, in which the last act of their own is looked for: others are refused tries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """An account, when its person was last here, and how many connections and keys of theirs work."""

    user: User
    last_here: datetime | None
    connections: int
    keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """An app that nobody here may connect. by: the name of who blocked it; "" is whoever runs the server."""

    client: Client
    by: str
    since: datetime


@dataclass(frozen=True, slots=True)
class People:
    """The views of an administrator."""

    stores: Stores
    now: Callable[[], datetime]

    async def list(self, who: Principal) -> Sequence[Person]:
        """Everybody, oldest first."""
        require_administrator(who)
        control, now = await self.stores.control(), self.now()
        connected = Counter(grant.user for grant in await grants.alive(control))
        alive = [key for key in await keys.alive(control) if key.expires is None or now < key.expires]
        held = Counter(key.owner for key in alive)
        return [
            Person(
                user=user,
                last_here=await self._last_here(control, user),
                connections=connected[user.id],
                keys=held[user.id],
            )
            for user in await users.everybody(control)
        ]

    async def blocked(self, who: Principal) -> Sequence[Blocked]:
        """The apps that are blocked, the first known first."""
        require_administrator(who)
        control = await self.stores.control()
        names = {user.id: user.name for user in await users.everybody(control)}
        found = []
        for client in await clients.everything(control):
            if client.blocked is not None:
                act = await audit.last(control, CONTROL, "clients block", client.digest[:TARGET_LENGTH])
                by = "" if act is None or act.credential == "cli" else names.get(UserId(act.user), "")
                found.append(Blocked(client=client, by=by, since=client.blocked))
        return found

    async def _last_here(self, control: Database, user: User) -> datetime | None:
        own = [act.at for act in await audit.of_user(control, CONTROL, user.id, _LOOKED_AT) if act.outcome != "refused"]
        return max([*own[:1], *(session.used for session in await sessions.of_user(control, user.id))], default=None)
