"""Rows asked for by their keys: read where they are asked for, unless that would have to wait."""

import asyncio
import threading

import pytest

from archivist.storage import heads
from archivist.storage.sqlite.driver import driver
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import MINE, SECRET

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stores(tmp_path):
    made = SqliteStores(tmp_path / "data")
    await made.control()
    await made.create(MINE)
    await (await made.vault(MINE)).apply([heads.make(MINE, SECRET)])
    await made.close()
    again = SqliteStores(tmp_path / "data")
    yield again
    await again.close()


async def test_a_row_asked_for_by_its_key_needs_no_other_thread(stores):
    db = await stores.vault(MINE)
    before = threading.active_count()
    assert (await heads.read(db, MINE)).secret == SECRET
    assert threading.active_count() == before


async def test_while_the_file_is_locked_the_row_is_waited_for_and_everything_else_goes_on(stores):
    db = await stores.vault(MINE)
    locking = driver().connect(db.path, isolation_level=None)
    locking.execute("PRAGMA locking_mode=EXCLUSIVE")
    locking.execute("UPDATE heads SET space = 'a'")  # in the write-ahead log, such a lock shuts readers out, too
    reading = asyncio.create_task(heads.read(db, MINE))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not reading.done()
    locking.close()
    assert (await asyncio.wait_for(reading, 5)).space == "a"


async def test_a_row_read_where_it_is_asked_for_is_as_new_as_the_last_write(stores):
    db = await stores.vault(MINE)
    assert (await heads.read(db, MINE)).space == ""
    await db.apply([heads.set_space(MINE, "b")])
    assert (await heads.read(db, MINE)).space == "b"


async def test_at_rest_the_file_is_let_go_of(stores):
    db = await stores.vault(MINE)
    await heads.read(db, MINE)
    await db.rest()
    assert not db.is_open
    assert (await heads.read(db, MINE)).secret == SECRET
