"""Reading the audit trail. Owners read that of their vault, administrators that of the server; reading it is noted."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from archivist.domain.access import Principal, require_administrator, require_person
from archivist.domain.audit import Entry, entry
from archivist.domain.errors import InvalidArgument, NotFound
from archivist.domain.ids import CONTROL, VaultId, is_uuid
from archivist.domain.uses import Use
from archivist.services.entering import role_now
from archivist.storage import audit, grants, keys, uses
from archivist.storage.database import Database
from archivist.storage.stores import Stores

PAGE = 50


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, newest first. `older` begins the next page; None: there is none."""

    entries: Sequence[Entry]
    older: str | None


@dataclass(frozen=True, slots=True)
class Doings:
    """The last acts of one connection, newest first, and how often it did what, the last done first."""

    acts: Sequence[Entry]
    counts: Sequence[Use]


@dataclass(frozen=True, slots=True)
class Trail:
    """The use cases of the audit trail."""

    stores: Stores
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def mine(self, who: Principal, *, before: str | None = None, limit: int = PAGE) -> Page:
        """What this person did themselves, on pages and the command line: sign-ins, passwords, sessions, vaults."""
        require_person(who)
        control = await self.stores.control()
        found = await audit.of_user(control, CONTROL, who.user, limit + 1, _before(before))
        return _page(found, limit)

    async def of_vault(self, who: Principal, vault: VaultId, *, before: str | None = None, limit: int = PAGE) -> Page:
        """What was done in a vault, and to what opens it, by whomever.

        Raises:
            NotFound: there is no such vault of this person, or they are neither admin nor owner of it: all alike.
        """
        require_person(who)
        control = await self._opened(who, vault)
        acts = await audit.recent(control, vault, limit + 1, _before(before))
        changes: Sequence[Entry] = []
        room = await self.stores.vault(vault, writable=False)
        if room is not control:  # on a server both lie in one table
            changes = await audit.recent(room, vault, limit + 1, _before(before))
        both = list(heapq.merge(acts, changes, key=lambda one: one.id, reverse=True))[: limit + 1]
        await self._note(who, control, vault)
        return _page(both, limit)

    async def reads(self, who: Principal, vault: VaultId) -> Sequence[Use]:
        """How often which connection and key did what, the last used first.

        Raises:
            NotFound: as `of_vault`.
        """
        require_person(who)
        return await uses.of_vault(await self._opened(who, vault), vault)

    async def of_connection(self, who: Principal, vault: VaultId, id: str, *, limit: int = PAGE) -> Doings:
        """What an app did with a connection that this person gave it, whatever their role in that vault.

        Raises:
            NotFound: this person has no connection of that id there.
        """
        require_person(who)
        control = await self.stores.control()
        grant = await grants.find(control, vault, id)
        role = await role_now(control, vault, who.user)
        if grant is None or grant.user != who.user or role is None:
            raise NotFound("no connection with that id")
        room = await self.stores.vault(vault, writable=False)
        acts = list(await audit.of_credential(control, vault, id, limit))
        if room is not control:
            acts += await audit.of_credential(room, vault, id, limit)
        acts.sort(key=lambda act: act.id, reverse=True)
        counts = [use for use in await uses.of_vault(control, vault) if use.credential == id]
        return Doings(acts[:limit], counts)

    async def names(self, who: Principal, vault: VaultId) -> Mapping[str, str]:
        """What the connections and keys of a vault are called, by id; ended ones too.

        Raises:
            NotFound: as `of_vault`.
        """
        require_person(who)
        control = await self._opened(who, vault)
        apps = {grant.id: grant.client_name for grant in await grants.of_vault(control, vault)}
        return {**apps, **{key.id: key.name for key in await keys.of_vault(control, vault)}}

    async def of_server(self, who: Principal, *, before: str | None = None, limit: int = PAGE) -> Page:
        """What concerns the server: sign-ins, accounts, apps, settings; nothing of any vault."""
        require_administrator(who)
        control = await self.stores.control()
        found = await audit.recent(control, CONTROL, limit + 1, _before(before))
        await self._note(who, control, CONTROL)
        return _page(found, limit)

    async def note(self, who: Principal, action: str) -> None:
        """What a person did that changes no row, such as a backup, a start or a stop of the server."""
        require_person(who)
        control = await self.stores.control()
        act = entry(who, self.new_id(), self.now(), action, vault=CONTROL)
        await control.apply([audit.insert(act)])

    async def _opened(self, who: Principal, vault: VaultId) -> Database:
        control = await self.stores.control()
        if await role_now(control, vault, who.user) not in ("admin", "owner"):
            raise NotFound("there is no such vault, or its activity is not yours to read")
        return control

    async def _note(self, who: Principal, control: Database, vault: VaultId) -> None:
        act = entry(who, self.new_id(), self.now(), "audit read", target=vault, vault=vault)
        await control.apply([audit.insert(act)])


def _before(given: str | None) -> str:
    if given is None:
        return audit.FIRST
    if not is_uuid(given):
        raise InvalidArgument("before", "must be the id that the page before ended with")
    return given


def _page(found: Sequence[Entry], limit: int) -> Page:
    older = found[limit - 1].id if len(found) > limit else None
    return Page(found[:limit], older)
