"""Keeps the mirror up to date: copies what this process committed at once, and what others left from time to time."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from archivist.domain.ids import CONTROL, VaultId
from archivist.mirror.mirror import Mirror
from archivist.storage import vaults as stored_vaults
from archivist.storage.stores import Stores
from archivist.workers.rounds import attempted

GATHER_SECONDS = 0.2
"""How long commits are gathered, so that many of them are copied as one."""

ROUND_SECONDS = 30.0
"""How often every vault is looked at: other processes leave work behind, and what failed is tried again."""

FINISH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Mirroring:
    """Where each copy stands is in the copy itself; `_new` only says where to look first."""

    stores: Stores
    mirror: Mirror
    _new: set[VaultId] = field(default_factory=set)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def notice(self, vault: VaultId) -> None:
        """Something was committed there."""
        self._new.add(vault)
        self._wake.set()

    async def run(self) -> None:
        """Work until cancelled; without a mirror there is nothing to do."""
        while self.mirror.enabled:
            await attempted("the mirror waits", CONTROL, self._sweep())
            with suppress(TimeoutError):
                async with asyncio.timeout(ROUND_SECONDS):
                    await self._follow_along()

    async def catch_up(self) -> None:
        """Copy everything there is, once."""
        await self.mirror.follow(CONTROL)
        for vault in await stored_vaults.ids(await self.stores.control()):
            await self.mirror.follow(vault)

    async def finish(self) -> None:
        """Before a process ends: copy what it committed, as far as FINISH_SECONDS go; others copy the rest."""
        if self.mirror.enabled:
            with suppress(TimeoutError):
                async with asyncio.timeout(FINISH_SECONDS):
                    while self._new:
                        await self._copy(self._new.pop())

    async def _follow_along(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._wake.clear()
            while self._new:
                await self._copy(self._new.pop())

    async def _sweep(self) -> None:
        await self._copy(CONTROL)
        for vault in await stored_vaults.ids(await self.stores.control()):
            await self._copy(vault)

    async def _copy(self, vault: VaultId) -> None:
        await attempted("the mirror waits", vault, self.mirror.follow(vault))
