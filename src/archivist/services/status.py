"""How a vault stands: what it holds, what this connection may do there, and what is under way."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from archivist.domain.access import Principal
from archivist.domain.changes import Head
from archivist.domain.errors import Unavailable
from archivist.domain.ids import VaultId
from archivist.domain.operations import permit
from archivist.domain.reflections import Debt
from archivist.embedders.embedder import Embedder
from archivist.mirror.mirror import Lag, Mirror
from archivist.services.owing import Owing
from archivist.services.reflection import owed
from archivist.storage import batches, heads, pending, vaults
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.memories import Tally
from archivist.storage.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Counts are exact. `pending`: memories that wait for their vectors. `erasing`: deleted bytes are not gone yet.

    reflection: what waits to be reflected on; None if that could not be read.
    """

    vault_ref: str
    vault_kind: str
    storage: str
    memories: int
    tokens: int
    tiers: Mapping[int, int]
    archived: int
    oldest: datetime | None
    newest: datetime | None
    scopes: tuple[str, ...]
    embedder: str
    embedder_reason: str
    pending: int
    erasing: bool
    reflection: Debt | None = None
    mirror: Lag


@dataclass(frozen=True, slots=True)
class _Counted:
    """What was found when the vault's log stood at `head`."""

    head: Head
    tally: Tally
    pending: int
    kind: str


@dataclass(frozen=True, slots=True)
class Statuses:
    """Counting a large vault takes a while, so what was counted is kept until the vault's log moves on."""

    stores: Stores
    embedder: Embedder
    now: Callable[[], datetime]
    mirror: Mirror
    owing: Owing
    _counted: dict[VaultId, _Counted] = field(default_factory=dict)

    async def of(self, who: Principal, operation: str = "memory_status") -> Status:
        """The state of the vault of `who`."""
        permit(who, operation)
        db = await self.stores.vault(who.vault, writable=who.may_change)
        standing = await heads.read(db, who.vault)
        counted = self._counted.get(who.vault)
        if counted is None or counted.head != standing.head:
            counted = self._counted[who.vault] = await self._count(db, who.vault, standing.head)
        tally, mirror = counted.tally, await self.mirror.lag(who.vault)
        return Status(
            vault_ref=reference(standing.secret, who),
            vault_kind=counted.kind,
            storage=db.dialect,
            memories=tally.memories,
            tokens=tally.tokens,
            tiers=tally.tiers,
            archived=tally.archived,
            oldest=tally.oldest,
            newest=tally.newest,
            scopes=tuple(sorted(scope.value for scope in who.scopes)),
            embedder=self.embedder.state,
            embedder_reason=self.embedder.reason,
            pending=counted.pending,
            erasing=standing.erasing > 0 or mirror.erasing,
            mirror=mirror,
            reflection=await self._debt(db, who.vault),
        )

    async def _count(self, db: Database, vault: VaultId, head: Head) -> _Counted:
        found = await vaults.find(await self.stores.control(), vault)
        kind = found.kind if found else "removed"
        return _Counted(head, await stored.tally(db, vault), await pending.count(db, vault), kind)

    async def _debt(self, db: Database, vault: VaultId) -> Debt | None:
        with suppress(Unavailable):  # the rest of the state is worth telling without it
            return owed(await self.owing.of(db, vault), await batches.glance(db, vault, self.now()))
        return None


def reference(secret: bytes, who: Principal) -> str:
    """A name for this vault as this credential sees it: stable, and of no use to anybody else."""
    named = f"vault:{len(who.vault)}:{who.vault}:{who.credential_id}".encode()
    return f"vault-{hashlib.blake2b(named, key=secret, digest_size=8).hexdigest()}"
