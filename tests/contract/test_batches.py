"""Reflection batches on every backend: one after the other, oldest first, of one vault."""

from dataclasses import replace
from datetime import timedelta

import pytest

from archivist.domain import leases
from archivist.domain.errors import Conflict
from archivist.domain.leases import LEASE, Batch
from archivist.domain.reflections import DUE_AGE, Glance
from archivist.storage import batches, changes, heads, memories
from archivist.storage.batches import Waiting
from tests.builders import MINE, NOON, THEIRS, a_memory, an_id

pytestmark = pytest.mark.anyio

LATER = NOON + timedelta(days=1)


def a_batch(number=100, items=2, holder="me", tier=1) -> Batch:
    return leases.opened(an_id(number), MINE, holder=holder, source_tier=tier, items=items, now=LATER)


async def store(db, *stored):
    for memory in stored:
        log = changes.append(memory.vault, 1, kind="memory", id=memory.id, version=1, op="put", at=NOON)
        await db.apply([*log, *memories.insert(memory, "terms")])


def numbered(count, **more):
    """The higher the number, the older."""
    return [a_memory(n, text=f"fact {n}", event=NOON - timedelta(seconds=n), **more) for n in range(1, count + 1)]


async def ids(db, tier=1, lent=(), limit=99):
    return [waiting.id for waiting in await batches.oldest(db, MINE, tier, lent, limit)]


async def test_the_oldest_come_first_without_archived_consolidated_and_lent_ones(db):
    first, second, archived, done, high = numbered(5)
    await store(db, first, second, replace(archived, archived=True), replace(done, batch="b"), replace(high, tier=2))
    twin = a_memory(9, text="fact 9", event=first.event)
    await store(db, twin)
    assert await ids(db) == [second.id, first.id, twin.id]
    assert await ids(db, tier=2) == [high.id]
    assert await batches.oldest(db, MINE, 1, [], 1) == [Waiting(second.id, second.tokens)]
    batch = a_batch(items=1)
    await db.apply(batches.lend(batch, [second]))
    assert await ids(db, lent=[batch]) == [first.id, twin.id]
    assert await ids(db) == [second.id, first.id, twin.id]


async def test_a_batch_comes_back_equal_and_is_open_until_its_lease_ends(db, theirs):
    one, two = numbered(2)
    await store(db, one, two)
    batch = a_batch()
    await db.apply(batches.lend(batch, [two, one]))
    assert await batches.find(db, MINE, batch.id) == batch
    assert await batches.all_open(db, MINE, LATER + LEASE - timedelta(microseconds=1)) == [batch]
    assert await batches.all_open(db, MINE, LATER + LEASE) == []
    assert [(one.id, one.standing) for one in await batches.members(db, MINE, batch.id)] == [
        (two.id, "free"), (one.id, "free"),
    ]  # fmt: skip
    assert await batches.find(theirs, THEIRS, batch.id) is None
    assert await batches.members(theirs, THEIRS, batch.id) == []
    await db.apply([batches.end(MINE, batch.id, LATER)])
    assert await batches.all_open(db, MINE, LATER) == []


async def test_a_later_batch_takes_over_what_an_expired_one_had(db):
    one, two = numbered(2)
    await store(db, one, two)
    early, late = a_batch(), a_batch(101, items=1, holder="they")
    await db.apply(batches.lend(early, [two, one]))
    await db.apply(batches.lend(late, [two]))
    assert [member.id for member in await batches.members(db, MINE, early.id)] == [one.id]
    assert [member.id for member in await batches.members(db, MINE, late.id)] == [two.id]


async def test_a_committed_batch_gives_its_memories_back_and_is_committed_once(db):
    one, two = numbered(2)
    await store(db, one, two)
    batch = a_batch()
    await db.apply(batches.lend(batch, [one, two]))
    done = replace(batch, committed=LATER, result='{"tier": 2}')
    await db.apply([*batches.finish(done), *memories.consolidate(MINE, [one.id], done, 1, LATER)])
    [mark] = [entry for entry in await changes.since(db, MINE, 0, 99) if entry.op == "mark"]
    assert (mark.id, mark.kind, mark.seq) == (one.id, "memory", (await heads.read(db, MINE)).head.seq)
    assert await batches.find(db, MINE, batch.id) == done
    assert await batches.members(db, MINE, batch.id) == []
    assert await ids(db) == [two.id]
    other = a_batch(102)
    for again in (batches.finish(done), memories.consolidate(MINE, [one.id], other, 1, LATER)):
        with pytest.raises(Conflict):
            await db.apply(again)


async def test_only_one_of_two_decisions_on_the_same_state_lands(db):
    seen = await batches.turn(db, MINE)
    await db.apply([batches.take_turn(MINE, seen)])
    with pytest.raises(Conflict):
        await db.apply([batches.take_turn(MINE, seen)])
    await db.apply(batches.clear(MINE))
    with pytest.raises(Conflict):
        await db.apply([batches.take_turn(MINE, seen + 1)])
    assert await batches.turn(db, MINE) == seen + 2


async def test_clearing_forgets_the_batches_of_one_vault(db):
    (one,) = numbered(1)
    await store(db, one)
    batch = a_batch(items=1)
    await db.apply(batches.lend(batch, [one]))
    await db.apply(batches.clear(THEIRS))
    assert await batches.find(db, MINE, batch.id) == batch
    await db.apply(batches.clear(MINE))
    assert await batches.find(db, MINE, batch.id) is None
    assert await batches.members(db, MINE, batch.id) == []


async def test_a_glance_counts_no_more_than_it_needs(db):
    assert await batches.glance(db, MINE, LATER) == Glance(
        items=0, tokens=0, reflections=0, in_flight=0, committed=None
    )
    raw, above = numbered(62), [replace(one, id=an_id(500 + n), tier=2) for n, one in enumerate(numbered(42))]
    await store(db, *raw, *above)
    await db.apply(batches.lend(a_batch(items=7), raw[:7]))
    done = replace(a_batch(101, items=1), committed=NOON)
    await db.apply([*batches.lend(done, raw[9:10])])
    seen = await batches.glance(db, MINE, LATER)
    tokens = sum(one.tokens for one in sorted(raw, key=lambda one: one.event)[:60])
    assert seen == Glance(items=60, tokens=tokens, reflections=40, in_flight=7, committed=NOON)
    young = await batches.glance(db, MINE, raw[59].event + DUE_AGE)
    assert (young.items, young.reflections) == (3, 40)
