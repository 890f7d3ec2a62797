"""Finishes erasures: deleted bytes that a reader kept in the files until now."""

import asyncio
from dataclasses import dataclass, field

from archivist.domain.errors import ArchivistError
from archivist.domain.ids import VaultId
from archivist.storage import heads
from archivist.storage import vaults as stored_vaults
from archivist.storage.stores import Stores
from archivist.telemetry.logging import logger

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
            try:
                if rounds % SWEEP_ROUNDS == 0:
                    self._known.update(await stored_vaults.ids(await self.stores.control()))
                for vault in tuple(self._known):
                    if await self.finish(vault):
                        self._known.discard(vault)
            except ArchivistError as error:
                log.warning("erasure waits", reason=error.detail)
            rounds += 1
            await asyncio.sleep(ROUND_SECONDS)

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
