"""Reflecting: batches are disjoint, nothing is lost, nothing is written twice."""

import asyncio
from dataclasses import replace

import pytest

from archivist.app import OWNER
from archivist.domain.access import ALL_SCOPES, Principal, Scope
from archivist.domain.errors import (
    BatchConflict,
    BatchNotFound,
    Conflict,
    EmbedderUnavailable,
    InsufficientScope,
    InvalidArgument,
    LeaseExpired,
    Unavailable,
)
from archivist.services import reflection
from archivist.services.deletion import DELETE_ALL, DELETE_SELECTED
from archivist.storage import audit, batches, changes, lineage, pending
from archivist.storage import memories as stored
from archivist.storage.sqlite.database import SqliteDatabase
from tests.builders import an_id

pytestmark = pytest.mark.anyio


def connection(who: Principal, number: int) -> Principal:
    """Another connection to the same vault."""
    return replace(who, credential="oauth", credential_id=an_id(1000 + number))


async def fill(app, who, count, clock=None, words=4):
    for number in range(count):
        await app.memories.store(who, text=f"Fact {number:03}: " + "word " * words)
        if clock:
            clock.move(seconds=1)


def entries(count=5, **changes):
    return [{"text": f"Reflection {number}.", "importance": 5} | changes for number in range(count)]


def names(checkout):
    return [memory.text.partition(":")[0] for memory in checkout.memories]


async def unconsolidated(app, who):
    db = await app.stores.vault(who.vault)
    return {tier: one.items for tier, one in (await stored.debt(db, who.vault)).items()}


async def rows(app, who):
    """Everything that reflecting could write."""
    db = await app.stores.vault(who.vault)
    log = await changes.since(db, who.vault, 0, 10_000)
    page = await stored.page(db, who.vault, None, 1_000)
    return [*log], page, await audit.recent(db, who.vault, 1_000)


async def test_a_checkout_hands_out_the_oldest_and_a_commit_puts_reflections_above_them(app, me, clock):
    await fill(app, me, 20, clock)
    batch = await app.reflections.checkout(me)
    assert names(batch) == [f"Fact {number:03}" for number in range(20)]
    assert (batch.batch.source_tier, batch.batch.target_tier, batch.remaining.memories) == (1, 2, 0)
    done = await app.reflections.commit(me, batch.batch.id, entries(6, importance=8))
    assert (done.tier, len(done.entries), done.sources, done.already) == (2, 6, 20, False)
    assert (done.debt.memories, done.debt.tokens, done.debt.reflections, done.debt.in_flight) == (0, 0, 6, 0)
    db = await app.stores.vault(me.vault)
    kept = await stored.find_many(db, me.vault, done.entries)
    assert {(one.tier, one.importance, one.event, one.batch) for one in kept.values()} == {
        (2, 8, batch.memories[-1].event, "")
    }
    links = (await lineage.sources(db, me.vault, [done.entries[0]]))[done.entries[0]]
    assert [link.child for link in links] == [memory.id for memory in batch.memories]
    sources = await stored.find_many(db, me.vault, [memory.id for memory in batch.memories])
    assert {one.batch for one in sources.values()} == {batch.batch.id}


async def test_reflections_are_found_at_once_by_word_and_filter(app, me, clock):
    await fill(app, me, 12, clock)
    await app.search.search(me, query="fact")
    batch = await app.reflections.checkout(me)
    await app.reflections.commit(me, batch.batch.id, [*entries(4), {"text": "The walrus matters.", "importance": 9}])
    found = await app.search.search(me, query="walrus", tiers=[2], importance=9)
    assert [row.memory.text for row in found.rows] == ["The walrus matters."]
    assert len((await app.search.search(me, query="fact", tiers=[1], limit=50)).rows) == 12


async def test_an_entry_covers_its_own_sources_and_is_dated_by_the_end_of_them(app, me, clock):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)
    some = [memory.id for memory in batch.memories[2:4]]
    done = await app.reflections.commit(me, batch.batch.id, [*entries(4), *entries(1, source_ids=some)])
    db = await app.stores.vault(me.vault)
    last = done.entries[-1]
    assert {link.child for link in (await lineage.sources(db, me.vault, [last]))[last]} == set(some)
    assert (await stored.find(db, me.vault, last)).event == batch.memories[3].event
    assert done.sources == 12


async def test_a_lost_reply_is_made_good_by_asking_again(app, me, clock):
    await fill(app, me, 15, clock)
    first = await app.reflections.checkout(me)
    before = await rows(app, me)
    clock.move(minutes=14)
    await app.memories.store(me, text="Something newer.")
    again = await app.reflections.checkout(me, 2, 60_000)
    assert (again.batch, names(again)) == (first.batch, names(first))
    assert len((await rows(app, me))[0]) == len(before[0]) + 1


async def test_racing_connections_get_disjoint_batches_and_the_fifth_none(app, me, clock):
    await fill(app, me, 100, clock, words=32)
    people = [connection(me, number) for number in range(5)]
    found = await asyncio.gather(
        *(app.reflections.checkout(who, max_tokens=1_000) for who in people), return_exceptions=True
    )
    lent = [one for one in found if not isinstance(one, BaseException)]
    ids = [memory.id for one in lent for memory in one.memories]
    assert len(lent) == 4
    assert len(ids) == len(set(ids)) > 40
    assert [type(one) for one in found if isinstance(one, BaseException)] == [BatchConflict]
    done = await asyncio.gather(
        *(
            app.reflections.commit(who, one.batch.id, entries())
            for who, one in zip(people, found, strict=True)
            if not isinstance(one, BaseException)
        )
    )
    assert sum(one.sources for one in done) == len(ids)
    assert await unconsolidated(app, me) == {1: 100 - len(ids), 2: 20}


async def test_one_connection_that_asks_many_times_at_once_gets_one_batch(app, me, clock):
    await fill(app, me, 12, clock)
    found = await asyncio.gather(*(app.reflections.checkout(me) for _ in range(6)))
    assert len({one.batch.id for one in found}) == 1


async def test_a_repeated_commit_answers_the_same_and_writes_nothing(app, me, clock):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)
    first = await app.reflections.commit(me, batch.batch.id, entries())
    before = await rows(app, me)
    clock.move(days=2)
    for other in (entries(), entries(7, text="Something else."), entries(4), []):
        again = await app.reflections.commit(me, batch.batch.id, other)
        assert replace(again, already=False) == first
        assert again.already
    assert await rows(app, me) == before


async def test_a_commit_sent_several_times_at_once_is_written_once(app, me, clock):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)
    done = await asyncio.gather(*(app.reflections.commit(me, batch.batch.id, entries()) for _ in range(6)))
    assert len({tuple(one.entries) for one in done}) == 1
    assert [one.already for one in done].count(False) == 1
    assert await unconsolidated(app, me) == {2: 5}


async def test_an_expired_batch_gives_its_memories_back(app, me, clock):
    await fill(app, me, 12, clock)
    first = await app.reflections.checkout(me)
    clock.move(minutes=15)
    second = await app.reflections.checkout(connection(me, 1))
    assert names(second) == names(first)
    assert second.batch.id != first.batch.id


async def test_a_late_commit_counts_while_nobody_took_any_of_the_memories(app, me, clock):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)
    clock.move(hours=3)
    done = await app.reflections.commit(me, batch.batch.id, entries())
    assert (done.already, done.sources) == (False, 12)


async def test_a_late_commit_is_refused_once_another_connection_took_some(app, me, clock):
    await fill(app, me, 40, clock, words=100)
    mine = await app.reflections.checkout(me)
    clock.move(minutes=15)
    theirs = await app.reflections.checkout(connection(me, 1), max_tokens=1_000)
    assert set(names(theirs)) < set(names(mine))
    before = await rows(app, me)
    with pytest.raises(LeaseExpired, match=r"nothing was written\. Call consolidate_memories again"):
        await app.reflections.commit(me, mine.batch.id, entries())
    assert await rows(app, me) == before
    assert (await app.reflections.commit(connection(me, 1), theirs.batch.id, entries())).sources == len(theirs.memories)
    with pytest.raises(LeaseExpired):
        await app.reflections.commit(me, mine.batch.id, entries())


async def test_a_memory_deleted_meanwhile_stays_a_link_and_the_rest_is_committed(app, me, clock):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)
    gone = batch.memories[4].id
    await app.deletion.delete(me, [gone], DELETE_SELECTED)
    assert gone not in [memory.id for memory in (await app.reflections.checkout(me)).memories]
    done = await app.reflections.commit(me, batch.batch.id, [*entries(4), *entries(1, source_ids=[gone])])
    assert done.sources == 11
    db = await app.stores.vault(me.vault)
    links = await lineage.sources(db, me.vault, done.entries)
    assert all(gone in [link.child for link in found] for found in links.values())
    assert (await stored.find(db, me.vault, done.entries[-1])).event == batch.memories[-1].event


async def test_a_batch_of_which_nothing_is_left_cannot_be_committed_and_is_not_given_again(app, me, clock):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)
    await app.deletion.delete(me, [memory.id for memory in batch.memories], DELETE_SELECTED)
    with pytest.raises(BatchConflict, match="deleted or archived meanwhile; nothing was written"):
        await app.reflections.commit(me, batch.batch.id, entries())
    await app.memories.store(me, text="Something newer.")
    again = await app.reflections.checkout(me, max_tokens=1_000)
    assert (names(again), again.batch.id != batch.batch.id) == (["Something newer."], True)


async def test_a_commit_after_everything_was_forgotten_finds_no_batch(app, me, clock):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)
    await app.deletion.forget_all(me, DELETE_ALL)
    with pytest.raises(BatchNotFound):
        await app.reflections.commit(me, batch.batch.id, entries())
    assert (await app.reflections.debt(me)).in_flight == 0
    assert (await app.status.of(me)).memories == 0


async def test_what_was_deleted_is_in_flight_no_more(app, me, clock):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)
    await app.deletion.delete(me, [memory.id for memory in batch.memories[:2]], DELETE_SELECTED)
    debt = await app.reflections.debt(me)
    assert (debt.memories, debt.in_flight) == (10, 10)
    again = await app.reflections.checkout(me)
    assert (len(again.memories), again.remaining.memories, again.remaining.in_flight) == (10, 0, 0)


async def test_forgetting_everything_while_a_batch_is_taken_leaves_none_behind(app, me, clock, monkeypatch):
    await fill(app, me, 12, clock)
    find_many, forgotten = stored.find_many, []

    async def meanwhile(*args):
        found = await find_many(*args)
        if not forgotten:
            forgotten.append(True)
            await app.deletion.forget_all(me, DELETE_ALL)
        return found

    monkeypatch.setattr(stored, "find_many", meanwhile)
    taken = await app.reflections.checkout(me)
    assert (taken.batch, list(taken.memories)) == (None, [])
    db = await app.stores.vault(me.vault)
    assert await batches.all_open(db, me.vault, clock()) == []


async def test_a_deletion_in_the_midst_of_a_commit_is_seen(app, me, clock, monkeypatch):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)
    gone, done, apply = batch.memories[0].id, [], SqliteDatabase.apply

    async def first(self, writes):
        if not done and any("new_batch" in row for write in writes for row in write.rows):
            done.append(True)
            await app.deletion.delete(me, [gone], DELETE_SELECTED)
        return await apply(self, writes)

    monkeypatch.setattr(SqliteDatabase, "apply", first)
    committed = await app.reflections.commit(me, batch.batch.id, entries())
    assert done
    assert committed.sources == 11


async def test_without_the_embedder_reflections_are_kept_and_wait_for_their_vectors(app, me, clock, monkeypatch):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)

    async def away(texts):
        raise EmbedderUnavailable("the embedder is away")

    with monkeypatch.context() as patched:
        patched.setattr(app.embedder, "passages", away)
        done = await app.reflections.commit(me, batch.batch.id, entries())
    db = await app.stores.vault(me.vault)
    assert set(await pending.first(db, me.vault, 99)) == set(done.entries)
    await app.embedding.catch_up(me.vault)
    assert await pending.count(db, me.vault) == 0


async def test_enough_reflections_make_top_level_ones_due(app, me, clock):
    for _ in range(5):
        for number in range(12):
            await app.memories.store(me, text=f"Fact {clock.now.isoformat()} {number}")
            clock.move(seconds=1)
        batch = await app.reflections.checkout(me)
        assert batch.batch.source_tier == 1
        await app.reflections.commit(me, batch.batch.id, entries(8, importance=3))
    await fill(app, me, 12, clock)
    assert (await app.reflections.debt(me)).available
    batch = await app.reflections.checkout(me)
    assert (batch.batch.source_tier, batch.batch.target_tier, len(batch.memories)) == (2, 3, 40)
    assert {memory.importance for memory in batch.memories} == {3}
    done = await app.reflections.commit(me, batch.batch.id, entries(5, importance=9))
    assert (done.tier, done.sources, done.debt.reflections) == (3, 40, 0)
    nothing = await app.reflections.checkout(me, tier=2)
    assert (nothing.batch, nothing.reason) == (None, "no reflections of tier 2 wait to be consolidated")


async def test_tier_one_can_be_asked_for_and_few_reflections_are_pointed_at(app, me, clock):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me, tier=1)
    await app.reflections.commit(me, batch.batch.id, entries())
    nothing = await app.reflections.checkout(me)
    assert nothing.reason == "no raw memories wait to be consolidated; 5 reflections of tier 2 do: tier=2 asks for them"
    assert len((await app.reflections.checkout(me, 2, 1_000)).memories) == 5


async def test_a_few_memories_are_handed_out_only_when_a_size_is_named(app, me, clock):
    await fill(app, me, 9, clock)
    few = await app.reflections.checkout(me)
    assert (few.batch, few.reason.startswith("only 9 raw memories wait, fewer than 10")) == (None, True)
    assert len((await app.reflections.checkout(me, max_tokens=1_000)).memories) == 9


async def test_a_batch_holds_whole_memories_up_to_its_size_and_at_least_one(app, me, clock):
    await fill(app, me, 12, clock, words=900)
    assert names(await app.reflections.checkout(me, max_tokens=1_000)) == ["Fact 000"]
    some = await app.reflections.checkout(connection(me, 1))
    assert 8 <= len(some.memories) < 11
    assert sum(memory.tokens for memory in some.memories) <= 12_000


async def test_no_batch_holds_more_than_a_hundred_and_fifty(app, me, clock):
    await fill(app, me, 155, clock, words=1)
    batch = await app.reflections.checkout(me, max_tokens=60_000)
    assert (len(batch.memories), batch.remaining.memories, batch.remaining.in_flight) == (150, 5, 0)


async def test_archived_memories_are_never_handed_out_and_never_consolidated(app, me, clock):
    await fill(app, me, 12, clock)
    lines = [line async for line in app.transfer.export(me)]
    archived = [line.replace(b'"archived":false', b'"archived":true') for line in lines]
    assert archived != lines
    vault = await app.vaults.create(OWNER, "archive", "project")
    there = Principal(OWNER.user, vault.id, ALL_SCOPES, "key", an_id(5))
    await app.transfer.load(there, archived)
    assert (await app.reflections.checkout(there, max_tokens=60_000)).batch is None
    assert (await app.reflections.debt(there)).memories == 0


async def test_young_memories_do_not_count_towards_the_offer_but_are_handed_out(app, me, clock):
    await fill(app, me, 60, words=1)
    assert not await app.reflections.due(me)
    clock.move(minutes=10)
    assert await app.reflections.due(me)
    clock.move(minutes=-10)
    assert len((await app.reflections.checkout(me)).memories) == 60


async def test_the_offer_reads_a_bounded_number_of_rows_by_the_index(app, me, clock):
    await fill(app, me, 70, clock, words=1)
    clock.move(minutes=11)
    db = await app.stores.vault(me.vault)
    seen = await batches.glance(db, me.vault, clock())
    assert (seen.items, seen.due) == (60, True)


async def test_the_offer_is_silent_when_it_cannot_be_read(app, me, monkeypatch):
    async def away(*args):
        raise Unavailable("the store is away")

    monkeypatch.setattr(batches, "glance", away)
    assert not await app.reflections.due(me)
    assert (await app.status.of(me)).reflection is None


async def test_status_tells_what_waits_and_what_is_in_flight(app, me, clock):
    await fill(app, me, 12, clock)
    before = (await app.status.of(me)).reflection
    assert (before.memories, before.in_flight, before.available, before.committed) == (12, 0, False, None)
    batch = await app.reflections.checkout(me)
    assert (await app.status.of(me)).reflection.in_flight == 12
    await app.reflections.commit(me, batch.batch.id, entries())
    after = (await app.status.of(me)).reflection
    assert (after.memories, after.reflections, after.in_flight, after.committed) == (0, 5, 0, clock())
    again = await app.reflections.checkout(me, 2, 1_000)
    clock.move(minutes=15)
    assert again.batch
    assert (await app.status.of(me)).reflection.in_flight == 0


async def test_every_act_leaves_its_line_in_the_trail_and_in_the_log(app, me, clock):
    await fill(app, me, 12, clock)
    seq = len((await rows(app, me))[0])
    batch = await app.reflections.checkout(me)
    clock.move(seconds=1)
    await app.reflections.commit(me, batch.batch.id, entries())
    log, _, trail = await rows(app, me)
    assert [(one.action, one.target, one.count) for one in trail[:2]] == [
        ("commit_reflections", batch.batch.id, 5),
        ("consolidate_memories", batch.batch.id, 12),
    ]
    new = [(change.kind, change.op) for change in log[seq:]]
    assert new == [("batch", "put")] + [("memory", "put")] * 5 + [("memory", "mark")] * 12 + [("batch", "put")]


async def test_reflecting_needs_its_own_scope(app, me, clock):
    await fill(app, me, 12, clock)
    without = me.narrowed(set(Scope) - {Scope.REFLECT})
    with pytest.raises(InsufficientScope):
        await app.reflections.checkout(without)
    batch = await app.reflections.checkout(me.narrowed({Scope.REFLECT}))
    with pytest.raises(InsufficientScope):
        await app.reflections.commit(without, batch.batch.id, entries())


async def test_two_programs_on_this_computer_hold_batches_of_their_own(app, clock):
    one, two = await app.local(by="stdio"), await app.local(by="stdio")
    assert one.holder != two.holder
    assert (one.credential, one.credential_id) == (two.credential, two.credential_id) == ("stdio", "local")
    await fill(app, one, 40, clock, words=100)
    first, second = await app.reflections.checkout(one, max_tokens=1_000), await app.reflections.checkout(two)
    assert set(names(first)).isdisjoint(names(second))
    again = await app.entering.again(one)
    assert (await app.reflections.checkout(again)).batch == first.batch


async def test_whoever_never_gets_a_turn_is_told_to_try_again(app, me, clock, monkeypatch):
    await fill(app, me, 12, clock)
    tried = []

    async def busy(self, writes):
        tried.append(True)
        raise Conflict("somebody else")

    monkeypatch.setattr(SqliteDatabase, "apply", busy)
    monkeypatch.setattr(reflection, "_PAUSE_MILLISECONDS", 1)
    with pytest.raises(Unavailable, match="others reflect on this vault"):
        await app.reflections.checkout(me)
    assert len(tried) == reflection.TRIES


@pytest.mark.parametrize("id", ["", "x", an_id(9), "' OR 1=1 --", an_id(9).upper()])
async def test_what_is_no_batch_of_this_connection_is_not_found(app, me, clock, id):
    await fill(app, me, 12, clock)
    await app.reflections.checkout(me)
    with pytest.raises(BatchNotFound):
        await app.reflections.commit(me, id, entries())


async def test_a_bad_entry_writes_nothing_and_keeps_the_lease(app, me, clock):
    await fill(app, me, 12, clock)
    batch = await app.reflections.checkout(me)
    before = await rows(app, me)
    with pytest.raises(InvalidArgument):
        await app.reflections.commit(me, batch.batch.id, entries(importance=11))
    with pytest.raises(InvalidArgument, match="source_ids"):
        await app.reflections.commit(me, batch.batch.id, entries(source_ids=[an_id(1)]))
    assert await rows(app, me) == before
    assert (await app.reflections.checkout(me)).batch == batch.batch
