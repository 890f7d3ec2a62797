"""The mirror: a second store that follows the first one, and must confirm what is deleted."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from archivist.domain.changes import Head
from archivist.domain.errors import ArchivistError, Conflict, NotFound, Refused, Unavailable
from archivist.domain.ids import CONTROL, MemoryId, VaultId
from archivist.mirror import control, vaults
from archivist.search.keyword.index import KeywordIndex
from archivist.storage import erasures, heads
from archivist.storage.database import Database
from archivist.storage.keyring import copy_file
from archivist.storage.stores import Stores

TRIES = 50
"""How often in a row others may copy the same page."""

PATIENCE = 30.0
"""Seconds that a deletion waits for the mirror."""

State = Literal["disabled", "current", "behind", "ahead", "unreachable"]
"""ahead: it knows what the data have lost; nothing is copied over it, and no deletion can be confirmed."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How the mirror of a vault stands. entries: of the log that it has not copied yet; None if it cannot be asked.

    erasing: deleted bytes are not gone from its files yet.
    """

    state: State
    entries: int | None = None
    erasing: bool = False


@dataclass(frozen=True, slots=True)
class Mirror:
    """`store` follows `primary`; None: there is no mirror, and nothing waits for it.

    secrets: the file of the server's own secrets and where its copy goes, if both stores are folders.
    """

    primary: Stores
    store: Stores | None
    keywords: KeywordIndex
    secrets: tuple[Path, Path] | None = None
    _following: dict[VaultId, asyncio.Lock] = field(default_factory=dict)

    @property
    def enabled(self) -> bool:
        return self.store is not None

    async def follow(self, vault: VaultId) -> None:
        """Copy all that is new in a vault, or in the control database.

        Raises:
            Refused: the mirror knows more than the data; it is left as it is.
            Unavailable: one of the two does not answer.
        """
        if self.store is None:
            return
        async with self._following.setdefault(vault, asyncio.Lock()):
            conflicts = 0
            while conflicts < TRIES:
                try:
                    if not await self._step(self.store, vault):
                        return
                    conflicts = 0
                except Conflict:  # another process copied the same page
                    conflicts += 1
        raise Unavailable("the mirror holds what the data do not; see `archivist doctor`")

    async def cleared(self, vault: VaultId, ids: Sequence[MemoryId], documents: Sequence[int]) -> None:
        """Follow, then read back: none of these memories may be there, nor an index entry of theirs.

        Raises:
            Unavailable: it could not be shown in PATIENCE seconds, whatever the reason.
        """
        if self.store is None:
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await self.follow(vault)
                target = await self.store.vault(vault)
                if await is_left(target, vault, ids, documents, self.keywords):
                    raise Unavailable("the mirror still holds them")
        except TimeoutError:
            raise Unavailable("the mirror does not answer, or is too far behind") from None

    async def scrub(self, vault: VaultId) -> bool:
        """See Database.scrub, for the copy of a vault."""
        if self.store is None:
            return True
        try:
            target = await self.store.vault(vault)
            standing = await heads.read(target, vault)
        except NotFound:
            return True  # nothing was copied yet
        if not standing.erasing:
            return True
        if not await target.scrub():
            return False
        await target.apply([heads.erased(vault, standing.head.seq)])
        return True

    async def lag(self, vault: VaultId) -> Lag:
        if self.store is None:
            return Lag("disabled")
        theirs = (await heads.read(await self._primary(vault), vault)).head
        try:
            mine = await heads.read(await self._mirrored(vault), vault)
        except NotFound:
            return Lag(_state(Head(theirs.epoch, 0), theirs), theirs.seq)  # not begun yet
        except ArchivistError:
            return Lag("unreachable")
        return Lag(_state(mine.head, theirs), max(0, theirs.seq - mine.head.seq), mine.erasing > 0)

    async def require_behind(self, vaults: Iterable[VaultId]) -> None:
        """Refuse data that are older than their mirror: an old copy was put back, and knows nothing of later deletions.

        Raises:
            Refused: the text says how to mend it.
        """
        if self.store is None:
            return
        for vault in vaults:
            with suppress(NotFound, Unavailable):  # what cannot be asked is told by the follower
                theirs = await heads.read(await self._primary(vault), vault)
                mine = await heads.read(await self._mirrored(vault), vault)
                if _state(mine.head, theirs.head) == "ahead":
                    raise Refused(
                        "the data are older than their mirror, which knows of later changes and deletions;"
                        " `archivist repair` brings them back, or set ARCHIVIST_MIRROR to another folder"
                    )

    async def _primary(self, vault: VaultId) -> Database:
        return await (self.primary.control() if vault == CONTROL else self.primary.vault(vault, writable=False))

    async def _mirrored(self, vault: VaultId) -> Database:
        if self.store is None:
            raise NotFound("there is no mirror")
        return await (self.store.control() if vault == CONTROL else self.store.vault(vault, writable=False))

    async def close(self) -> None:
        if self.store is not None:
            await self.store.close()

    async def _step(self, store: Stores, vault: VaultId) -> bool:
        """Copy a page; whether there is more."""
        if vault != CONTROL:
            source, target = await self._primary(vault), await _copy_of(store, vault)
            return await vaults.step(source, target, vault, self.keywords) > 0
        left = await control.step(await self.primary.control(), await store.control())
        if self.secrets is not None:
            await asyncio.to_thread(copy_file, *self.secrets)
        return left > 0


async def is_left(
    db: Database, vault: VaultId, ids: Sequence[MemoryId], documents: Sequence[int], keywords: KeywordIndex
) -> bool:
    """Whether anything of these memories is in a store: rows of any table, or entries of the full-text index."""
    return await erasures.is_left(db, vault, ids) or await keywords.holds(db, vault, documents)


def _state(mine: Head, theirs: Head) -> State:
    if mine == theirs:
        return "current"
    return "ahead" if mine > theirs else "behind"


async def _copy_of(store: Stores, vault: VaultId) -> Database:
    try:
        return await store.vault(vault)
    except NotFound:
        await store.create(vault)
        return await store.vault(vault)
