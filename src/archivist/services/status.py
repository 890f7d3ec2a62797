"""How a vault stands: what it holds, what this connection may do there, and what is under way."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from archivist.domain.access import Principal
from archivist.domain.changes import Head
from archivist.domain.ids import VaultId
from archivist.domain.operations import permit
from archivist.embedders.embedder import Embedder
from archivist.storage import heads, pending, vaults
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.memories import Tally
from archivist.storage.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Counts are exact. `pending`: memories that wait for their vectors. `erasing`: deleted bytes are not gone yet."""

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
    mirror: str = "disabled"


@dataclass(frozen=True, slots=True)
class Statuses:
    """Counting a large vault takes a while, so a tally is kept until the vault's log moves on."""

    stores: Stores
    embedder: Embedder
    tallies: dict[VaultId, tuple[Head, Tally, int]] = field(default_factory=dict)

    async def of(self, who: Principal, operation: str = "memory_status") -> Status:
        """The state of the vault of `who`."""
        permit(who, operation)
        db = await self.stores.vault(who.vault, writable=who.may_change)
        state = await heads.read(db, who.vault)
        tally, waiting = await self._tally(db, who.vault, state.head)
        control = await self.stores.control()
        vault = await vaults.find(control, who.vault)
        return Status(
            vault_ref=reference(state.secret, who),
            vault_kind=vault.kind if vault else "removed",
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
            pending=waiting,
            erasing=state.erasing > 0,
        )

    async def _tally(self, db: Database, vault: VaultId, head: Head) -> tuple[Tally, int]:
        kept = self.tallies.get(vault)
        if kept is None or kept[0] != head:
            kept = (head, await stored.tally(db, vault), await pending.count(db, vault))
            self.tallies[vault] = kept
        return kept[1], kept[2]


def reference(secret: bytes, who: Principal) -> str:
    """A name for this vault as this credential sees it: stable, and of no use to anybody else."""
    mark = hmac.digest(secret, f"vault:{len(who.vault)}:{who.vault}:{who.credential_id}".encode(), "sha256")
    return f"vault-{mark.hex()[:16]}"
