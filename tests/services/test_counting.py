"""Counting what connections and keys do: soon in the database, bounded before, and kept if it cannot be written."""

from dataclasses import replace

import pytest

from archivist.domain.errors import Unavailable
from archivist.services.counting import KINDS
from archivist.storage import audit, uses
from archivist.storage.sqlite.stores import SqliteStores
from tests.people import READ, arrived, connected, founded

pytestmark = pytest.mark.anyio


class Broken:
    """Stores that do not answer."""

    async def control(self):
        raise Unavailable("control.db cannot be opened")


class Full:
    """Stores whose database takes nothing more, from the second batch on."""

    def __init__(self, stores: SqliteStores, batches: int) -> None:
        self._stores, self._left = stores, batches

    async def control(self):
        self._database = await self._stores.control()
        return self

    async def apply(self, batch):
        if self._left == 0:
            raise Unavailable("the disk is full")
        self._left -= 1
        return await self._database.apply(batch)


async def counts(app, vault):
    return {(one.operation, one.outcome): one.count for one in await uses.of_vault(await app.stores.control(), vault)}


async def test_what_was_counted_stands_in_the_database_after_a_flush(app, me, clock):
    first = clock()
    app.counting.note(me, "search_memories")
    clock.move(minutes=5)
    app.counting.note(me, "search_memories")
    app.counting.note(me, "store_memory")
    assert await counts(app, me.vault) == {}
    await app.counting.flush()
    assert await counts(app, me.vault) == {("search_memories", "done"): 2, ("store_memory", "done"): 1}
    [use] = [one for one in await uses.of_vault(await app.stores.control(), me.vault) if one.count == 2]
    assert (use.credential, use.first, use.last) == (me.credential_id, first, clock())


async def test_later_counts_are_added_to_earlier_ones(app, me, clock):
    first = clock()
    for _ in range(3):
        app.counting.note(me, "search_memories")
        await app.counting.flush()
        clock.move(hours=1)
    await app.counting.flush()
    [use] = await uses.of_vault(await app.stores.control(), me.vault)
    assert (use.count, use.first) == (3, first)
    assert use.last == first.replace(hour=first.hour + 2)


async def test_different_credentials_and_outcomes_are_counted_apart(app, me, other):
    app.counting.note(me, "store_memory")
    app.counting.note(replace(me, credential_id="0193b000-0000-7000-8000-00000000000c"), "store_memory")
    app.counting.note(me, "store_memory", "insufficient_scope")
    app.counting.note(other, "store_memory")
    await app.counting.flush()
    assert len(await uses.of_vault(await app.stores.control(), me.vault)) == 3
    assert await counts(app, other.vault) == {("store_memory", "done"): 1}


async def test_sec_232_each_kind_of_refusal_leaves_one_line_with_its_count(app, me):
    for _ in range(40):
        app.counting.note(me, "delete_memories", "insufficient_scope")
    app.counting.note(me, "search_memories")
    await app.counting.flush()
    found = [one for one in await audit.recent(await app.stores.control(), me.vault, 9) if one.outcome != "done"]
    assert [(one.action, one.outcome, one.count, one.user) for one in found] == [
        ("delete_memories", "insufficient_scope", 40, me.user)
    ]


async def test_more_kinds_than_fit_are_counted_together(app, me):
    for number in range(KINDS + 500):
        app.counting.note(me, f"tool {number}")
    await app.counting.flush()
    found = await counts(app, me.vault)
    assert len(found) == KINDS + 1
    assert found["others", "done"] == 500
    assert sum(found.values()) == KINDS + 500


async def test_names_that_are_too_long_for_the_table_are_cut(app, me):
    app.counting.note(me, "x" * 500, "y" * 500)
    await app.counting.flush()
    assert await counts(app, me.vault) == {("x" * 64, "y" * 32): 1}


async def test_what_cannot_be_written_is_kept_for_the_next_time(app, me):
    app.counting.note(me, "search_memories")
    broken = replace(app.counting, stores=Broken())
    with pytest.raises(Unavailable):
        await broken.flush()
    app.counting.note(me, "search_memories")
    await app.counting.flush()
    assert await counts(app, me.vault) == {("search_memories", "done"): 2}


async def test_of_a_flush_that_breaks_off_nothing_is_lost_and_nothing_counted_twice(app, me, clock):
    first = clock()
    for number in range(450):
        app.counting.note(me, f"tool {number}")
    full = replace(app.counting, stores=Full(app.stores, batches=1))
    with pytest.raises(Unavailable):
        await full.flush()
    assert len(await counts(app, me.vault)) == 200
    clock.move(hours=1)
    app.counting.note(me, "tool 449")
    await app.counting.flush()
    found = await counts(app, me.vault)
    assert len(found) == 450
    assert sum(found.values()) == 451
    assert {one.first for one in await uses.of_vault(await app.stores.control(), me.vault)} == {first}


async def test_an_empty_flush_asks_for_no_database(app):
    await replace(app.counting, stores=Broken(), _counted={}).flush()


async def test_what_was_counted_is_written_when_the_server_stops(app, me, tmp_path, clock):
    await app.start()
    app.counting.note(me, "search_memories")
    await app.close()
    stores = SqliteStores(tmp_path / "data", now=clock)
    found = await uses.of_vault(await stores.control(), me.vault)
    assert [(one.operation, one.count) for one in found] == [("search_memories", 1)]
    await stores.close()


async def test_a_connection_says_when_it_was_first_and_last_used(app, clock):
    ana = await founded(app, await arrived(app, "ana"), "mine")
    reader = await connected(app, clock, ana, READ)
    who = await app.entering.authenticate(reader.access, "vault")
    [connection] = await app.connections.list(ana)
    assert connection.seen is None
    first = clock()
    app.counting.note(who, "search_memories")
    clock.move(hours=3)
    app.counting.note(who, "search_memories")
    await app.counting.flush()
    [connection] = await app.connections.list(ana)
    assert (connection.seen.first, connection.seen.last) == (first, clock())


async def lines(app, vault):
    return [one.count for one in await audit.recent(await app.stores.control(), vault, 99) if one.outcome != "done"]


async def test_sec_232_a_refusal_that_goes_on_leaves_a_line_now_and_then_with_all_that_came_since(app, me, clock):
    for _ in range(1_000):  # one a second, and a flush after each
        app.counting.note(me, "delete_memories", "insufficient_scope")
        await app.counting.flush()
        clock.move(seconds=1)
    assert await lines(app, me.vault) == [600, 1]
    await app.counting.flush(ending=True)
    assert await lines(app, me.vault) == [399, 600, 1]
    assert await counts(app, me.vault) == {("delete_memories", "insufficient_scope"): 1_000}


async def test_a_line_that_was_put_off_is_written_without_another_refusal(app, me, clock):
    for count in (1, 2):
        for _ in range(count):
            app.counting.note(me, "delete_memories", "insufficient_scope")
        await app.counting.flush()
    assert await lines(app, me.vault) == [1]
    clock.move(minutes=10)
    await app.counting.flush()
    assert await lines(app, me.vault) == [2, 1]


async def test_a_clock_that_is_put_back_holds_no_line_up(app, me, clock):
    for _ in range(2):
        app.counting.note(me, "delete_memories", "insufficient_scope")
        await app.counting.flush()
        clock.move(days=-300)
    assert await lines(app, me.vault) == [1, 1]
