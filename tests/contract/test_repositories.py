"""Rows to domain values and back, on every backend."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from archivist.domain.access import LOCAL_OWNER, Scope
from archivist.domain.audit import Entry
from archivist.domain.dates import Bound
from archivist.domain.erasures import Erasure
from archivist.domain.errors import Conflict, NotFound
from archivist.domain.ids import CONTROL, KeyId, VaultId
from archivist.domain.keys import Key
from archivist.domain.queries import Filters
from archivist.domain.times import LATEST, moment
from archivist.domain.vaults import Vault
from archivist.storage import (
    audit,
    changes,
    erasures,
    heads,
    keys,
    lineage,
    memories,
    pending,
    tombstones,
    vaults,
    vectors,
)
from archivist.storage.memories import Debt
from archivist.storage.schema import vectors as vectors_table
from tests.builders import MINE, NOON, SECRET, THEIRS, a_memory, an_id

pytestmark = pytest.mark.anyio

EVER = (Bound(moment(-(10**15))), Bound(LATEST))


def storing(memory):
    log = changes.append(memory.vault, 1, kind="memory", id=memory.id, version=1, op="put", at=NOON)
    return [*log, *memories.insert(memory, "terms")]


def numbered(count, **changes):
    return [a_memory(n, text=f"fact {n}", event=NOON + timedelta(seconds=n), **changes) for n in range(1, count + 1)]


async def store(db, *stored):
    await db.apply([write for memory in stored for write in storing(memory)])


async def test_a_memory_comes_back_equal(db):
    whole = a_memory(
        text="適者生存 😀 " + "é" * 30_000,
        title="é" * 80,
        event=moment(-1),
        tier=2,
        importance=10,
        unique_text=True,
        tags=("b", "a", "適"),
        source_context="chat",
        batch=an_id(9),
        archived=True,
        favorite=True,
        priority=0,
        project="p",
        summary="s" * 65_536,
        aliases=("x", "ü"),
        keywords=(),
    )
    await store(db, whole)
    assert await memories.find(db, MINE, whole.id) == whole


async def test_a_memory_of_another_vault_is_found_by_no_query(db, theirs):
    await store(db, a_memory(unique_text=True, tags=("t",)))
    await theirs.apply([pending.insert(THEIRS, an_id(5))])
    assert await memories.find(theirs, THEIRS, an_id(1)) is None
    assert await memories.by_repeat(theirs, THEIRS, a_memory().digest) is None
    assert await memories.recent(theirs, THEIRS, 10) == []
    assert await memories.page(theirs, THEIRS, None, 10) == []
    assert await memories.existing(theirs, THEIRS, [an_id(1)]) == frozenset()
    assert await memories.repeats(theirs, THEIRS, [a_memory().digest]) == frozenset()
    assert await memories.window(theirs, THEIRS, *EVER, Filters(), 10) == []
    assert (await memories.tally(theirs, THEIRS)).everything == 0
    assert await pending.count(db, MINE) == 0


async def test_the_document_number_is_the_seq_of_the_change_that_stored_it(db):
    await store(db, *numbered(3))
    rows = await db.read(sa.text("SELECT id, doc FROM memories WHERE vault = :vault ORDER BY doc"), {"vault": MINE})
    logged = await changes.since(db, MINE, 0, 10)
    assert [(row["id"], row["doc"]) for row in rows] == [(change.id, change.seq) for change in logged]


async def test_a_taken_id_or_a_repeat_of_a_unique_text_conflicts(db):
    await store(db, a_memory(unique_text=True))
    for other in (a_memory(text="other"), a_memory(2, unique_text=True)):
        with pytest.raises(Conflict):
            await store(db, other)
    await store(db, a_memory(3))
    assert await memories.by_repeat(db, MINE, a_memory().digest) == a_memory(unique_text=True)


async def test_many_are_found_in_the_order_asked_for(db):
    stored = numbered(700)
    await store(db, *stored)
    wanted = [an_id(9_999), *(memory.id for memory in reversed(stored))]
    assert list((await memories.find_many(db, MINE, wanted)).values()) == stored[::-1]
    assert await memories.existing(db, MINE, wanted) == frozenset(wanted[1:])


async def test_pages_by_id_visit_everything_once(db):
    stored = numbered(7, archived=True)
    await store(db, *stored[::-1])
    pages, after = [], None
    while page := await memories.page(db, MINE, after, 3):
        pages.append(len(page))
        after = page[-1].id
        assert page == [memory for memory in stored if memory.id <= after][-len(page) :]
    assert pages == [3, 3, 1]


async def test_recent_is_newest_first(db):
    stored = [a_memory(n, created=NOON + timedelta(days=n % 2)) for n in range(1, 5)]
    await store(db, *stored)
    assert [memory.id for memory in await memories.recent(db, MINE, 3)] == [an_id(3), an_id(1), an_id(4)]


@pytest.mark.parametrize("oldest_first", [False, True])
async def test_a_window_is_walked_in_both_directions_without_gap_or_repeat(db, oldest_first):
    stored = [a_memory(n, event=NOON + timedelta(days=n // 3)) for n in range(10)]
    await store(db, *stored)
    first, last = Bound(NOON), Bound(NOON + timedelta(days=3))
    seen = []
    while page := await memories.window(db, MINE, first, last, Filters(), 2, oldest_first=oldest_first):
        seen += [memory.id for memory in page]
        behind = Bound(page[-1].event, page[-1].id)
        first, last = (behind, last) if oldest_first else (first, behind)
    expected = [memory.id for memory in stored[:9]]
    assert seen == (expected if oldest_first else expected[::-1])


async def test_a_window_keeps_to_its_filters(db):
    raw, archived = a_memory(1), a_memory(2, archived=True)
    low, high = a_memory(3, tier=2, importance=3), a_memory(4, tier=3, importance=9)
    await store(db, raw, archived, low, high)

    async def ids(**filters):
        return {memory.id for memory in await memories.window(db, MINE, *EVER, Filters(**filters), 10)}

    assert await ids() == {raw.id, low.id, high.id}
    assert await ids(archived=True) == {raw.id, archived.id, low.id, high.id}
    assert await ids(tiers=frozenset({1, 3})) == {raw.id, high.id}
    assert await ids(importance=3) == {low.id, high.id}
    assert await ids(importance=4, tiers=frozenset({2})) == set()


async def test_a_tally_counts_archived_memories_apart(db):
    assert (await memories.tally(db, MINE)).oldest is None
    stored = [*numbered(3), a_memory(4, tier=2, importance=1), a_memory(5, archived=True)]
    await store(db, *stored)
    tally = await memories.tally(db, MINE)
    assert (tally.memories, tally.archived, tally.everything, tally.tiers) == (4, 1, 5, {1: 3, 2: 1, 3: 0})
    assert tally.tokens == sum(memory.tokens for memory in stored[:4])
    assert (tally.oldest, tally.newest) == (NOON, NOON + timedelta(seconds=3))


async def test_debt_is_what_no_batch_and_no_archive_holds(db):
    await store(db, a_memory(1), a_memory(2), a_memory(3, batch=an_id(9)), a_memory(4, archived=True))
    assert await memories.debt(db, MINE) == {1: Debt(2, 2 * a_memory().tokens)}


def an_erasure(number=1, vault=MINE, *, whole=False):
    return Erasure(vault=vault, id=an_id(900 + number), whole=whole, seq=0, at=NOON)


def hidden(erasure, *ids):
    hide = erasures.hide_all(erasure) if erasure.whole else erasures.hide(erasure, ids)
    return [*hide, erasures.begin(erasure), tombstones.bury(erasure, NOON)]


async def test_a_deletion_hides_at_once_and_then_takes_away_and_its_tombstone_stays(db):
    await store(db, a_memory(1, tags=("t",)), a_memory(2, tags=("t",)))
    erasure = an_erasure()
    await db.apply(hidden(erasure, an_id(1)))
    assert list(await memories.find_many(db, MINE, [an_id(1), an_id(2)])) == [an_id(2)]
    assert (await memories.tally(db, MINE)).everything == 1
    assert await erasures.is_left(db, MINE, [an_id(1)])
    assert list(await erasures.documents(db, erasure)) == [an_id(1)]
    assert await erasures.under_way(db, MINE) == [erasure]
    with pytest.raises(Conflict):
        await db.apply(hidden(an_erasure(2), an_id(2), an_id(1)))
    assert await memories.existing(db, MINE, [an_id(2)]) == {an_id(2)}
    await db.apply([erasures.close(erasure), *erasures.drop(erasure)])
    assert not await erasures.is_left(db, MINE, [an_id(1)])
    digest = a_memory().digest
    assert await tombstones.among(db, MINE, [an_id(1), an_id(2)], [digest, "f" * 64]) == {an_id(1), digest}
    assert not await erasures.is_under_way(db, erasure)
    with pytest.raises(Conflict):
        await db.apply([erasures.close(erasure)])


async def test_a_withdrawn_deletion_shows_everything_again_with_an_entry_of_the_log_for_each(db):
    stored = numbered(3, tags=("t",))
    await store(db, *stored)
    erasure, before = an_erasure(whole=True), (await heads.read(db, MINE)).head
    await db.apply(hidden(erasure))
    assert await memories.page(db, MINE, None, 10) == []
    await db.apply([erasures.close(erasure), tombstones.dig_up(erasure), *erasures.show_again(erasure, before, NOON)])
    assert await memories.page(db, MINE, None, 10) == stored
    assert await tombstones.among(db, MINE, [one.id for one in stored], []) == frozenset()
    log = await changes.since(db, MINE, before.seq, 10)
    assert [(entry.op, entry.id, entry.seq) for entry in log] == [
        ("put", one.id, before.seq + number) for number, one in enumerate(stored, 1)
    ]
    assert (await heads.read(db, MINE)).head.seq == before.seq + 3


async def test_emptying_a_vault_leaves_the_other_one_as_it_is(db, theirs):
    await store(db, *numbered(3, tags=("t",)))
    kept = a_memory(7, vault=THEIRS, tags=("t",))
    await store(theirs, kept)
    await db.apply([lineage.insert(MINE, an_id(8), an_id(1), 1, an_id(9))])
    erasure = an_erasure(whole=True)
    await db.apply(hidden(erasure))
    await db.apply([erasures.close(erasure), *erasures.drop(erasure)])
    assert await memories.page(db, MINE, None, 10) == []
    assert await lineage.built_on(db, MINE, [an_id(1)]) == []
    assert await tombstones.among(db, MINE, [an_id(n) for n in (1, 2, 3, 7)], []) == {an_id(1), an_id(2), an_id(3)}
    assert await memories.page(theirs, THEIRS, None, 10) == [kept]


async def test_a_head_says_how_its_vault_stands(db):
    with pytest.raises(NotFound):
        await heads.read(db, VaultId("0193b000-0000-7000-8000-00000000000f"))
    await db.apply([heads.set_space(MINE, "e5"), heads.raise_seq(MINE, 1), heads.erasing(MINE)])
    standing = await heads.read(db, MINE)
    assert (standing.secret, standing.space, standing.erasing, standing.head.seq) == (SECRET, "e5", 1, 1)
    await db.apply([heads.erased(MINE, 0)])
    assert (await heads.read(db, MINE)).erasing == 1
    await db.apply([heads.erased(MINE, 1)])
    assert (await heads.read(db, MINE)).erasing == 0
    with pytest.raises(Conflict):
        await db.apply([heads.make(MINE, SECRET)])


async def test_waiting_memories_are_taken_once(db):
    await store(db, *numbered(4))
    made = vectors.insert(MINE, an_id(4), "e5", np.ones(1, np.float32), np.ones((1, 3), np.int8))
    await db.apply([made, pending.insert(MINE, an_id(4))])
    await db.apply(pending.without(MINE, "e5"))
    assert await pending.first(db, MINE, 2) == [an_id(1), an_id(2)]
    await db.apply([heads.set_space(MINE, "e5"), pending.remove(MINE, an_id(1), "e5")])
    assert await pending.count(db, MINE) == 2
    with pytest.raises(Conflict):
        await db.apply([pending.remove(MINE, an_id(1), "e5")])


async def test_vectors_of_another_space_than_the_wanted_one_leave_a_memory_waiting(db):
    await db.apply([pending.insert_unless_wanted(MINE, an_id(1), "e5")])
    assert await pending.count(db, MINE) == 0
    await db.apply([heads.set_space(MINE, "e6"), pending.insert_unless_wanted(MINE, an_id(2), "e6")])
    assert await pending.count(db, MINE) == 0
    await db.apply([pending.insert_unless_wanted(MINE, an_id(3), "e5")])
    with pytest.raises(Conflict):
        await db.apply([pending.remove(MINE, an_id(3), "e5")])
    assert await pending.first(db, MINE, 2) == [an_id(3)]


async def test_vectors_come_back_as_they_were(db):
    scales, data = np.array([0.1, 0.25], np.float32), np.array([[-127, 0, 127], [1, 2, 3]], np.int8)
    await db.apply([vectors.insert(MINE, an_id(1), "e5", scales, data)])
    query = sa.select(vectors_table).where(vectors_table.c.vault == MINE).order_by(vectors_table.c.window)
    rows = await db.read(query)
    assert [np.float32(row["scale"]) for row in rows] == list(scales)
    assert [np.frombuffer(row["data"], np.int8).tolist() for row in rows] == data.tolist()
    await db.apply([vectors.drop(MINE, [an_id(1)])])
    assert await db.read(query) == []


async def test_links_outlive_the_memory_that_was_built_on(db):
    links = [lineage.insert(MINE, an_id(9), an_id(n), 1, an_id(8)) for n in (2, 1)]
    await store(db, a_memory(1))
    await db.apply(links)
    erasure = an_erasure()
    await db.apply(hidden(erasure, an_id(1)))
    await db.apply(erasures.drop(erasure))
    built = await lineage.sources(db, MINE, [an_id(9), an_id(1)])
    assert [link.child for link in built[an_id(9)]] == [an_id(1), an_id(2)]
    assert [link.parent for link in await lineage.built_on(db, MINE, [an_id(1)])] == [an_id(9)]


async def test_what_became_of_sources_and_what_stands_on_them_is_told_of_this_vault_alone(db, theirs):
    later = a_memory(2, event=NOON + timedelta(hours=1), version=2)
    await store(db, later, a_memory(1), *(a_memory(number, tier=number // 10 + 1) for number in (11, 21)))
    await store(theirs, a_memory(12, vault=THEIRS, tier=2))
    links = [(11, 1), (11, 2), (11, 3), (21, 11)]
    await db.apply([lineage.insert(MINE, an_id(parent), an_id(child), 1, "b") for parent, child in links])
    await theirs.apply([lineage.insert(THEIRS, an_id(12), an_id(1), 1, "b")])
    standing = await lineage.standing(db, MINE, an_id(11))
    assert standing.total == 3
    assert [(one.id, one.edited) for one in standing.here] == [(an_id(1), False), (an_id(2), True)]
    assert await lineage.reflections_on(db, MINE, an_id(1)) == [an_id(11)]
    assert await lineage.kept_reflections(db, MINE, [an_id(1), an_id(3)]) == [an_id(11), an_id(21)]


async def test_the_audit_trail_comes_back_newest_first(db):
    first = Entry(
        id=an_id(1),
        vault=MINE,
        at=NOON,
        user=LOCAL_OWNER,
        credential="key",
        credential_id=an_id(5),
        action="store_memory",
    )
    second = replace(first, id=an_id(2), at=NOON + timedelta(seconds=1), count=7, outcome="refused")
    await db.apply([audit.insert(first), audit.insert(second)])
    assert await audit.recent(db, MINE, 10) == [second, first]


async def test_a_person_has_one_vault_of_a_name_however_it_is_spelt(stores):
    control = await stores.control()
    vault = Vault(id=MINE, name="Café", kind="personal", owner=LOCAL_OWNER, created=NOON)
    await control.apply([vaults.insert(vault)])
    with pytest.raises(Conflict):
        await control.apply([vaults.insert(replace(vault, id=THEIRS, name="CAFE\u0301"))])
    await control.apply([vaults.insert(replace(vault, id=THEIRS, name="Cafe"))])
    assert await vaults.find(control, MINE) == vault
    await control.apply([vaults.remove(MINE, NOON)])
    assert (await vaults.find(control, MINE), list(await vaults.ids(control))) == (None, [THEIRS])


async def test_a_key_comes_back_as_it_was_and_is_revoked_once(stores):
    control = await stores.control()
    key = Key(
        id=KeyId(an_id(3)),
        vault=MINE,
        digest="d" * 64,
        start="mk_abcdef",
        name="",
        owner=LOCAL_OWNER,
        scopes=frozenset({Scope.READ, Scope.WRITE}),
        created=NOON,
        expires=NOON + timedelta(days=1),
    )
    await control.apply([keys.insert(key)])
    assert await keys.by_digest(control, key.digest) == key
    await control.apply([keys.revoke(MINE, key.id, NOON)])
    assert await keys.of_owner(control, LOCAL_OWNER) == [replace(key, revoked=NOON)]
    with pytest.raises(Conflict):
        await control.apply([keys.revoke(MINE, key.id, NOON)])
    await control.apply([keys.delete(MINE, key.id)])
    assert await keys.by_digest(control, key.digest) is None
    assert (await heads.read(control, CONTROL)).head.seq == 0
