"""Looking behind a memory: what it was built from, tier by tier, and what was built on it."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from archivist.domain import budget
from archivist.domain.access import Scope
from archivist.domain.errors import InsufficientScope, InvalidArgument, NotFound
from archivist.domain.limits import INSPECT_ABOVE, INSPECT_SOURCES, INSPECT_TOKENS
from archivist.services.deletion import DELETE_SELECTED
from archivist.storage import lineage
from archivist.storage.database import Write
from archivist.storage.schema import memories
from archivist.storage.sqlite.database import SqliteDatabase
from tests.builders import NOON, an_id
from tests.reflecting import kept, three_tiers

pytestmark = pytest.mark.anyio


def sources_of(found):
    return [source.row.memory.id for source in found.sources]


async def forgotten(app, who, *memories):
    done = await app.deletion.delete(who, [memory.id for memory in memories], DELETE_SELECTED)
    assert len(done.deleted) == len(memories)


async def test_the_chain_leads_from_the_top_down_to_the_raw_memories_and_up_again(app, me):
    tiers = await three_tiers(app, me)
    top = await app.lineage.inspect(me, tiers.top.id)
    event = await app.lineage.inspect(me, sources_of(top)[0])
    raw = await app.lineage.inspect(me, sources_of(event)[0])
    assert (top.memory, top.above, sources_of(top)) == (tiers.top, [], [one.id for one in tiers.events])
    assert (event.memory, event.above, sources_of(event)) == (tiers.events[0], [tiers.top], [an_id(1), an_id(2)])
    assert (raw.memory, raw.above, sources_of(raw)) == (tiers.raw[0], [tiers.events[0]], [])
    assert [(one.sources_total, one.sources_deleted, one.truncated) for one in (top, event, raw)] == [
        (2, 0, False),
        (2, 0, False),
        (0, 0, False),
    ]


async def test_sources_stand_in_the_order_of_their_event_times(app, me):
    days = {1: 3, 2: 1, 3: 2, 4: 1}
    raw = [await kept(app, me, n, f"fact {n}", event=NOON + timedelta(days=day)) for n, day in days.items()]
    above = await kept(app, me, 9, "event", tier=2, importance=5, sources=raw)
    found = await app.lineage.inspect(me, above.id)
    assert sources_of(found) == [an_id(n) for n in (2, 4, 3, 1)]
    assert (found.first, found.last) == (NOON + timedelta(days=1), NOON + timedelta(days=3))


async def test_a_raw_memory_covers_its_own_date(app, me):
    tiers = await three_tiers(app, me)
    found = await app.lineage.inspect(me, tiers.raw[1].id)
    assert (found.first, found.last) == (tiers.raw[1].event, tiers.raw[1].event)


async def test_deleted_sources_are_counted_and_the_span_is_that_of_the_others(app, me):
    tiers = await three_tiers(app, me)
    await forgotten(app, me, tiers.raw[0])
    found = await app.lineage.inspect(me, tiers.events[0].id)
    assert (sources_of(found), found.sources_total, found.sources_deleted) == ([an_id(2)], 2, 1)
    assert (found.first, found.last, found.truncated) == (tiers.raw[1].event, tiers.raw[1].event, False)


async def test_when_every_source_is_deleted_only_the_end_of_the_span_is_known(app, me):
    tiers = await three_tiers(app, me)
    await forgotten(app, me, *tiers.raw[:2])
    found = await app.lineage.inspect(me, tiers.events[0].id)
    assert (sources_of(found), found.sources_total, found.sources_deleted) == ([], 2, 2)
    assert (found.first, found.last, found.truncated) == (None, tiers.events[0].event, False)


async def test_a_source_that_was_edited_since_is_marked_as_an_older_text(app, me):
    old, same = await kept(app, me, 1, "the new text", version=3), await kept(app, me, 2, "as it was")
    above = await kept(app, me, 9, "event", tier=2, importance=5, sources=[replace(old, version=1), same])
    found = await app.lineage.inspect(me, above.id)
    assert [source.edited for source in found.sources] == [True, False]
    assert found.sources_edited == 1


async def test_a_memory_that_an_erasure_is_taking_away_counts_as_deleted(app, me):
    tiers = await three_tiers(app, me)
    db = await app.stores.vault(me.vault)
    going = sa.update(memories).where(memories.c.vault == me.vault, memories.c.id == an_id(1))
    await db.apply([Write(going.values(going=an_id(99)))])
    found = await app.lineage.inspect(me, tiers.events[0].id)
    assert (sources_of(found), found.sources_deleted) == ([an_id(2)], 1)
    with pytest.raises(NotFound):
        await app.lineage.inspect(me, an_id(1))


async def test_no_more_sources_are_listed_than_the_cap_but_all_are_counted(app, me):
    raw = [await kept(app, me, n, f"fact {n}") for n in range(1, INSPECT_SOURCES + 3)]
    above = await kept(app, me, 900, "event", tier=2, importance=5, sources=raw)
    found = await app.lineage.inspect(me, above.id)
    assert (len(found.sources), found.sources_total, found.truncated) == (INSPECT_SOURCES, INSPECT_SOURCES + 2, True)


async def test_no_more_tokens_are_answered_than_the_cap(app, me):
    raw = [await kept(app, me, n, f"{n} " + "x" * 15_000) for n in range(1, 9)]
    above = await kept(app, me, 9, "event " + "y" * 8_000, tier=2, importance=5, sources=raw)
    found = await app.lineage.inspect(me, above.id)
    rows = [found.memory, *(source.row.memory for source in found.sources)]
    assert sum(budget.cost_of(one) for one in rows) <= INSPECT_TOKENS
    assert (len(found.sources), found.sources_total, found.truncated) == (4, 8, True)


async def test_of_sources_that_are_too_long_the_first_is_shown_cut(app, me):
    raw = [await kept(app, me, n, f"{n} " + "x" * 65_000) for n in (1, 2)]
    above = await kept(app, me, 9, "y" * 60_000, tier=2, importance=5, sources=raw)
    found = await app.lineage.inspect(me, above.id)
    assert sources_of(found) == [an_id(1)]
    assert found.sources[0].row.memory.text.endswith(budget.CUT)
    assert found.truncated


async def test_many_reflections_on_one_memory_are_listed_up_to_a_cap_that_is_told(app, me):
    raw = await kept(app, me, 1, "fact")
    for number in range(INSPECT_ABOVE + 1):
        await kept(app, me, 100 + number, f"event {number}", tier=2, importance=5, sources=[raw])
    found = await app.lineage.inspect(me, raw.id)
    assert (len(found.above), found.more_above) == (INSPECT_ABOVE, True)


async def test_sec_170_a_foreign_and_an_unknown_id_get_the_same_answer_by_the_same_statements(
    app, me, other, monkeypatch
):
    theirs = await kept(app, other, 7, "theirs")
    read, asked = SqliteDatabase.read, []

    async def recorded(self, query, parameters=None):
        asked.append(str(query))
        return await read(self, query, parameters)

    monkeypatch.setattr(SqliteDatabase, "read", recorded)
    answers = []
    for id in (theirs.id, an_id(8), "ffffffff-ffff-ffff-ffff-ffffffffffff", theirs.id.upper()):
        asked.clear()
        with pytest.raises(NotFound) as refused:
            await app.lineage.inspect(me, id)
        answers.append((refused.value.detail, list(asked)))
    assert answers == [answers[0]] * 4
    assert (await app.lineage.inspect(other, theirs.id.upper())).memory == theirs


@pytest.mark.parametrize(
    "wrong", ["", "receipt-0123", "x", "0193b00000007000800000000000000a", an_id(1) + "0", "\ud800"]
)
async def test_what_is_no_id_at_all_is_told_so(app, me, wrong):
    with pytest.raises(InvalidArgument, match="memory_id: "):
        await app.lineage.inspect(me, wrong)


async def test_looking_behind_a_memory_needs_reading(app, me):
    tiers = await three_tiers(app, me)
    with pytest.raises(InsufficientScope):
        await app.lineage.inspect(me.narrowed(set(Scope) - {Scope.READ}), tiers.top.id)


async def test_the_reflections_that_a_deletion_leaves_are_known_through_all_tiers(app, me, other):
    tiers, db = await three_tiers(app, me), await app.stores.vault(me.vault)
    await three_tiers(app, other)
    assert await lineage.kept_reflections(db, me.vault, [an_id(1)]) == [an_id(11), an_id(21)]
    assert await lineage.kept_reflections(db, me.vault, [an_id(1), an_id(11), an_id(3)]) == [an_id(12), an_id(21)]
    assert await lineage.kept_reflections(db, me.vault, [tiers.top.id, an_id(77)]) == []
    await forgotten(app, me, tiers.top)
    assert await lineage.kept_reflections(db, me.vault, [an_id(1)]) == [an_id(11)]


async def test_lineage_that_runs_in_a_circle_ends(app, me):
    one = await kept(app, me, 1, "one", tier=2)
    two = await kept(app, me, 2, "two", tier=2, sources=[one])
    db = await app.stores.vault(me.vault)
    await db.apply([lineage.insert(me.vault, one.id, two.id, 1, "")])
    assert await lineage.kept_reflections(db, me.vault, [one.id]) == [two.id]
