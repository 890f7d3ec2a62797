"""Gives vectors to memories that lack them: stored while the embedder was away, imported, or of another space.

It needs no state of its own: what is left to do is in the vault, so a kill costs at most one batch, and any number
of processes can do it side by side.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from archivist.domain.errors import ArchivistError, Conflict
from archivist.domain.ids import VaultId
from archivist.domain.memories import Memory, findable_text
from archivist.embedders.embedder import Embedder, Floats
from archivist.search.entries import Entries
from archivist.storage import heads, pending
from archivist.storage import memories as stored
from archivist.storage import vaults as stored_vaults
from archivist.storage.database import Database
from archivist.storage.stores import Stores
from archivist.telemetry.logging import logger

BATCH = 32
ROUND_SECONDS = 30.0
"""How often it looks by itself: other processes leave work behind, too."""

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Embedding:
    """Works in the background of a server, or once for a command."""

    stores: Stores
    embedder: Embedder
    entries: Entries
    now: Callable[[], datetime]
    _adopted: set[VaultId] = field(default_factory=set)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """There is something to do now."""
        self._wake.set()

    async def run(self) -> None:
        """Work until cancelled. What fails is logged and tried again in the next round."""
        while True:
            self._wake.clear()
            try:
                await self.catch_up_all()
            except ArchivistError as error:
                log.warning("vectors wait", reason=error.detail)
            try:
                await asyncio.wait_for(self._wake.wait(), ROUND_SECONDS if self.embedder.state == "ready" else 1)
            except TimeoutError:
                continue

    async def catch_up_all(self) -> None:
        """Every vault that there is, one after the other."""
        if self.embedder.state != "ready":
            return
        for vault in await stored_vaults.ids(await self.stores.control()):
            await self.catch_up(vault)

    async def waiting(self, vault: VaultId) -> int:
        """How many memories of a vault lack their vectors."""
        return await pending.count(await self.stores.vault(vault), vault)

    async def catch_up(self, vault: VaultId, done: Callable[[int], None] = lambda _count: None) -> None:
        """Give every memory of one vault its vectors in the embedder's space; `done` is told of each batch.

        Raises:
            EmbedderUnavailable: it went away meanwhile; what was done stays done.
        """
        db = await self.stores.vault(vault)
        if not await self._wanted(db, vault):
            return
        while waiting := await pending.first(db, vault, BATCH):
            rows = await stored.find_many(db, vault, waiting)
            memories = list(rows.values())
            vectors = await self.embedder.passages([findable_text(memory) for memory in memories])
            for memory, rows_of_one in zip(memories, vectors, strict=True):
                await self._keep(vault, memory, rows_of_one)
            done(len(memories))
            log.info("vectors made", vault=vault, count=len(memories), left=await pending.count(db, vault))

    async def _wanted(self, db: Database, vault: VaultId) -> bool:
        """Whether the vault wants this embedder's space; a process says so once, so that two cannot take turns."""
        standing = await heads.read(db, vault)
        if standing.space == self.embedder.space:
            return True
        if vault in self._adopted:
            log.warning("another process wants other vectors", vault=vault, wanted=standing.space)
            return False
        await db.apply(self.entries.adopt(vault, standing.head, self.embedder.space, self.now()))
        self._adopted.add(vault)
        log.info("vectors of another model are wanted now", vault=vault, space=self.embedder.space, was=standing.space)
        return True

    async def _keep(self, vault: VaultId, memory: Memory, vectors: Floats) -> None:
        db = await self.stores.vault(vault)
        head = (await heads.read(db, vault)).head
        try:
            await db.apply(self.entries.embed(memory, head, self.now(), vectors, self.embedder.space))
        except Conflict:
            log.debug("somebody else was faster", vault=vault)
