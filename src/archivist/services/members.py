"""Who is in a vault: inviting, roles, leaving. A vault always has an owner."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from archivist.domain.access import Principal, require_person
from archivist.domain.audit import Entry, entry
from archivist.domain.changes import Head
from archivist.domain.errors import Conflict, InsufficientScope, NotFound, Unavailable
from archivist.domain.ids import UserId, VaultId
from archivist.domain.links import new_link
from archivist.domain.roles import Member, Role, may_manage
from archivist.services import acts, endings
from archivist.storage import grants, keys
from archivist.storage import members as stored
from archivist.storage import vaults as stored_vaults
from archivist.storage.database import Database, Write
from archivist.storage.members import Named
from archivist.storage.people import links
from archivist.storage.stores import Stores

TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """An open invitation. by: who made it; empty if they are in the vault no more."""

    id: str
    role: Role
    by: str
    expires: datetime


@dataclass(frozen=True, slots=True)
class Members:
    """The use cases of membership. Administrators of the server have no say in vaults that they are not in."""

    stores: Stores
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def list(self, who: Principal, vault: VaultId) -> Sequence[Named]:
        """Everybody in a vault that this person is in, oldest first.

        Raises:
            NotFound: there is none, or they are not in it: both alike.
        """
        require_person(who)
        control = await self.stores.control()
        await membership(control, who, vault)
        return await stored.of_vault(control, vault)

    async def role(self, who: Principal, vault: VaultId) -> Role:
        """Raises NotFound: there is no such vault for this person."""
        require_person(who)
        return (await membership(await self.stores.control(), who, vault)).role

    async def invite(self, who: Principal, vault: VaultId, role: Role) -> str:
        """The secret of a link by which one person joins.

        Raises:
            NotFound: there is no such vault for this person.
            InsufficientScope: their role does not let them give that one.
            Conflict: it is a personal vault, which nobody else ever sees.
        """
        require_person(who)
        control = await self.stores.control()
        _require_may(await membership(control, who, vault), role)
        found = await stored_vaults.find(control, vault)
        if found is not None and found.kind == "personal":
            raise Conflict("a personal vault is its owner's alone; make a project vault and invite people there")
        now = self.now()
        secret, link = new_link("invitation", id=self.new_id(), maker=who.user, now=now, into_vault=vault, role=role)
        act = entry(who, self.new_id(), now, "members invite", target=link.id, vault=vault)
        await control.apply([*await acts.written(control, act, "link"), links.insert(link)])
        return secret

    async def invitations(self, who: Principal, vault: VaultId) -> Sequence[Invitation]:
        """The open ones into a vault, oldest first; none for those who could not have made them.

        Raises:
            NotFound: there is no such vault for this person.
        """
        require_person(who)
        control = await self.stores.control()
        mine = await membership(control, who, vault)
        names = {one.member.user: one.name for one in await stored.of_vault(control, vault)}
        now = self.now()
        return [
            Invitation(id=link.id, role=link.role, by=names.get(link.maker, ""), expires=link.expires)
            for link in await links.into(control, vault)
            if link.role and now < link.expires and may_manage(mine.role, link.role)
        ]

    async def withdraw(self, who: Principal, vault: VaultId, id: str) -> None:
        """Take an invitation back.

        Raises:
            NotFound: there is no such vault for this person, or no such invitation into it that they could have made.
        """
        require_person(who)
        if id not in {one.id for one in await self.invitations(who, vault)}:
            raise NotFound("no open invitation with that id")
        control, now = await self.stores.control(), self.now()
        act = entry(who, self.new_id(), now, "members withdraw", target=id, vault=vault)
        log = await acts.written(control, act, "link", op="delete")
        try:
            await control.apply([*log, links.withdraw(id, now)])
        except Conflict:
            raise NotFound("that invitation was used meanwhile") from None

    async def set_role(self, who: Principal, vault: VaultId, user: UserId, role: Role) -> None:
        """Raises as `remove` does."""
        require_person(who)

        def change(theirs: Member, mine: Member) -> Sequence[Write]:
            _require_may(mine, theirs.role)
            _require_may(mine, role)
            return [stored.set_role(vault, user, role)]

        await self._change(who, vault, user, "members role", change, stays_owner=role == "owner")

    async def remove(self, who: Principal, vault: VaultId, user: UserId) -> None:
        """Take somebody out of a vault, or leave it. Their keys and connections there end.

        Raises:
            NotFound: there is no such vault for this person, or nobody of that id in it.
            InsufficientScope: their role does not let them.
            Conflict: nobody would own the vault any more.
        """
        require_person(who)

        def change(theirs: Member, mine: Member) -> Sequence[Write]:
            if theirs.user != who.user:
                _require_may(mine, theirs.role)
            return [stored.remove(vault, user), keys.revoke_of(vault, user, self.now())]

        await self._change(who, vault, user, "members remove", change, stays_owner=False)

    async def _change(
        self,
        who: Principal,
        vault: VaultId,
        user: UserId,
        action: str,
        change: Callable[[Member, Member], Sequence[Write]],
        *,
        stays_owner: bool,
    ) -> None:
        """One change, decided on what is there and applied only if it is still so: two owners cannot both go."""
        control = await self.stores.control()
        for _ in range(TRIES):
            head = await acts.head(control)
            mine = await membership(control, who, vault)
            theirs = await stored.find(control, vault, user)
            if theirs is None:
                raise NotFound("nobody of that id is in this vault")
            writes = change(theirs, mine)
            if theirs.role == "owner" and not stays_owner and await stored.owners(control, vault) == 1:
                raise Conflict("this vault would have no owner; make somebody else an owner first")
            if not stays_owner and action == "members remove":
                writes = [*writes, *await self._connections_end(control, vault, user)]
            act = entry(who, self.new_id(), self.now(), action, target=user, vault=vault)
            if await _applied(control, head, act, writes):
                return
        raise Unavailable("others change this vault's members at the same time; try again")

    async def _connections_end(self, control: Database, vault: VaultId, user: UserId) -> Sequence[Write]:
        now = self.now()
        theirs = [grant for grant in await grants.of_user(control, user) if grant.vault == vault]
        return [write for grant in theirs for write in endings.ending(grant, now, "membership")]


async def membership(control: Database, who: Principal, vault: VaultId) -> Member:
    """As what `who` is in a vault. Raises NotFound: there is no such vault for them."""
    member = await stored.find(control, vault, who.user)
    if member is None or await stored_vaults.find(control, vault) is None:
        raise NotFound("there is no such vault")
    return member


async def _applied(control: Database, head: Head, act: Entry, writes: Sequence[Write]) -> bool:
    """False if somebody changed something in between."""
    try:
        await control.apply([*acts.written_from(head, act, "member"), *writes])
    except Conflict:
        return False
    return True


def _require_may(mine: Member, role: Role) -> None:
    if not may_manage(mine.role, role):
        raise InsufficientScope(f"as {mine.role} of this vault you cannot give or change the role {role}")
