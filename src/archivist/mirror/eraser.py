"""Sees deletions through: the mirror first, then the data, each read back; or withdraws them as a whole."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from archivist.domain.erasures import Erasure
from archivist.domain.errors import ArchivistError, Conflict, Unavailable
from archivist.domain.ids import MemoryId, VaultId
from archivist.mirror.mirror import Mirror, is_left
from archivist.search.entries import Entries
from archivist.storage import erasures, heads
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.stores import Stores

TRIES = 5


@dataclass(frozen=True, slots=True)
class Eraser:
    """What an erasure hid is hidden already when this begins. `now` is told to the log when something is withdrawn."""

    stores: Stores
    mirror: Mirror
    entries: Entries
    now: Callable[[], datetime]

    async def carry_out(self, db: Database, erasure: Erasure) -> Mapping[MemoryId, int]:
        """Delete what it hid, on both sides. Returns the memories that are gone, with their documents.

        Raises:
            Unavailable: nothing was deleted, since the mirror cannot confirm it; or it could not be read back. What is
                then not ended yet is ended by the next one who finds it.
        """
        going = await erasures.documents(db, erasure)
        try:
            await self.mirror.cleared(erasure.vault, list(going), list(going.values()))
        except ArchivistError as error:
            await self.withdraw(db, erasure)
            raise Unavailable(
                f"nothing was deleted: the mirror must confirm every deletion, and {error.detail}; try again, or see"
                " `archivist doctor`"
            ) from error
        try:
            await db.apply(self.entries.drop(erasure))
        except Conflict:  # somebody else found it, and finished or withdrew it
            if await stored.existing(db, erasure.vault, list(going)):
                raise Unavailable("nothing was deleted: it was withdrawn meanwhile; try again") from None
        if await is_left(db, erasure.vault, list(going), list(going.values()), self.entries.keywords):
            raise Unavailable("the deletion could not be read back as done; try again")
        return going

    async def withdraw(self, db: Database, erasure: Erasure) -> None:
        """Show again what it hid, and let the mirror have it back."""
        for _ in range(TRIES):
            if not await erasures.is_under_way(db, erasure):
                return
            head = (await heads.read(db, erasure.vault)).head
            with suppress(Conflict):
                await db.apply(self.entries.show_again(erasure, head, self.now()))
                return
        raise Unavailable("the deletion could be neither finished nor withdrawn yet; it will be, try again")

    async def end_all(self, vault: VaultId, begun_before: datetime) -> None:
        """End what others left half-way: those who began it were ended themselves."""
        db = await self.stores.vault(vault)
        for erasure in await erasures.under_way(db, vault):
            if erasure.at < begun_before:
                await self.carry_out(db, erasure)

    async def scrub(self, vault: VaultId) -> bool:
        """Whether no deleted byte of this vault is left, in its files and in those of its mirror."""
        db = await self.stores.vault(vault)
        standing = await heads.read(db, vault)
        if standing.erasing:
            if not await db.scrub():
                return False
            await db.apply([heads.erased(vault, standing.head.seq)])
        return await self.mirror.scrub(vault)
