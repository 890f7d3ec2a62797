"""Reflecting: memories are lent to a connection, and what its model made of them is kept one tier up.

What two connections decide at the same time is decided one after the other: whoever comes second looks again.
"""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from archivist.domain import leases
from archivist.domain import reflections as rules
from archivist.domain.access import Principal
from archivist.domain.audit import Entry, entry
from archivist.domain.changes import Head
from archivist.domain.errors import Conflict, EmbedderUnavailable, Unavailable
from archivist.domain.ids import MemoryId, VaultId, is_uuid
from archivist.domain.leases import Batch, Member
from archivist.domain.limits import BATCH_ITEMS, BATCH_LEAST_ITEMS, BATCH_TOKENS_DEFAULT, DUE_REFLECTIONS
from archivist.domain.memories import Memory, findable_text
from archivist.domain.operations import permit
from archivist.domain.reflections import Debt, Glance, Reflection
from archivist.embedders.embedder import Embedder, Floats
from archivist.search.entries import Entries
from archivist.services.owing import NOTHING, Owing
from archivist.storage import audit, batches, changes, heads, lineage
from archivist.storage import memories as stored
from archivist.storage.batches import Waiting
from archivist.storage.database import Database, Write
from archivist.storage.lineage import Link
from archivist.storage.stores import Stores

TRIES = 20
_PAUSE_MILLISECONDS = 20
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A batch and its memories, oldest first; without a batch `reason` says why. remaining: what waits besides it."""

    batch: Batch | None
    memories: Sequence[Memory]
    remaining: Debt
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What came of a batch. already: this was a repeat, and wrote nothing. debt: None if it could not be read."""

    tier: int
    entries: Sequence[MemoryId]
    sources: int
    already: bool
    debt: Debt | None


@dataclass(frozen=True, slots=True)
class _Draft:
    """A reflection to be kept, but for its times, and its vectors if there are any."""

    memory: Memory
    sources: Sequence[MemoryId]
    vectors: Floats | None


@dataclass(frozen=True, slots=True)
class Reflections:
    """The reflection use cases."""

    stores: Stores
    embedder: Embedder
    entries: Entries
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    owing: Owing
    vectors_wanted: Callable[[Principal], None]
    """Told when reflections were stored without their vectors."""

    async def checkout(self, who: Principal, tier: int | None = None, max_tokens: int | None = None) -> Checkout:
        """Lend the oldest memories that no reflection was built from. Whoever holds a batch gets that one again.

        Raises:
            InvalidArgument: an argument is outside its range.
            BatchConflict: as many batches are open in this vault as may be.
        """
        permit(who, "consolidate_memories")
        tier, max_tokens = rules.checked_tier(tier), rules.checked_tokens(max_tokens)
        db = await self.stores.vault(who.vault)
        return await _in_turn(lambda: self._checked_out(db, who, tier, max_tokens))

    async def preview(self, who: Principal, tier: int | None = None, max_tokens: int | None = None) -> Checkout:
        """What `checkout` would lend now. Nothing is lent, so there is no batch, and nothing is written.

        Raises:
            InvalidArgument: an argument is outside its range.
        """
        permit(who, "consolidate_memories")
        tier, max_tokens = rules.checked_tier(tier), rules.checked_tokens(max_tokens)
        db, now = await self.stores.vault(who.vault), self.now()
        lent, debt = await batches.all_open(db, who.vault, now), await self._debt(db, who.vault)
        mine = leases.resumed(lent, who.holder, now)
        if mine and (memories := await self._still_there(db, mine)):
            return Checkout(batch=None, memories=memories, remaining=debt)
        tier, waiting = await _oldest(db, who, tier, lent)
        if not waiting or (len(waiting) < BATCH_LEAST_ITEMS and max_tokens is None):
            return Checkout(batch=None, memories=(), remaining=debt, reason=_reason(tier, len(waiting), lent, debt))
        chosen = _fitting(waiting, max_tokens or BATCH_TOKENS_DEFAULT)
        return Checkout(batch=None, memories=await _found(db, who, chosen), remaining=debt)

    async def commit(self, who: Principal, batch_id: str, entries: Sequence[Mapping[str, object]]) -> Committed:
        """Keep what was made of a batch. A repeat answers the same and writes nothing, whatever its entries are.

        Raises:
            BatchNotFound: this caller took no batch of that id.
            LeaseExpired: the lease ended, and others took memories of the batch since.
            BatchConflict: nothing of the batch is left.
            InvalidArgument: an entry is not as it must be; the lease goes on.
        """
        permit(who, "commit_reflections")
        db = await self.stores.vault(who.vault)
        batch = await self._held(db, who, batch_id)
        if batch.committed is not None:
            return await self._answered(db, batch, already=True)
        members = await batches.members(db, who.vault, batch.id)
        leases.left(batch, members)
        checked = rules.checked_entries(entries, {member.id for member in members})
        drafts = await self._drafts(db, batch, checked, members)
        return await _in_turn(lambda: self._committed(db, who, batch.id, drafts))

    async def due(self, who: Principal) -> bool:
        """Whether so much waits that consolidating is worth offering. False if that cannot be told now."""
        permit(who, "search_memories")
        with suppress(Unavailable):
            db = await self.stores.vault(who.vault, writable=who.may_change)
            return (await batches.glance(db, who.vault, self.now())).due
        return False

    async def debt(self, who: Principal) -> Debt:
        """What waits to be reflected on, counted."""
        permit(who, "memory_status")
        return await self._debt(await self.stores.vault(who.vault, writable=who.may_change), who.vault)

    # Checking out

    async def _checked_out(self, db: Database, who: Principal, tier: int | None, max_tokens: int | None) -> Checkout:
        seen, now = await batches.turn(db, who.vault), self.now()
        lent = await batches.all_open(db, who.vault, now)
        writes = [batches.take_turn(who.vault, seen)]
        if mine := leases.resumed(lent, who.holder, now):
            if memories := await self._still_there(db, mine):
                return await self._lent(db, who, mine, memories)
            writes += await self._ended(db, mine, now)  # all of it was deleted
            lent = [batch for batch in lent if batch is not mine]
        leases.require_room(lent, now)
        tier, waiting = await _oldest(db, who, tier, lent)
        if not waiting or (len(waiting) < BATCH_LEAST_ITEMS and max_tokens is None):
            debt = await self._debt(db, who.vault)
            return Checkout(batch=None, memories=(), remaining=debt, reason=_reason(tier, len(waiting), lent, debt))
        chosen = _fitting(waiting, max_tokens or BATCH_TOKENS_DEFAULT)
        memories = await _found(db, who, chosen)
        if not memories:
            raise Conflict("these were deleted a moment ago")
        batch = leases.opened(
            self.new_id(), who.vault, holder=who.holder, source_tier=tier, items=len(memories), now=now
        )
        act = entry(who, self.new_id(), now, "consolidate_memories", target=batch.id, count=len(memories))
        head = (await heads.read(db, who.vault)).head
        await db.apply([*writes, *batches.lend(batch, memories), *_logged(batch, head, act)])
        self.owing.moved(who.vault, head, 1, {})
        return await self._lent(db, who, batch, memories)

    async def _ended(self, db: Database, batch: Batch, now: datetime) -> list[Write]:
        epoch = (await heads.read(db, batch.vault)).head.epoch
        log = changes.append(batch.vault, epoch, kind="batch", id=batch.id, version=1, op="put", at=now)
        return [batches.end(batch.vault, batch.id, now), *log]

    async def _still_there(self, db: Database, batch: Batch) -> list[Memory]:
        members = await batches.members(db, batch.vault, batch.id)
        found = await stored.find_many(db, batch.vault, [one.id for one in members if one.standing == "free"])
        return [found[one.id] for one in members if one.id in found]

    async def _lent(self, db: Database, who: Principal, batch: Batch, memories: Sequence[Memory]) -> Checkout:
        debt, items = await self._debt(db, who.vault), len(memories)
        remaining = replace(debt, in_flight=max(0, debt.in_flight - items))
        if batch.source_tier == 1:
            tokens = sum(memory.tokens for memory in memories)
            remaining = replace(remaining, memories=debt.memories - items, tokens=debt.tokens - tokens)
        else:
            remaining = replace(remaining, reflections=debt.reflections - items)
        return Checkout(batch=batch, memories=memories, remaining=remaining)

    # Committing

    async def _held(self, db: Database, who: Principal, batch_id: str) -> Batch:
        found = await batches.find(db, who.vault, batch_id) if is_uuid(batch_id) else None
        return leases.held(found, who.holder)

    async def _drafts(
        self, db: Database, batch: Batch, checked: Sequence[Reflection], members: Sequence[Member]
    ) -> list[_Draft]:
        standing, now = await heads.read(db, batch.vault), self.now()
        everything = tuple(member.id for member in members)
        memories = [
            rules.reflection_memory(
                MemoryId(self.new_id()), batch.vault, standing.secret, now, entry=one, tier=batch.target_tier, event=now
            )
            for one in checked
        ]
        wanted = standing.space in ("", self.embedder.space)  # else another process makes them, in its space
        made: Sequence[Floats | None] = [None] * len(memories)
        if wanted:
            with suppress(EmbedderUnavailable):  # they are kept anyway, and get their vectors later
                made = await self.embedder.passages([findable_text(memory) for memory in memories])
        sources = [one.sources or everything for one in checked]
        return [_Draft(*parts) for parts in zip(memories, sources, made, strict=True)]

    async def _committed(self, db: Database, who: Principal, batch_id: str, drafts: Sequence[_Draft]) -> Committed:
        seen, now = await batches.turn(db, who.vault), self.now()
        batch = await self._held(db, who, batch_id)
        if batch.committed is not None:  # a twin of this request was faster
            return await self._answered(db, batch, already=True)
        members = await batches.members(db, who.vault, batch.id)
        free = leases.left(batch, members)
        result = {"tier": batch.target_tier, "entries": [one.memory.id for one in drafts], "sources": len(free)}
        batch = replace(batch, committed=now, result=json.dumps(result))
        act = entry(who, self.new_id(), now, "commit_reflections", target=batch.id, count=len(drafts))
        head = (await heads.read(db, who.vault)).head
        await db.apply([
            batches.take_turn(who.vault, seen),
            *batches.finish(batch),
            *self._kept(batch, drafts, members, head, now),
            *stored.consolidate(batch.vault, [one.id for one in free], batch, head.epoch, now),
            *_logged(batch, head, act),
        ])  # fmt: skip
        changed = {
            batch.source_tier: stored.Debt(-len(free), -sum(one.tokens for one in free)),
            batch.target_tier: stored.Debt(len(drafts), sum(one.memory.tokens for one in drafts)),
        }
        self.owing.moved(who.vault, head, len(drafts) + len(free) + 1, changed)
        if any(one.vectors is None for one in drafts):
            self.vectors_wanted(who)
        return await self._answered(db, batch, already=False)

    def _kept(
        self, batch: Batch, drafts: Sequence[_Draft], members: Sequence[Member], head: Head, now: datetime
    ) -> list[Write]:
        """The writes of the reflections, and of their links to all that they were built from."""
        known = {member.id: member for member in members}
        writes: list[Write] = []
        for one in drafts:
            covered = _end([known[id] for id in one.sources]) or _end(members) or now
            memory = replace(one.memory, created=now, updated=now, event=covered)
            writes += self.entries.put(memory, head, now)
            writes += self.entries.meaning(memory, one.vectors, self.embedder.space)
            links = [Link(memory.id, id, known[id].version, batch.id) for id in one.sources]
            writes.append(lineage.insert_all(batch.vault, links))
        return writes

    async def _answered(self, db: Database, batch: Batch, *, already: bool) -> Committed:
        """What a committed batch answers. It is done, whatever becomes of the counting."""
        kept = json.loads(batch.result)
        debt = None
        with suppress(Unavailable):
            debt = await self._debt(db, batch.vault)
        return Committed(
            tier=kept["tier"], entries=kept["entries"], sources=kept["sources"], already=already, debt=debt
        )

    async def _debt(self, db: Database, vault: VaultId) -> Debt:
        return owed(await self.owing.of(db, vault), await batches.glance(db, vault, self.now()))


def _logged(batch: Batch, head: Head, act: Entry) -> list[Write]:
    log = changes.append(batch.vault, head.epoch, kind="batch", id=batch.id, version=1, op="put", at=act.at)
    return [*log, audit.insert(act)]


def owed(counted: Mapping[int, stored.Debt], glance: Glance) -> Debt:
    """What waits, from what was counted by tier and what a glance tells."""
    raw = counted.get(1, NOTHING)
    return Debt(
        memories=raw.items,
        tokens=raw.tokens,
        reflections=counted.get(2, NOTHING).items,
        in_flight=glance.in_flight,
        available=glance.due,
        committed=glance.committed,
    )


async def _in_turn(work: Callable[[], Awaitable[T]]) -> T:
    """What `work` gives once nobody else decided anything while it did."""
    for _ in range(TRIES):
        try:
            return await work()
        except Conflict:
            await asyncio.sleep(secrets.randbelow(_PAUSE_MILLISECONDS) / 1000)
    raise Unavailable("others reflect on this vault at the same time; try again")


async def _oldest(
    db: Database, who: Principal, tier: int | None, lent: Sequence[Batch]
) -> tuple[int, Sequence[Waiting]]:
    """The tier to take, and what waits there. Left to us, it is tier 2 once enough reflections have come together."""
    if tier != 1:
        waiting = await batches.oldest(db, who.vault, 2, lent, BATCH_ITEMS)
        if tier == 2 or len(waiting) >= DUE_REFLECTIONS:
            return 2, waiting
    return 1, await batches.oldest(db, who.vault, 1, lent, BATCH_ITEMS)


def _fitting(waiting: Sequence[Waiting], max_tokens: int) -> list[MemoryId]:
    """The first that fit together, whole; at least one."""
    chosen: list[MemoryId] = []
    for one in waiting:
        max_tokens -= one.tokens
        if chosen and max_tokens < 0:
            break
        chosen.append(one.id)
    return chosen


async def _found(db: Database, who: Principal, ids: Sequence[MemoryId]) -> list[Memory]:
    found = await stored.find_many(db, who.vault, ids)
    return [found[id] for id in ids if id in found and not found[id].archived and not found[id].batch]


def _end(members: Sequence[Member]) -> datetime | None:
    """The latest moment of what is known of them."""
    return max((member.event for member in members if member.event is not None), default=None)


def _reason(tier: int, waiting: int, lent: Sequence[Batch], debt: Debt) -> str:
    kind = "raw memories" if tier == 1 else "reflections of tier 2"
    if waiting:
        few = f"only {waiting} {kind} wait, fewer than {BATCH_LEAST_ITEMS}"
        return f"{few}; to consolidate them even so, call again with max_tokens"
    reason = f"no {kind} wait to be consolidated"
    if any(batch.source_tier == tier for batch in lent):
        reason += ", beside those that other connections hold"
    if tier == 1 and debt.reflections:
        reason += f"; {debt.reflections} reflections of tier 2 do: tier=2 asks for them"
    return reason
