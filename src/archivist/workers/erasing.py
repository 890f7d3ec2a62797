"""Finishes erasures: deleted bytes that a reader kept in the files until now."""

import asyncio
from dataclasses import dataclass, field

from archivist.domain.ids import CONTROL, VaultId
from archivist.storage import heads
from archivist.storage import vaults as stored_vaults
from archivist.storage.stores import Stores
from archivist.telemetry.logging import logger
from archivist.workers.rounds import attempted

ROUND_SECONDS = 5.0
SWEEP_ROUNDS = 60
"""Every so many rounds all vaults are looked at: another process may have been ended half-way."""

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Erasing:
    """What is to be done is in the vaults themselves; `_known` only says where to look first."""

    stores: Stores
    _known: set[VaultId] = field(default_factory=set)

    def want(self, vault: VaultId) -> None:
        """This vault holds deleted bytes."""
        self._known.add(vault)

    async def run(self) -> None:
        """Work until cancelled."""
        rounds = 0
        while True:
            if rounds % SWEEP_ROUNDS == 0:
                await attempted("erasure waits", CONTROL, self._sweep())
            for vault in tuple(self._known):
                if await attempted("erasure waits", vault, self.finish(vault)) is not False:
                    self._known.discard(vault)  # what failed comes again with the next sweep
            rounds += 1
            await asyncio.sleep(ROUND_SECONDS)

    async def _sweep(self) -> None:
        self._known.update(await stored_vaults.ids(await self.stores.control()))

    async def finish(self, vault: VaultId) -> bool:
        """Whether no deleted byte of this vault is left in its files."""
        db = await self.stores.vault(vault)
        standing = await heads.read(db, vault)
        if not standing.erasing:
            return True
        if not await db.scrub():
            return False
        await db.apply([heads.erased(vault, standing.head.seq)])
        log.info("erased", vault=vault)
        return True
