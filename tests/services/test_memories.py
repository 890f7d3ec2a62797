"""Keeping a memory."""

import asyncio

import pytest

from archivist.domain.access import Scope
from archivist.domain.errors import InsufficientScope, InvalidArgument
from archivist.domain.ids import is_uuid
from archivist.services.deletion import DELETE_SELECTED
from archivist.storage import memories as stored

pytestmark = pytest.mark.anyio


async def texts(app, who):
    return [memory.text for memory in await app.memories.recent(who, 100)]


async def test_a_stored_memory_is_there_with_everything_that_was_said_of_it(app, me, clock):
    await app.memories.store(me, text=" Ana is allergic to peanuts. ", tags=["health"], source_context="a chat")
    [memory] = await app.memories.recent(me, 10)
    assert (memory.text, memory.tags, memory.source_context) == ("Ana is allergic to peanuts.", ("health",), "a chat")
    assert (memory.tier, memory.version, memory.created, memory.importance) == (1, 1, clock(), None)


async def test_a_receipt_is_no_id_and_differs_from_store_to_store(app, me):
    first = await app.memories.store(me, text="one")
    second = await app.memories.store(me, text="two")
    assert first.receipt != second.receipt
    assert not is_uuid(first.receipt)


async def test_an_exact_repeat_is_answered_with_the_first_memory(app, me, clock):
    first = await app.memories.store(me, text="The router is 192.168.7.1")
    clock.move(hours=1)
    again = await app.memories.store(me, text="  The router is 192.168.7.1\n")
    assert again.duplicate
    assert (again.receipt, again.created) == (first.receipt, first.created)
    assert len(await texts(app, me)) == 1


async def test_twenty_racing_stores_of_one_text_make_one_memory(app, me):
    stored = await asyncio.gather(*(app.memories.store(me, text="once") for _ in range(20)))
    assert len({one.receipt for one in stored}) == 1
    assert sum(not one.duplicate for one in stored) == 1
    assert await texts(app, me) == ["once"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("router IP is 192.168.7.1", "router IP is 192.168.9.1"),
        ("upgrade to v1.2.3", "upgrade to v1.2.4"),
        ("meeting at 3pm", "meeting at 4pm"),
        ("Ana is allergic to nuts", "Ana is not allergic to nuts"),
        ("caf\u00e9", "cafe\u0301"),
    ],
)
async def test_nearly_equal_facts_are_both_kept(app, me, one, other):
    await app.memories.store(me, text=one)
    await app.memories.store(me, text=other)
    assert set(await texts(app, me)) == {one, other}


async def test_the_same_text_in_another_vault_is_another_memory(app, me, other):
    await app.memories.store(me, text="shared words")
    assert not (await app.memories.store(other, text="shared words")).duplicate
    assert await texts(app, other) == ["shared words"]


async def test_a_caller_that_may_not_read_does_not_learn_that_a_text_was_there(app, me, clock):
    first = await app.memories.store(me, text="secret plan")
    clock.move(hours=1)
    blind = await app.memories.store(me.narrowed({Scope.WRITE}), text="secret plan")
    assert not blind.duplicate
    assert blind.receipt != first.receipt
    assert blind.created == clock()


async def test_a_text_that_is_deleted_while_its_repeat_comes_in_is_stored_again(app, me, monkeypatch):
    await app.memories.store(me, text="on and off", tags=["a"])
    [first] = await app.memories.recent(me, 9)
    with_tags = stored.with_tags

    async def meanwhile(db, vault, rows, damaged=None):
        if rows:
            monkeypatch.setattr(stored, "with_tags", with_tags)
            await app.deletion.delete(me, [first.id], DELETE_SELECTED)
        return await with_tags(db, vault, rows, damaged)

    monkeypatch.setattr(stored, "with_tags", meanwhile)
    again = await app.memories.store(me, text="on and off", tags=["a"])
    assert not again.duplicate
    assert await texts(app, me) == ["on and off"]


async def test_storing_without_the_scope_writes_nothing(app, me):
    with pytest.raises(InsufficientScope):
        await app.memories.store(me.narrowed(set(Scope) - {Scope.WRITE}), text="x")
    assert await texts(app, me) == []


async def test_a_refused_text_writes_nothing(app, me):
    with pytest.raises(InvalidArgument):
        await app.memories.store(me, text="a\x00b")
    assert await texts(app, me) == []


async def test_recent_is_newest_first_and_bounded(app, me, clock):
    for number in range(5):
        await app.memories.store(me, text=f"fact {number}")
        clock.move(seconds=1)
    assert [memory.text for memory in await app.memories.recent(me, 2)] == ["fact 4", "fact 3"]
