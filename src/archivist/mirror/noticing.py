"""Stores that tell whenever something was committed to them: how the mirror learns that there is something to copy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archivist.domain.ids import CONTROL, VaultId
from archivist.storage.database import Database, Query, Row, Write
from archivist.storage.stores import Stores


@dataclass(frozen=True, slots=True)
class NoticingStores:
    """`stores`, and `notice` told of the vault, or of `control`, after every batch that was applied."""

    stores: Stores
    notice: Callable[[VaultId], None]

    async def control(self) -> Database:
        return _Noticing(await self.stores.control(), CONTROL, self.notice)

    async def vault(self, vault: VaultId, *, writable: bool = True) -> Database:
        found = await self.stores.vault(vault, writable=writable)
        return _Noticing(found, vault, self.notice) if writable else found

    async def create(self, vault: VaultId) -> None:
        await self.stores.create(vault)

    async def backup(self, folder: Path) -> int:
        return await self.stores.backup(folder)

    async def check(self) -> None:
        await self.stores.check()

    async def close(self) -> None:
        await self.stores.close()


@dataclass(frozen=True, slots=True)
class _Noticing:
    database: Database
    vault: VaultId
    notice: Callable[[VaultId], None]

    @property
    def dialect(self) -> str:
        return self.database.dialect

    async def read(self, query: Query, parameters: Mapping[str, Any] | None = None) -> Sequence[Row]:
        return await self.database.read(query, parameters)

    async def apply(self, batch: Sequence[Write]) -> Sequence[int]:
        counts = await self.database.apply(batch)
        self.notice(self.vault)
        return counts

    async def scrub(self) -> bool:
        return await self.database.scrub()

    async def close(self) -> None:
        await self.database.close()
