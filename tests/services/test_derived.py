"""Deleting with everything derived: what is shown is what goes, and nothing else ever does."""

import asyncio
from dataclasses import replace

import pytest

from archivist.domain.access import Scope
from archivist.domain.errors import (
    ConfirmationRequired,
    Conflict,
    InsufficientScope,
    InvalidArgument,
    NotFound,
    Unavailable,
)
from archivist.domain.limits import DELETE_IDS, EXCERPT_LENGTH
from archivist.services.deletion import DELETE_SELECTED, Deletions
from archivist.services.derived import LIFE
from tests.builders import an_id
from tests.reflecting import kept, three_tiers

pytestmark = pytest.mark.anyio


async def here(app, who):
    return sorted(memory.id for memory in await app.memories.recent(who, 500))


async def test_a_preview_names_the_memory_and_every_reflection_above_it(app, me, clock):
    tiers = await three_tiers(app, me)
    found = await app.derived.preview(me, [tiers.raw[0].id])
    assert [(one.id, one.tier, one.importance, one.excerpt) for one in found.named] == [
        (an_id(1), 1, None, "walrus fact 1")
    ]
    assert [(one.id, one.tier, one.importance) for one in found.reflections] == [(an_id(21), 3, 9), (an_id(11), 2, 5)]
    assert (found.not_found, found.expires) == ([], clock() + LIFE)
    assert await here(app, me) == [one.id for one in tiers.everything]


async def test_exactly_what_the_preview_showed_is_deleted(app, me):
    tiers = await three_tiers(app, me)
    found = await app.derived.preview(me, [tiers.raw[0].id])
    done = await app.derived.delete(me, found.handle, DELETE_SELECTED)
    assert (list(done.deleted), list(done.reflections_kept)) == ([an_id(21), an_id(11), an_id(1)], [])
    assert (done.state, done.primary_cleared, done.mirror_cleared) == ("erased", True, True)
    assert await here(app, me) == [an_id(2), an_id(3), an_id(4), an_id(12)]


async def test_a_preview_of_several_counts_what_is_named_as_named(app, me):
    tiers = await three_tiers(app, me)
    found = await app.derived.preview(me, [tiers.events[0].id, tiers.raw[0].id, an_id(99), tiers.raw[0].id])
    assert [one.id for one in found.named] == [an_id(11), an_id(1)]
    assert [one.id for one in found.reflections] == [an_id(21)]
    assert found.not_found == [an_id(99)]


async def test_what_was_deleted_before_still_leads_to_what_was_built_on_it(app, me):
    tiers = await three_tiers(app, me)
    await app.deletion.delete(me, [tiers.raw[0].id], DELETE_SELECTED)
    found = await app.derived.preview(me, [tiers.raw[0].id])
    assert ([one.id for one in found.reflections], found.not_found) == ([an_id(21), an_id(11)], [an_id(1)])
    done = await app.derived.delete(me, found.handle, DELETE_SELECTED)
    assert list(done.deleted) == [an_id(21), an_id(11)]


async def test_a_long_text_is_shown_as_its_beginning(app, me):
    await kept(app, me, 1, "x" * 1000)
    found = await app.derived.preview(me, [an_id(1)])
    assert len(found.named[0].excerpt) == EXCERPT_LENGTH


async def test_who_may_not_read_sees_ids_and_tiers_alone_and_deletes_all_the_same(app, me):
    await three_tiers(app, me)
    blind = me.narrowed({Scope.DELETE})
    found = await app.derived.preview(blind, [an_id(1)])
    assert [(one.id, one.tier) for one in (*found.named, *found.reflections)] == [
        (an_id(1), 1),
        (an_id(21), 3),
        (an_id(11), 2),
    ]
    assert {(one.importance, one.date, one.excerpt) for one in (*found.named, *found.reflections)} == {
        (None, None, None)
    }
    assert len((await app.derived.delete(blind, found.handle, DELETE_SELECTED)).deleted) == 3


async def test_previewing_and_deleting_need_the_right_to_delete(app, me):
    await three_tiers(app, me)
    found, without = await app.derived.preview(me, [an_id(1)]), me.narrowed(set(Scope) - {Scope.DELETE})
    with pytest.raises(InsufficientScope):
        await app.derived.preview(without, [an_id(1)])
    with pytest.raises(InsufficientScope):
        await app.derived.delete(without, found.handle, DELETE_SELECTED)


@pytest.mark.parametrize("phrase", ["", "DELETE ALL MEMORIES", "delete selected memories", f"{DELETE_SELECTED} "])
async def test_any_other_phrase_deletes_nothing_and_leaves_the_handle_as_it_is(app, me, phrase):
    tiers = await three_tiers(app, me)
    found = await app.derived.preview(me, [an_id(1)])
    with pytest.raises(ConfirmationRequired, match=DELETE_SELECTED):
        await app.derived.delete(me, found.handle, phrase)
    assert len(await here(app, me)) == len(tiers.everything)
    await app.derived.delete(me, found.handle, DELETE_SELECTED)


@pytest.mark.parametrize("wrong", [[], [an_id(1)] * 501, ["receipt-abc"], ["x"], [an_id(1).upper()]])
async def test_what_is_not_a_list_of_ids_is_refused(app, me, wrong):
    with pytest.raises(InvalidArgument, match="memory_ids: "):
        await app.derived.preview(me, wrong)


async def test_sec_170_a_foreign_and_an_unknown_id_are_answered_alike(app, me, other):
    await three_tiers(app, other)
    answers = []
    for id in (an_id(1), an_id(98)):
        with pytest.raises(NotFound) as refused:
            await app.derived.preview(me, [id])
        answers.append(refused.value.detail)
    assert answers[0] == answers[1]
    assert len(await here(app, other)) == 7


async def refused(app, who, handle):
    with pytest.raises(Conflict, match=r"nothing was deleted.*preview again"):
        await app.derived.delete(who, handle, DELETE_SELECTED)


async def test_sec_116_a_handle_works_for_its_own_caller_vault_and_time_alone(app, me, other, clock):
    tiers = await three_tiers(app, me)
    await three_tiers(app, other)
    handle = (await app.derived.preview(me, [an_id(1)])).handle
    for stranger in (
        other,
        replace(me, credential_id="another"),
        replace(me, credential="key"),
        replace(me, user="somebody"),
    ):
        await refused(app, stranger, handle)
    middle = len(handle) // 2
    flipped = handle[:middle] + ("A" if handle[middle] != "A" else "B") + handle[middle + 1 :]
    for broken in ("", "x", "\u00e9", flipped, handle[:-1], app.keyring.seal("factor", ["x"])):
        await refused(app, me, broken)
    clock.move(seconds=LIFE.total_seconds() + 1)
    await refused(app, me, handle)
    assert len(await here(app, me)) == len(await here(app, other)) == len(tiers.everything)


async def test_sec_187_a_handle_works_once(app, me):
    await three_tiers(app, me)
    handle = (await app.derived.preview(me, [an_id(1)])).handle
    await app.derived.delete(me, handle, DELETE_SELECTED)
    await refused(app, me, handle)
    assert len(await here(app, me)) == 4


async def test_sec_187_of_racing_uses_of_one_handle_each_memory_is_deleted_by_one(app, me):
    await three_tiers(app, me)
    handle = (await app.derived.preview(me, [an_id(1)])).handle
    done = await asyncio.gather(
        *(app.derived.delete(me, handle, DELETE_SELECTED) for _ in range(8)), return_exceptions=True
    )
    assert sorted(id for one in done if not isinstance(one, Exception) for id in one.deleted) == [
        an_id(1),
        an_id(11),
        an_id(21),
    ]


async def test_sec_187_a_set_that_grew_since_the_preview_is_refused(app, me):
    tiers = await three_tiers(app, me)
    handle = (await app.derived.preview(me, [an_id(1)])).handle
    await kept(app, me, 13, "made meanwhile", tier=2, importance=4, sources=[tiers.raw[0]])
    await refused(app, me, handle)
    again = await app.derived.preview(me, [an_id(1)])
    assert len((await app.derived.delete(me, again.handle, DELETE_SELECTED)).deleted) == 4


async def test_sec_187_a_set_that_shrank_since_the_preview_is_refused(app, me):
    await three_tiers(app, me)
    handle = (await app.derived.preview(me, [an_id(1)])).handle
    await app.deletion.delete(me, [an_id(21)], DELETE_SELECTED)
    await refused(app, me, handle)
    assert an_id(1) in await here(app, me)


async def test_a_reflection_that_is_made_while_the_others_go_is_told(app, me, monkeypatch):
    tiers = await three_tiers(app, me)
    handle, delete = (await app.derived.preview(me, [an_id(1)])).handle, Deletions.delete

    async def and_meanwhile(self, who, ids, confirmation):
        done = await delete(self, who, ids, confirmation)
        await kept(app, me, 13, "made meanwhile", tier=2, importance=4, sources=[tiers.raw[0]])
        return done

    monkeypatch.setattr(Deletions, "delete", and_meanwhile)
    done = await app.derived.delete(me, handle, DELETE_SELECTED)
    assert (len(done.deleted), list(done.reflections_kept)) == (3, [an_id(13)])


async def many(app, me):
    """More than one deletion may name, all built on one memory."""
    raw = await kept(app, me, 1, "fact")
    for number in range(DELETE_IDS + 1):
        await kept(app, me, 1000 + number, f"event {number}", tier=2, importance=5, sources=[raw])
    return (await app.derived.preview(me, [raw.id])).handle


async def test_more_than_one_deletion_may_name_goes_in_parts_with_one_report(app, me):
    done = await app.derived.delete(me, await many(app, me), DELETE_SELECTED)
    assert (len(done.deleted), done.deleted[-1]) == (DELETE_IDS + 2, an_id(1))
    assert await here(app, me) == []


async def test_a_part_that_fails_after_another_is_told_as_a_partial_deletion(app, me, monkeypatch):
    handle, delete, calls = await many(app, me), Deletions.delete, []

    async def fails_then(self, who, ids, confirmation):
        calls.append(len(ids))
        if len(calls) > 1:
            raise Unavailable("the store is away")
        return await delete(self, who, ids, confirmation)

    monkeypatch.setattr(Deletions, "delete", fails_then)
    with pytest.raises(Unavailable, match=rf"{DELETE_IDS} of {DELETE_IDS + 2} memories are deleted.*the store is away"):
        await app.derived.delete(me, handle, DELETE_SELECTED)
    assert calls == [DELETE_IDS, 2]
    monkeypatch.undo()
    again = await app.derived.preview(me, [an_id(1)])
    assert len((await app.derived.delete(me, again.handle, DELETE_SELECTED)).deleted) == 2


async def test_what_fails_at_once_is_told_as_it_is(app, me, monkeypatch):
    await three_tiers(app, me)
    handle = (await app.derived.preview(me, [an_id(1)])).handle

    async def fails(*_):
        raise Unavailable("the store is away")

    monkeypatch.setattr(Deletions, "delete", fails)
    with pytest.raises(Unavailable, match=r"^the store is away$"):
        await app.derived.delete(me, handle, DELETE_SELECTED)
