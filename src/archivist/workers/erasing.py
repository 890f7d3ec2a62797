"""Finishes deletions that were cut off, and erasures: deleted bytes that a reader kept in the files until now."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from archivist.domain.ids import CONTROL, VaultId
from archivist.mirror.eraser import Eraser
from archivist.storage import vaults as stored_vaults
from archivist.storage.stores import Stores
from archivist.workers.rounds import attempted

ROUND_SECONDS = 5.0
SWEEP_ROUNDS = 60
"""Every so many rounds all vaults are looked at: another process may have been ended half-way."""

ABANDONED = timedelta(minutes=2)
"""A deletion that is under way for longer was left by a process that was ended."""


@dataclass(frozen=True, slots=True)
class Erasing:
    """What is to be done is in the vaults themselves; `_known` only says where to look first."""

    stores: Stores
    eraser: Eraser
    now: Callable[[], datetime]
    _known: set[VaultId] = field(default_factory=set)

    def want(self, vault: VaultId) -> None:
        """This vault holds deleted bytes."""
        self._known.add(vault)

    async def run(self) -> None:
        """Work until cancelled. At the start nobody is at a deletion yet, but in another process."""
        rounds, patience = 0, timedelta()
        while True:
            if rounds % SWEEP_ROUNDS == 0:
                await attempted("erasure waits", CONTROL, self._sweep())
            for vault in tuple(self._known):
                await attempted("a deletion waits", vault, self.eraser.end_all(vault, self.now() - patience))
                if await attempted("erasure waits", vault, self.finish(vault)) is not False:
                    self._known.discard(vault)  # what failed comes again with the next sweep
            rounds, patience = rounds + 1, ABANDONED
            await asyncio.sleep(ROUND_SECONDS)

    async def _sweep(self) -> None:
        self._known.update(await stored_vaults.ids(await self.stores.control()))

    async def finish(self, vault: VaultId) -> bool:
        """Whether no deleted byte of this vault is left in its files, and in those of its mirror."""
        return await self.eraser.scrub(vault)
