"""Deleting: exactly what was named, and so that nothing finds it again."""

import asyncio

import pytest

from archivist.app import assemble
from archivist.domain.access import Scope
from archivist.domain.errors import ConfirmationRequired, InsufficientScope, InvalidArgument, Unavailable
from archivist.embedders.hashed import HashedEmbedder
from archivist.services.deletion import DELETE_ALL, DELETE_SELECTED
from archivist.settings import Settings
from archivist.storage.sqlite.database import SqliteDatabase
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import an_id

pytestmark = pytest.mark.anyio


async def ids(app, who):
    return [memory.id for memory in await app.memories.recent(who, 500)]


async def found(app, who, query):
    return [row.memory.text for row in (await app.search.search(who, query=query)).rows]


async def test_a_deleted_memory_is_found_by_nothing(app, me):
    await app.memories.store(me, text="the walrus password")
    await app.memories.store(me, text="something else")
    [walrus] = [memory.id for memory in await app.memories.recent(me, 9) if "walrus" in memory.text]
    done = await app.deletion.delete(me, [walrus], DELETE_SELECTED)
    assert (done.deleted, done.not_found, done.state) == ([walrus], [], "erased")
    assert await found(app, me, "walrus password") in ([], ["something else"])
    assert [line async for line in app.transfer.export(me) if b"walrus" in line] == []
    assert (await app.status.of(me)).memories == 1


@pytest.mark.parametrize(
    "phrase",
    [
        "",
        "delete selected memories",
        "DELETE SELECTED MEMORIES ",
        " DELETE SELECTED MEMORIES",
        "DELETE  SELECTED MEMORIES",
        DELETE_ALL,
        "DELETE SELECTED MEMORIES.",
        '"DELETE SELECTED MEMORIES"',
        "DELETE SELECTED MEMORIE\u0405",
    ],
)
async def test_any_other_phrase_deletes_nothing(app, me, phrase):
    await app.memories.store(me, text="keep me")
    with pytest.raises(ConfirmationRequired, match="DELETE SELECTED MEMORIES"):
        await app.deletion.delete(me, await ids(app, me), phrase)
    with pytest.raises(ConfirmationRequired, match="DELETE ALL MEMORIES"):
        await app.deletion.forget_all(me, phrase if phrase != DELETE_ALL else "DELETE ALL MEMORIEs")
    assert await found(app, me, "keep me") == ["keep me"]


async def test_ids_of_another_vault_are_answered_like_unknown_ones(app, me, other):
    await app.memories.store(other, text="theirs")
    [theirs] = await ids(app, other)
    done = await app.deletion.delete(me, [theirs, an_id(9)], DELETE_SELECTED)
    assert (done.deleted, done.not_found) == ([], [theirs, an_id(9)])
    assert await found(app, other, "theirs") == ["theirs"]


async def test_sec_170_a_foreign_and_an_unknown_id_get_the_same_answer_by_the_same_statements(
    app, me, other, monkeypatch
):
    await app.memories.store(other, text="theirs")
    [theirs] = await ids(app, other)
    read, asked = SqliteDatabase.read, []

    async def recorded(self, query, parameters=None):
        asked.append(str(query))
        return await read(self, query, parameters)

    monkeypatch.setattr(SqliteDatabase, "read", recorded)
    answers = []
    for id in (theirs, an_id(9)):
        asked.clear()
        done = await app.deletion.delete(me, [id], DELETE_SELECTED)
        page = await app.search.by_date(me, start="2026-11-30", end=f"2026-11-30T12:00:00.000000Z#{id}")
        answers.append((done.deleted, list(done.not_found) == [id], done.state, page.rows, page.truncated, list(asked)))
    assert answers[0] == answers[1]
    assert await ids(app, other) == [theirs]


@pytest.mark.parametrize("wrong", [[], [an_id(1)] * 501, ["receipt-abc"], ["x"], [an_id(1).upper()], [an_id(1), ""]])
async def test_what_is_not_a_list_of_ids_is_refused_whole(app, me, wrong):
    with pytest.raises(InvalidArgument, match="memory_ids: "):
        await app.deletion.delete(me, wrong, DELETE_SELECTED)


async def test_five_hundred_ids_are_accepted(app, me):
    done = await app.deletion.delete(me, [an_id(number) for number in range(500)], DELETE_SELECTED)
    assert len(done.not_found) == 500


async def test_a_receipt_cannot_delete(app, me):
    receipt = (await app.memories.store(me, text="x")).receipt
    with pytest.raises(InvalidArgument, match="a receipt is not an id"):
        await app.deletion.delete(me, [receipt], DELETE_SELECTED)


async def test_eight_racing_deletions_of_one_memory_delete_it_once(app, me):
    await app.memories.store(me, text="only one")
    done = await asyncio.gather(*(app.deletion.delete(me, _ids, DELETE_SELECTED) for _ids in [await ids(app, me)] * 8))
    assert sum(len(one.deleted) for one in done) == 1


async def test_deleting_needs_its_own_scope(app, me):
    await app.memories.store(me, text="keep me")
    without = me.narrowed(set(Scope) - {Scope.DELETE})
    with pytest.raises(InsufficientScope):
        await app.deletion.delete(without, await ids(app, me), DELETE_SELECTED)
    with pytest.raises(InsufficientScope):
        await app.deletion.forget_all(without, DELETE_ALL)
    assert len(await ids(app, me)) == 1


async def test_forgetting_all_empties_this_vault_and_no_other(app, me, other):
    for number in range(30):
        await app.memories.store(me, text=f"mine {number}")
        await app.memories.store(other, text=f"theirs {number}")
    done = await app.deletion.forget_all(me, DELETE_ALL)
    assert (done.memories, done.state) == (30, "erased")
    assert await ids(app, me) == []
    assert await found(app, me, "mine") == []
    assert len(await ids(app, other)) == 30
    assert (await app.deletion.forget_all(me, DELETE_ALL)).memories == 0


class Busy:
    """A vault that another program holds whenever its files are to be scrubbed."""

    def __init__(self, database):
        self._database = database

    def __getattr__(self, name):
        return getattr(self._database, name)

    async def scrub(self):
        raise Unavailable("the store is busy with another program; try again")


class BusyStores(SqliteStores):
    async def vault(self, vault, *, writable=True):
        return Busy(await super().vault(vault, writable=writable))


async def test_a_deletion_whose_erasure_is_held_up_is_answered_as_removed_and_stays_wanted(tmp_path, clock):
    app = assemble(BusyStores(tmp_path / "busy", now=clock), HashedEmbedder(), clock, Settings(data=tmp_path / "busy"))
    me = await app.local()
    for text in ("walrus", "quokka"):
        await app.memories.store(me, text=text)
    one = await app.deletion.delete(me, (await ids(app, me))[:1], DELETE_SELECTED)
    rest = await app.deletion.forget_all(me, DELETE_ALL)
    status = await app.status.of(me)
    await app.close()
    assert (len(one.deleted), one.state, rest.memories, rest.state) == (1, "removed", 1, "removed")
    assert status.erasing


async def test_the_text_of_a_deleted_memory_can_honestly_be_stored_anew(app, me):
    await app.memories.store(me, text="phoenix")
    await app.deletion.delete(me, await ids(app, me), DELETE_SELECTED)
    assert not (await app.memories.store(me, text="phoenix")).duplicate
    assert await found(app, me, "phoenix") == ["phoenix"]


async def test_sec_191_an_import_does_not_bring_a_deleted_memory_back(app, me):
    await app.memories.store(me, text="dead fact")
    await app.memories.store(me, text="live fact")
    lines = [line async for line in app.transfer.export(me)]
    dead = [memory.id for memory in await app.memories.recent(me, 9) if memory.text == "dead fact"]
    await app.deletion.delete(me, dead, DELETE_SELECTED)
    done = await app.transfer.load(me, lines)
    assert (done.stored, done.already, done.deleted) == (0, 1, 1)
    relabelled = [line.replace(dead[0].encode(), an_id(77).encode()) for line in lines]
    assert (await app.transfer.load(me, relabelled)).deleted == 1
    assert await found(app, me, "fact") == ["live fact"]
