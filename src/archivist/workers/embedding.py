"""Gives vectors to memories that lack them: stored while the embedder was away, imported, or of another space.

It needs no state of its own: what is left to do is in the vault, so a kill costs at most one batch, and any number
of processes can do it side by side.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from archivist.domain.errors import Conflict, EmbedderUnavailable
from archivist.domain.ids import CONTROL, VaultId
from archivist.domain.memories import Memory, findable_text
from archivist.embedders.embedder import Embedder, Floats
from archivist.search.entries import Entries
from archivist.storage import heads, pending
from archivist.storage import memories as stored
from archivist.storage import vaults as stored_vaults
from archivist.storage.database import Database
from archivist.storage.stores import Stores
from archivist.telemetry.logging import logger
from archivist.workers.rounds import attempted

BATCH = 32
ROUND_SECONDS = 30.0
"""How often it looks by itself: other processes leave work behind, too."""

PREPARING_SECONDS = 1.0
"""How often it looks whether the embedder is ready."""

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
            await attempted("vectors wait", CONTROL, self.catch_up_all())
            soon = self.embedder.state == "preparing"
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), PREPARING_SECONDS if soon else ROUND_SECONDS)

    async def catch_up_all(self) -> None:
        """Every vault that there is, one after the other, as long as the embedder answers."""
        for vault in await stored_vaults.ids(await self.stores.control()):
            if self.embedder.state != "ready":
                return
            await attempted("vectors wait", vault, self.catch_up(vault))

    async def waiting(self, vault: VaultId) -> int:
        """How many memories of a vault lack their vectors."""
        return await pending.count(await self.stores.vault(vault), vault)

    async def catch_up(self, vault: VaultId, done: Callable[[int], None] = lambda _count: None) -> None:
        """Give every memory of one vault its vectors in the embedder's space; `done` is told of each batch.

        Raises:
            EmbedderUnavailable: it went away meanwhile; what was done stays done.
        """
        db = await self.stores.vault(vault)
        last = None
        while await self._wanted(db, vault) and (waiting := await pending.first(db, vault, BATCH, last)):
            last = waiting[-1]
            made = await self._made(list((await stored.find_many(db, vault, waiting)).values()))
            for memory, vectors in made:
                await self._keep(db, memory, vectors)
            done(len(waiting))
            log.info("vectors made", vault=vault, count=len(made), left=await pending.count(db, vault))

    async def _made(self, memories: Sequence[Memory]) -> list[tuple[Memory, Floats]]:
        """The memories with their vectors, without those that the embedder refuses: these go on waiting, alone."""
        try:
            made = await self.embedder.passages([findable_text(memory) for memory in memories])
        except EmbedderUnavailable as error:
            if self.embedder.state != "ready":
                raise
            if len(memories) > 1:
                return [pair for memory in memories for pair in await self._made([memory])]
            log.warning("vectors refused", memory=memories[0].id, reason=error.detail)
            return []
        return list(zip(memories, made, strict=True))

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
        if standing.space:
            log.info("vectors of another model are wanted now", vault=vault, space=self.embedder.space)
        return True

    async def _keep(self, db: Database, memory: Memory, vectors: Floats) -> None:
        head = (await heads.read(db, memory.vault)).head
        try:
            await db.apply(self.entries.embed(memory, head, self.now(), vectors, self.embedder.space))
        except Conflict:
            log.debug("somebody else was faster", vault=memory.vault)
