"""Vaults: making and finding them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_bytes

from archivist.domain import vaults as rules
from archivist.domain.access import Principal, require_administrator, require_person
from archivist.domain.audit import entry
from archivist.domain.errors import Conflict, InsufficientScope, NotFound
from archivist.domain.ids import CONTROL, UserId, VaultId
from archivist.domain.roles import Member, Role
from archivist.domain.vaults import PERSONAL_NAME, Kind, Vault
from archivist.services import acts
from archivist.storage import heads, members, uses
from archivist.storage import vaults as stored
from archivist.storage.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A vault as one person in it sees it. used: when something connected to it last did anything there."""

    vault: Vault
    role: Role
    members: int
    used: datetime | None


@dataclass(frozen=True, slots=True)
class Vaults:
    """The vault use cases of a person; what is connected has exactly one vault and no say in it."""

    stores: Stores
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def create(self, who: Principal, name: str, kind: Kind) -> Vault:
        """A new, empty vault of this person. The room is made first, the row second: no row is ever without a room.

        Raises:
            InvalidArgument: the name is outside its range.
            Conflict: this person has a vault of that name.
        """
        require_person(who)
        return await self._made(who, who.user, name, kind)

    async def create_for(self, who: Principal, name: str) -> Vault:
        """A vault for one user of a product, owned by the owner of the account key that asks.

        Raises:
            InsufficientScope: not an account key.
            InvalidArgument, Conflict: as `create`.
        """
        if who.credential != "account":
            raise InsufficientScope("only an account key makes vaults for the users of a product")
        return await self._made(who, who.user, name, "project")

    async def _made(self, who: Principal, owner: UserId, name: str, kind: Kind) -> Vault:
        name = rules.checked_name(name)
        control = await self.stores.control()
        if any(rules.folded(vault.name) == rules.folded(name) for vault in await stored.of_member(control, owner)):
            raise _taken(name)  # before a room is made that nobody would ever enter
        now = self.now()
        vault = Vault(id=VaultId(self.new_id()), name=name, kind=kind, owner=owner, created=now)
        await self.stores.create(vault.id)
        db = await self.stores.vault(vault.id)
        await db.apply([heads.make(vault.id, token_bytes(32))])
        act = entry(who, self.new_id(), now, "vaults create", target=vault.id, vault=CONTROL)
        log = await acts.written(control, act, "vault")
        membership = members.insert(Member(vault=vault.id, user=owner, role="owner", created=now))
        try:
            await control.apply([*log, stored.insert(vault), membership])
        except Conflict:
            raise _taken(name) from None
        return vault

    async def list(self, who: Principal) -> Sequence[Vault]:
        """The vaults that this person is in, oldest first."""
        require_person(who)
        return await stored.of_member(await self.stores.control(), who.user)

    async def roles(self, who: Principal) -> Mapping[VaultId, Role]:
        """The role of this person in each of their vaults."""
        require_person(who)
        found = await members.of_user(await self.stores.control(), who.user)
        return {member.vault: member.role for member in found}

    async def held(self, who: Principal, id: VaultId) -> Held:
        """One of the vaults that this person is in.

        Raises:
            NotFound: there is none of that id, or they are not in it: both alike.
        """
        require_person(who)
        control = await self.stores.control()
        member, found = await members.find(control, id, who.user), await stored.find(control, id)
        if member is None or found is None:
            raise NotFound("there is no such vault")
        return Held(
            vault=found,
            role=member.role,
            members=len(await members.of_vault(control, id)),
            used=await uses.last_in(control, id),
        )

    async def named(self, who: Principal, name: str) -> Vault:
        """The vault of that name, their own one first. Raises NotFound: this person is in none of that name."""
        wanted = rules.folded(name)
        for vault in sorted(await self.list(who), key=lambda vault: vault.owner != who.user):
            if rules.folded(vault.name) == wanted:
                return vault
        raise NotFound("no vault of that name; `archivist vaults list` shows them")

    async def anywhere(self, who: Principal, name: str) -> Vault:
        """The vault of that name or id, whoever's it is: for what its operator does to it without looking into it.

        Raises:
            NotFound: there is none.
            Conflict: several people have one of that name; the detail gives their ids.
        """
        require_administrator(who)
        wanted, everything = rules.folded(name), await stored.everything(await self.stores.control())
        found = [vault for vault in everything if vault.id == name or rules.folded(vault.name) == wanted]
        if not found:
            raise NotFound("no vault of that name or id")
        if len(found) > 1:
            raise Conflict(f"several vaults have that name; say which by its id: {', '.join(one.id for one in found)}")
        return found[0]

    async def personal(self, who: Principal) -> Vault:
        """The personal vault of this person, made if it is missing; two at once make one."""
        try:
            return await self.named(who, PERSONAL_NAME)
        except NotFound:
            pass
        try:
            return await self.create(who, PERSONAL_NAME, "personal")
        except Conflict:
            return await self.named(who, PERSONAL_NAME)


def _taken(name: str) -> Conflict:
    return Conflict(f"there is a vault named {name!r} already; choose another name")
