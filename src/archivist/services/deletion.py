"""Deleting: one path for every face. What is reported as gone was read back as gone, in the data and in the mirror."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from archivist.domain.access import Principal
from archivist.domain.audit import entry
from archivist.domain.erasures import Erasure
from archivist.domain.errors import ConfirmationRequired, Conflict, InvalidArgument, Unavailable
from archivist.domain.ids import MemoryId, is_uuid
from archivist.domain.limits import DELETE_IDS
from archivist.domain.operations import permit
from archivist.mirror.eraser import TRIES, Eraser
from archivist.services.approvals import Approvals
from archivist.storage import audit, heads, lineage
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.stores import Stores

DELETE_SELECTED = "DELETE SELECTED MEMORIES"
DELETE_ALL = "DELETE ALL MEMORIES"

State = Literal["removed", "erased"]
"""removed: nothing finds or reads it any more. erased: its bytes are gone from the files too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Which ids are gone, which never were here. Cleared: read back without them (no mirror counts as cleared).

    mirror: whether there is one. reflections_kept: what was built on the deleted, and may still tell of them.
    """

    deleted: Sequence[MemoryId]
    not_found: Sequence[MemoryId]
    state: State
    mirror: bool
    reflections_kept: Sequence[MemoryId]
    primary_cleared: bool = True
    mirror_cleared: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """How many memories the vault held before it was emptied. mirror: whether there is one."""

    memories: int
    state: State
    mirror: bool
    primary_cleared: bool = True
    mirror_cleared: bool = True


@dataclass(frozen=True, slots=True)
class Deletions:
    """The deletion use cases."""

    stores: Stores
    eraser: Eraser
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    erasure_wanted: Callable[[Principal], None]
    """Told when bytes could not be erased at once, because somebody was reading or writing."""
    approvals: Approvals

    async def delete(self, who: Principal, ids: Sequence[str], confirmation: str) -> Deletion:
        """Delete the memories of `ids` that are in this vault. Reflections built on them stay.

        Raises:
            ConfirmationRequired: not the exact phrase; nothing was touched.
            InvalidArgument: no ids, too many, or something that is not an id.
            Unavailable: nothing was deleted, or it could not be read back as gone; the text says which.
        """
        permit(who, "delete_memories")
        require_phrase(confirmation, DELETE_SELECTED)
        wanted = checked_ids(ids)
        db = await self.stores.vault(who.vault)
        built_on_them = await lineage.kept_reflections(db, who.vault, wanted)
        erasure, hidden = await self._hide(db, who, wanted)
        gone = await self.eraser.carry_out(db, erasure) if hidden else {}
        return Deletion(
            deleted=[id for id in wanted if id in gone],
            not_found=[id for id in wanted if id not in gone],
            state=await self._erased(who) if gone else "erased",
            mirror=self.eraser.mirror.enabled,
            reflections_kept=built_on_them if gone else (),
        )

    async def forget_all(self, who: Principal, confirmation: str) -> Forgotten:
        """Empty the whole vault: memories, vectors, index, lineage, batches. Permanent.

        Raises:
            ConfirmationRequired: not the exact phrase; nothing was touched.
            ApprovalRequired: an owner of the vault wants to be asked first; nothing was touched.
            Unavailable: nothing was deleted, or it could not be read back as empty; the text says which.
        """
        permit(who, "forget_all_memories")
        require_phrase(confirmation, DELETE_ALL)
        await self.approvals.require(who)
        db = await self.stores.vault(who.vault)
        erasure = await self._hide_all(db, who)
        gone = await self.eraser.carry_out(db, erasure)
        return Forgotten(memories=len(gone), state=await self._erased(who), mirror=self.eraser.mirror.enabled)

    async def _hide(self, db: Database, who: Principal, wanted: Sequence[MemoryId]) -> tuple[Erasure, bool]:
        """Begin to delete those of `wanted` that are here, and say whether there are any.

        Another caller's deletion in between is met by looking again.
        """
        for _ in range(TRIES):
            here = await stored.existing(db, who.vault, wanted)
            present = [id for id in wanted if id in here]
            head, now = (await heads.read(db, who.vault)).head, self.now()
            erasure = Erasure(vault=who.vault, id=self.new_id(), whole=False, seq=head.seq, at=now)
            if not present:
                return erasure, False
            acts = [audit.insert(entry(who, self.new_id(), now, "delete_memories", target=id)) for id in present]
            with suppress(Conflict):
                await db.apply([*self.eraser.entries.hide(erasure, present, head, now), *acts])
                return erasure, True
        raise Unavailable("nothing was deleted: others change these memories at the same time; try again")

    async def _hide_all(self, db: Database, who: Principal) -> Erasure:
        head, now = (await heads.read(db, who.vault)).head, self.now()
        count = (await stored.tally(db, who.vault)).everything
        act = entry(who, self.new_id(), now, "forget_all_memories", count=count)
        erasure = Erasure(vault=who.vault, id=self.new_id(), whole=True, seq=head.seq, at=now)
        await db.apply([audit.insert(act), *self.eraser.entries.hide_all(erasure, head, now)])
        return erasure

    async def _erased(self, who: Principal) -> State:
        with suppress(Unavailable):  # what is gone stays gone; the worker goes on with its bytes
            if await self.eraser.scrub(who.vault):
                return "erased"
        self.erasure_wanted(who)
        return "removed"


def require_phrase(confirmation: str, phrase: str) -> None:
    """Raises ConfirmationRequired unless it is exactly the phrase."""
    if confirmation != phrase:
        raise ConfirmationRequired(f"confirmation: must be exactly {phrase!r}; nothing was deleted")


def checked_ids(ids: Sequence[str]) -> list[MemoryId]:
    """Each id once. Raises InvalidArgument: none, more than DELETE_IDS, or something that is not an id."""
    if not 1 <= len(ids) <= DELETE_IDS:
        raise InvalidArgument("memory_ids", f"must be 1..{DELETE_IDS} ids")
    if not all(is_uuid(id) for id in ids):
        raise InvalidArgument("memory_ids", "each must be the id of a search result; a receipt is not an id")
    return [MemoryId(id) for id in dict.fromkeys(ids)]
