"""The stores of a data folder: private files, many processes, backups, damage, idleness."""

import asyncio
import os
import subprocess
import sys
from datetime import timedelta

import pytest
import sqlalchemy as sa

from archivist.domain.errors import NotFound, Refused, Unavailable
from archivist.domain.ids import CONTROL
from archivist.storage import heads
from archivist.storage.database import Write
from archivist.storage.schema import tags
from archivist.storage.sqlite import connections, files
from archivist.storage.sqlite.stores import IDLE, OPEN_FILES, SqliteStores
from tests.builders import MINE, SECRET, Clock, an_id

pytestmark = pytest.mark.anyio

ALL = sa.select(tags.c.tag).where(tags.c.vault == MINE)
OTHER_PROCESS = """
import sys
from pathlib import Path
from archivist.storage.sqlite import connections
connection = connections.writer(Path(sys.argv[1]))
connection.execute("BEGIN IMMEDIATE" if sys.argv[2] == "write" else "BEGIN")
connection.execute("SELECT count(*) FROM heads").fetchone()
print("holding", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
connection.close()
"""


def a_tag(memory="m", tag="t"):
    return Write(sa.insert(tags).values(vault=MINE, memory=memory, position=0, tag=tag))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def stores(tmp_path, clock):
    stores = SqliteStores(tmp_path / "data", now=clock)
    await stores.control()
    yield stores
    await stores.close()


@pytest.fixture
async def db(stores):
    await stores.create(MINE)
    db = await stores.vault(MINE)
    await db.apply([heads.make(MINE, SECRET)])
    return db


class Holder:
    """Another process that holds a transaction on the file until it is let go."""

    def __init__(self, path, kind):
        command = [sys.executable, "-c", OTHER_PROCESS, str(path), kind]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "holding\n"

    def let_go(self):
        self.process.communicate("\n", timeout=30)


async def test_every_file_is_private_from_the_start(tmp_path, db):
    os.umask(0o022)
    await db.apply([a_tag()])
    found = {path.suffix: path.stat().st_mode & 0o777 for path in (tmp_path / "data").rglob("*.db*")}
    assert found == {".db": 0o600, ".db-wal": 0o600, ".db-shm": 0o600}


async def test_a_vault_that_was_never_made_is_not_found(stores):
    for vault in (MINE, "../control", ""):
        with pytest.raises(NotFound):
            await stores.vault(vault)


async def test_a_writer_waits_for_another_process_without_an_error(db):
    holder = Holder(db.path, "write")
    waiting = asyncio.ensure_future(db.apply([a_tag()]))
    assert not (await asyncio.wait([waiting], timeout=0.2))[0]
    await asyncio.to_thread(holder.let_go)
    assert await waiting == [1]


async def test_a_start_does_not_wait_for_another_process_that_writes(tmp_path, stores):
    holder = Holder(tmp_path / "data" / "control.db", "write")
    late = SqliteStores(tmp_path / "data")
    began = (await heads.read(await late.control(), CONTROL)).head
    await asyncio.to_thread(holder.let_go)
    await late.close()
    assert began.epoch == 1


async def test_what_is_wrong_with_a_vault_is_told_without_its_path_or_id(tmp_path, stores, db):
    await db.read(ALL)
    connection = connections.writer(db.path)
    connection.execute("PRAGMA application_id=1")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    again = SqliteStores(tmp_path / "data")
    for look in (stores.check(), again.vault(MINE)):
        with pytest.raises(Unavailable) as told:
            await look
        assert MINE not in told.value.detail
        assert str(tmp_path) not in told.value.detail
    await again.close()


async def test_scrubbing_tells_when_a_reader_holds_it_up_and_writers_go_on(db, monkeypatch):
    monkeypatch.setattr("archivist.storage.sqlite.database.SCRUB_SECONDS", 0.3)
    holder = Holder(db.path, "read")
    await db.apply([a_tag()])
    scrubbing = asyncio.ensure_future(db.scrub())
    await db.apply([a_tag("other")])
    assert await scrubbing is False
    await asyncio.to_thread(holder.let_go)
    assert await db.scrub() is True


async def test_scrubbing_leaves_no_deleted_text_in_any_file(tmp_path, db):
    secret = "quetzalcoatl" * 500
    await db.apply([a_tag(f"m{n}", secret[:300]) for n in range(50)])
    path = db.path.with_name(db.path.name + ".before-2")
    path.write_text(secret)
    await db.apply([Write(sa.delete(tags).where(tags.c.vault == MINE))])
    assert await db.scrub()
    await db.close()
    assert not any(b"quetzal" in path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())


async def test_a_backup_taken_under_writes_is_whole_and_opens(tmp_path, stores, db):
    writing = asyncio.gather(*(db.apply([a_tag(f"m{n}"), a_tag(f"n{n}")]) for n in range(200)))
    assert await stores.backup(tmp_path / "copy") == 2
    await writing
    copy = SqliteStores(tmp_path / "copy")
    count = len(await (await copy.vault(MINE)).read(ALL))
    await copy.check()
    await copy.close()
    assert count % 2 == 0
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "copy").rglob("*.db")} == {0o600}


async def test_every_vault_that_a_backup_names_is_in_it(tmp_path, stores, db, monkeypatch):
    copy_to, late = files.copy_to, tmp_path / "data" / "vaults" / f"{an_id(5)}.db"

    def copy_while_a_vault_is_made(path, target):
        if not late.exists():
            late.write_bytes(db.path.read_bytes())  # and its row, which control.db has from now on
        copy_to(path, target)

    monkeypatch.setattr(files, "copy_to", copy_while_a_vault_is_made)
    assert await stores.backup(tmp_path / "copy") == 3
    assert (tmp_path / "copy" / "vaults" / late.name).exists()


async def test_a_backup_into_a_folder_with_something_in_it_is_refused(tmp_path, stores):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine").touch()
    with pytest.raises(Refused, match="not empty"):
        await stores.backup(tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["mine"]


@pytest.mark.parametrize("replace", [True, False], ids=["replaced", "overwritten"])
async def test_garbage_in_place_of_a_file_is_noticed(tmp_path, stores, db, replace):
    await db.apply([a_tag()])
    path = tmp_path / "data" / "control.db"
    if replace:
        (tmp_path / "garbage").write_bytes(b"garbage" * 5000)
        (tmp_path / "garbage").replace(path)
    else:
        overwrite = [sys.executable, "-c", f"open({str(path)!r}, 'r+b').write(b'garbage' * 5000)"]
        await asyncio.to_thread(subprocess.run, overwrite, check=True)
    with pytest.raises(Unavailable):
        await stores.check()


async def test_a_missing_control_file_is_noticed(tmp_path, stores):
    (tmp_path / "data" / "control.db").unlink()
    with pytest.raises(Unavailable):
        await stores.check()


async def test_idle_files_are_let_go_and_open_again_by_themselves(stores, db, clock):
    await db.read(ALL)
    clock.move(seconds=IDLE.total_seconds())
    await stores.create(an_id(1))
    await stores.vault(an_id(1))
    assert not db.is_open
    assert await db.apply([a_tag()]) == [1]


async def test_no_more_files_stay_open_than_allowed(stores, clock):
    numbers = range(OPEN_FILES + 5)
    for number in numbers:
        await stores.create(an_id(number))
    for _ in ("opened for the first time", "opened again"):
        opened = []
        for number in numbers:
            clock.now += timedelta(milliseconds=1)
            opened.append(await stores.vault(an_id(number)))
            await opened[-1].read(ALL)
        assert sum(database.is_open for database in opened) <= OPEN_FILES + 1
        assert opened[-1].is_open


async def test_after_damage_nothing_is_written_until_the_file_was_checked(stores, db, monkeypatch):
    class FailingDisk(Exception):
        sqlite_errorcode = 10

    class Connection:
        in_transaction = False

        def execute(self, _statement):
            raise FailingDisk

        def close(self):
            pass

    monkeypatch.setattr(connections, "writer", lambda _path: Connection())
    await db.rest()
    for _ in range(2):
        with pytest.raises(Unavailable):
            await db.apply([a_tag()])
    monkeypatch.undo()
    with pytest.raises(Unavailable, match="once the file was checked"):
        await db.apply([a_tag()])
    again = await stores.vault(MINE)
    assert await again.apply([a_tag()]) == [1]


async def test_a_backup_of_a_damaged_vault_names_the_damage_and_leaves_nothing(tmp_path, stores, db):
    await db.apply([a_tag(f"m{number}") for number in range(2_000)])
    await stores.close()
    path = next((stores._data / "vaults").glob("*.db"))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.truncate()
    with pytest.raises(Unavailable, match="damaged"):
        await stores.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert not list(tmp_path.glob(".copy*"))
