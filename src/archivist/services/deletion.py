"""Deleting: one path for every face. What is reported as gone was read back as gone."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from archivist.domain.access import Principal
from archivist.domain.audit import entry
from archivist.domain.errors import ConfirmationRequired, Conflict, InvalidArgument, Unavailable
from archivist.domain.ids import MemoryId, is_uuid
from archivist.domain.limits import DELETE_IDS
from archivist.domain.operations import permit
from archivist.search.entries import Entries
from archivist.storage import audit, heads
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.stores import Stores

DELETE_SELECTED = "DELETE SELECTED MEMORIES"
DELETE_ALL = "DELETE ALL MEMORIES"
TRIES = 5

State = Literal["removed", "erased"]
"""removed: nothing finds or reads it any more. erased: its bytes are gone from the files too."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """Which ids are gone, which never were here. Cleared: read back without them (no mirror counts as cleared)."""

    deleted: Sequence[MemoryId]
    not_found: Sequence[MemoryId]
    state: State
    primary_cleared: bool = True
    mirror_cleared: bool = True


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many memories the vault held before it was emptied."""

    memories: int
    state: State
    primary_cleared: bool = True
    mirror_cleared: bool = True


@dataclass(frozen=True, slots=True)
class Deletions:
    """The deletion use cases."""

    stores: Stores
    entries: Entries
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    erasure_wanted: Callable[[Principal], None]
    """Told when bytes could not be erased at once, because somebody was reading or writing."""

    async def delete(self, who: Principal, ids: Sequence[str], confirmation: str) -> Deletion:
        """Delete the memories of `ids` that are in this vault. Reflections built on them stay.

        Raises:
            ConfirmationRequired: not the exact phrase; nothing was touched.
            InvalidArgument: no ids, too many, or something that is not an id.
            Unavailable: it could not be read back as gone.
        """
        permit(who, "delete_memories")
        _require(confirmation, DELETE_SELECTED)
        wanted = _checked(ids)
        db = await self.stores.vault(who.vault)
        deleted = await self._remove(db, who, wanted)
        if await stored.existing(db, who.vault, wanted):
            raise Unavailable("the deletion could not be read back as done; try again")
        gone = frozenset(deleted)
        return Deletion(deleted, [id for id in wanted if id not in gone], await self._erase(db, who, deleted))

    async def forget_all(self, who: Principal, confirmation: str) -> Forgotten:
        """Empty the whole vault: memories, vectors, index, lineage. Permanent.

        Raises:
            ConfirmationRequired: not the exact phrase; nothing was touched.
            Unavailable: it could not be read back as empty.
        """
        permit(who, "forget_all_memories")
        _require(confirmation, DELETE_ALL)
        db = await self.stores.vault(who.vault)
        head, now = (await heads.read(db, who.vault)).head, self.now()
        act = entry(
            who, self.new_id(), now, "forget_all_memories", count=(await stored.tally(db, who.vault)).everything
        )
        *_, count = await db.apply([audit.insert(act), *self.entries.clear(who.vault, head, now)])
        if await stored.count_upto(db, who.vault, head.seq):
            raise Unavailable("the vault could not be read back as empty; try again")
        return Forgotten(count, await self._erase(db, who, [who.vault]))

    async def _remove(self, db: Database, who: Principal, wanted: Sequence[MemoryId]) -> list[MemoryId]:
        """Those of `wanted` that this call deleted. Another caller's deletion in between is met by looking again."""
        for _ in range(TRIES):
            here = await stored.existing(db, who.vault, wanted)
            present = [id for id in wanted if id in here]
            if not present:
                return []
            head, now = (await heads.read(db, who.vault)).head, self.now()
            acts = [audit.insert(entry(who, self.new_id(), now, "delete_memories", target=id)) for id in present]
            try:
                await db.apply([*self.entries.drop(who.vault, present, head, now), *acts])
            except Conflict:
                continue
            return present
        raise Unavailable("others change these memories at the same time; try again")

    async def _erase(self, db: Database, who: Principal, gone: Sequence[str]) -> State:
        if not gone:
            return "erased"
        with suppress(Unavailable):  # what is gone stays gone; the worker goes on with its bytes
            upto = (await heads.read(db, who.vault)).head.seq
            if await db.scrub():
                await db.apply([heads.erased(who.vault, upto)])
                return "erased"
        self.erasure_wanted(who)
        return "removed"


def _require(confirmation: str, phrase: str) -> None:
    if confirmation != phrase:
        raise ConfirmationRequired(f"confirmation: must be exactly {phrase!r}; nothing was deleted")


def _checked(ids: Sequence[str]) -> list[MemoryId]:
    if not 1 <= len(ids) <= DELETE_IDS:
        raise InvalidArgument("memory_ids", f"must be 1..{DELETE_IDS} ids")
    if not all(is_uuid(id) for id in ids):
        raise InvalidArgument("memory_ids", "each must be the id of a search result; a receipt is not an id")
    return [MemoryId(id) for id in dict.fromkeys(ids)]
