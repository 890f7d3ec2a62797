"""Vaults: making and finding them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_bytes

from archivist.domain import vaults as rules
from archivist.domain.access import Principal
from archivist.domain.audit import entry
from archivist.domain.errors import Conflict, InsufficientScope, NotFound
from archivist.domain.ids import CONTROL, VaultId
from archivist.domain.vaults import PERSONAL_NAME, Kind, Vault
from archivist.storage import audit, changes, heads
from archivist.storage import vaults as stored
from archivist.storage.stores import Stores


@dataclass(frozen=True, slots=True)
class Vaults:
    """The vault use cases of a person; a key has exactly one vault and no say in it."""

    stores: Stores
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def create(self, who: Principal, name: str, kind: Kind) -> Vault:
        """A new, empty vault of this person. The room is made first, the row second: no row is ever without a room.

        Raises:
            InvalidArgument: the name is outside its range.
            Conflict: this person has a vault of that name.
        """
        name = rules.checked_name(name)
        if any(rules.folded(vault.name) == rules.folded(name) for vault in await self.list(who)):
            raise _taken(name)  # before a room is made that nobody would ever enter
        now = self.now()
        vault = Vault(id=VaultId(self.new_id()), name=name, kind=kind, owner=who.user, created=now)
        await self.stores.create(vault.id)
        db = await self.stores.vault(vault.id)
        await db.apply([heads.make(vault.id, token_bytes(32))])
        control = await self.stores.control()
        head = (await heads.read(control, CONTROL)).head
        act = entry(who, self.new_id(), now, "vaults create", target=vault.id)
        log = changes.append(CONTROL, head.epoch, kind="vault", id=vault.id, version=1, op="put", at=now)
        try:
            await control.apply([*log, stored.insert(vault), audit.insert(act)])
        except Conflict:
            raise _taken(name) from None
        return vault

    async def list(self, who: Principal) -> Sequence[Vault]:
        """The vaults of this person, oldest first."""
        _require_person(who)
        return await stored.of_owner(await self.stores.control(), who.user)

    async def named(self, who: Principal, name: str) -> Vault:
        """Raises NotFound: this person has no vault of that name."""
        wanted = rules.folded(name)
        for vault in await self.list(who):
            if rules.folded(vault.name) == wanted:
                return vault
        raise NotFound("no vault of that name; `archivist vaults list` shows them")

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


def _require_person(who: Principal) -> None:
    if who.credential == "key":
        raise InsufficientScope("a key belongs to one vault; vaults are managed on the command line")
