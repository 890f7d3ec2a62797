"""Reflection batches as a state machine: memories are lent to one holder for a while, and come back by themselves.

open → committed       by its holder, before or after the lease ended
open → expired         by time alone; its memories are free for the next batch
expired → committed    late, while nobody else took any of them
committed → committed  a repeat: the first answer again
any → gone             with everything in the vault; to others than the holder a batch is never there

Nothing is written here, and the clock is an argument.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from archivist.domain.errors import BatchConflict, BatchNotFound, LeaseExpired
from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.limits import LEASE_MINUTES, OPEN_BATCHES
from archivist.domain.times import iso

LEASE = timedelta(minutes=LEASE_MINUTES)
State = Literal["open", "expired", "committed"]
Standing = Literal["free", "deleted", "archived", "consolidated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Memories of one tier, handed out to reflect on. `holder` took it; `items` were handed out.

    result: what the commit answered, as JSON; empty before.
    """

    id: str
    vault: VaultId
    holder: str
    source_tier: int
    items: int
    created: datetime
    expires: datetime
    committed: datetime | None = None
    result: str = ""

    @property
    def target_tier(self) -> int:
        """Of the reflections that come of it."""
        return self.source_tier + 1

    def state(self, now: datetime) -> State:
        if self.committed is not None:
            return "committed"
        return "open" if now < self.expires else "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A memory that is in this batch and in no later one. version: of the text that was handed out.

    event: when it happened; None if it was deleted. tokens: of its text; 0 if it was deleted.
    """

    id: MemoryId
    version: int
    event: datetime | None
    standing: Standing = "free"
    tokens: int = 0


def opened(id: str, vault: VaultId, *, holder: str, source_tier: int, items: int, now: datetime) -> Batch:
    """A new batch, lent from now on."""
    return Batch(
        id=id, vault=vault, holder=holder, source_tier=source_tier, items=items, created=now, expires=now + LEASE
    )


def resumed(batches: Sequence[Batch], holder: str, now: datetime) -> Batch | None:
    """The open batch that `holder` has already, the latest first; they get it again instead of another one."""
    mine = [batch for batch in batches if batch.holder == holder and batch.state(now) == "open"]
    return max(mine, key=lambda batch: (batch.created, batch.id), default=None)


def require_room(batches: Sequence[Batch], now: datetime) -> None:
    """Raises BatchConflict: as many batches are open in this vault as may be."""
    ends = sorted(batch.expires for batch in batches if batch.state(now) == "open")
    if len(ends) >= OPEN_BATCHES:
        raise BatchConflict(
            f"{len(ends)} batches of this vault are open, and no more may be; "
            f"call again once one is committed, or after {iso(ends[0])}"
        )


def held(batch: Batch | None, holder: str) -> Batch:
    """The batch, if `holder` took it.

    Raises:
        BatchNotFound: nobody did, or somebody else; which of the two is not told.
    """
    if batch is None or batch.holder != holder:
        raise BatchNotFound(
            "batch_id: this connection holds no batch of that id; nothing was written. "
            "Call consolidate_memories and commit with the id that it gives"
        )
    return batch


def left(batch: Batch, members: Sequence[Member]) -> list[Member]:
    """The members that a commit consolidates. `members`: all that no later batch took.

    When the lease ended does not matter: work that nobody did twice is not wasted.

    Raises:
        LeaseExpired: another batch took some of them.
        BatchConflict: all of them were deleted or archived.
    """
    taken = len(members) < batch.items or any(member.standing == "consolidated" for member in members)
    if taken:
        raise LeaseExpired(
            "the lease ended and another batch took memories of this one; nothing was written. "
            "Call consolidate_memories again and reflect on what it gives"
        )
    free = [member for member in members if member.standing == "free"]
    if not free:
        raise BatchConflict(
            "every memory of this batch was deleted or archived meanwhile; nothing was written. "
            "Call consolidate_memories for others"
        )
    return free
