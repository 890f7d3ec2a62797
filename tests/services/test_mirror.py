"""The mirror: follows in order, from where it stands, and is equal once it has caught up."""

import asyncio
import shutil

import pytest

from archivist.app import OWNER, assemble
from archivist.domain.access import Scope
from archivist.domain.errors import Conflict, Refused, Unavailable
from archivist.domain.ids import CONTROL
from archivist.embedders.hashed import HashedEmbedder
from archivist.mirror import vaults as copying
from archivist.services.deletion import DELETE_ALL, DELETE_SELECTED
from archivist.settings import Settings
from archivist.storage import heads
from archivist.storage.schema import metadata
from archivist.storage.sqlite.stores import SqliteStores
from tests.mirrors import contents, differences

pytestmark = pytest.mark.anyio


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def equal(data, me):
    return lambda: differences(data, data / "mirror", me.vault) == []


@pytest.fixture
def another(data, clock):
    """Makes another process with the same data and the same mirror."""

    def made(folder=data):
        mirror = SqliteStores(data / "mirror", now=clock)
        return assemble(SqliteStores(folder, now=clock), HashedEmbedder(), clock, Settings(data=folder), mirror=mirror)

    return made


async def ids(app, who):
    return [memory.id for memory in await app.memories.recent(who, 500)]


async def test_a_mirror_that_caught_up_equals_the_vault(app, me, equal):
    for number in range(30):
        await app.memories.store(me, text=f"fact {number}", tags=["a", f"b{number}"], source_context="here")
    await app.deletion.delete(me, (await ids(app, me))[:5], DELETE_SELECTED)
    await app.memories.store(me, text="fact 29")
    await app.mirror.follow(me.vault)
    assert equal()


async def test_a_batch_that_ended_since_all_of_it_was_deleted_has_ended_there_too(app, me, clock, equal):
    await app.memories.store(me, text="goes")
    await app.reflections.checkout(me, max_tokens=1_000)
    await app.mirror.follow(me.vault)
    await app.deletion.delete(me, await ids(app, me), DELETE_SELECTED)
    await app.memories.store(me, text="comes")
    clock.move(minutes=1)
    await app.reflections.checkout(me, max_tokens=1_000)
    await app.mirror.follow(me.vault)
    assert equal()


@pytest.mark.parametrize("page", [1, 2, 7])
async def test_pages_of_any_size_come_to_the_same(app, me, equal, monkeypatch, page):
    monkeypatch.setattr(copying, "PAGE", page)
    for number in range(12):
        await app.memories.store(me, text=f"fact {number}", tags=["a"])
        if number == 6:
            await app.deletion.forget_all(me, DELETE_ALL)
        if number % 4 == 3:
            await app.deletion.delete(me, (await ids(app, me))[:2], DELETE_SELECTED)
    await app.mirror.follow(me.vault)
    assert equal()
    assert (await app.mirror.lag(me.vault)).entries == 0


async def test_many_followers_at_once_copy_everything_once(app, me, equal, another, monkeypatch):
    monkeypatch.setattr(copying, "PAGE", 3)
    for number in range(20):
        await app.memories.store(me, text=f"fact {number}", tags=["a"])
    others = [another() for _ in range(4)]
    await asyncio.gather(*(one.mirror.follow(me.vault) for one in (app, *others)))
    for one in others:
        await one.close()
    assert equal()


async def test_following_goes_on_while_others_store_and_delete(app, me, equal, monkeypatch):
    monkeypatch.setattr(copying, "PAGE", 5)

    async def busy():
        for number in range(40):
            await app.memories.store(me, text=f"fact {number}", tags=["a"])
            if number % 10 == 9:
                await app.deletion.delete(me, (await ids(app, me))[:3], DELETE_SELECTED)

    async def following(done):
        while not done.is_set():
            await app.mirror.follow(me.vault)
            await asyncio.sleep(0)

    done = asyncio.Event()
    follower = asyncio.create_task(following(done))
    await busy()
    done.set()
    await follower
    await app.mirror.follow(me.vault)
    assert equal()


async def test_a_follower_that_was_cut_off_between_reading_and_writing_loses_nothing(app, me, equal, monkeypatch):
    await app.memories.store(me, text="before")
    target = await app.mirror.store.control()
    kind = type(target)
    apply, calls = kind.apply, []

    async def cut(self, batch):
        calls.append(1)
        if len(calls) == 2:
            raise Unavailable("cut off")
        return await apply(self, batch)

    monkeypatch.setattr(kind, "apply", cut)
    with pytest.raises(Unavailable):
        await app.mirror.follow(me.vault)
    await app.memories.store(me, text="after")
    await app.mirror.follow(me.vault)
    assert equal()


async def test_a_lost_mirror_is_made_again(app, me, data, equal, another):
    await app.memories.store(me, text="still here")
    await app.mirror.follow(me.vault)
    await app.mirror.store.close()
    shutil.rmtree(data / "mirror")
    again = assemble(
        SqliteStores(data),
        HashedEmbedder(),
        app.deletion.now,
        Settings(data=data),
        mirror=SqliteStores(data / "mirror"),
    )
    await again.mirroring.catch_up()
    await again.close()
    assert equal()


async def test_a_mirror_that_knows_more_than_the_data_is_left_as_it_is(app, me, data, tmp_path, another):
    await app.memories.store(me, text="old")
    await app.stores.backup(tmp_path / "old")
    await app.memories.store(me, text="new")
    await app.mirroring.catch_up()
    before = contents(data / "mirror", me.vault)
    older = another(tmp_path / "old")
    with pytest.raises(Refused, match="archivist repair"):
        await older.mirror.follow(me.vault)
    assert (await older.mirror.lag(me.vault)).state == "ahead"
    with pytest.raises(Refused, match="the data are older than their mirror"):
        await older.start()
    await older.close()
    assert contents(data / "mirror", me.vault) == before


async def test_the_data_of_another_server_are_not_written_over(app, me, tmp_path, another):
    await app.memories.store(me, text="mine")
    await app.mirroring.catch_up()
    other = another(tmp_path / "other")
    await other.local()
    with pytest.raises(Refused, match="mirror of its own"):
        await other.mirroring.catch_up()
    await other.close()


async def test_people_keys_and_vaults_are_copied_and_what_they_lose_is_gone_there_too(app, me, data):
    made = await app.keys.create(me, name="laptop", scopes=frozenset({Scope.READ}))
    await app.vaults.create(OWNER, "second", "project")
    await app.mirroring.catch_up()
    control = await app.mirror.store.control()
    [vault_names] = [sorted(row["name"] for row in await control.read(_all("vaults")))]
    assert "second" in vault_names
    assert [row["name"] for row in await control.read(_all("keys"))] == ["laptop"]
    assert "keys create" in [row["action"] for row in await control.read(_all("audit"))]
    await app.keys.revoke(me, made[0].id)
    await app.mirror.follow(CONTROL)
    assert [row["revoked"] is not None for row in await control.read(_all("keys"))] == [True]
    app.keyring.prepare()
    await app.mirror.follow(CONTROL)
    assert (data / "mirror" / "server.key").read_bytes() == (data / "server.key").read_bytes()
    assert (data / "mirror" / "server.key").stat().st_mode & 0o077 == 0


def _all(name):
    return metadata.tables[name].select()


async def test_a_page_that_somebody_else_copied_meanwhile_conflicts(app, me):
    await app.memories.store(me, text="one")
    await app.mirror.follow(me.vault)
    await app.memories.store(me, text="two")
    source, target = await app.stores.vault(me.vault), await app.mirror.store.vault(me.vault)
    pages = [copying.step(source, target, me.vault, app.mirror.keywords) for _ in range(2)]
    outcomes = await asyncio.gather(*pages, return_exceptions=True)
    assert sorted(type(one) is Conflict for one in outcomes) == [False, True]


async def test_what_is_committed_while_the_control_database_is_copied_is_copied_once(app, me, monkeypatch):
    await app.mirror.follow(CONTROL)
    read = heads.read

    async def and_then_somebody_makes_a_key(db, vault):
        standing = await read(db, vault)
        if vault == CONTROL and not made:
            made.append(1)
            made[:] = [await app.keys.create(me, name="meanwhile", scopes=frozenset({Scope.READ}))]
        return standing

    made: list[object] = []
    monkeypatch.setattr(heads, "read", and_then_somebody_makes_a_key)
    await app.mirror.follow(CONTROL)
    monkeypatch.undo()
    await app.keys.create(me, name="later", scopes=frozenset({Scope.READ}))
    await app.mirror.follow(CONTROL)
    control = await app.mirror.store.control()
    assert sorted(row["name"] for row in await control.read(_all("keys"))) == ["later", "meanwhile"]


async def test_a_page_that_always_conflicts_is_given_up_in_the_end(app, me, monkeypatch):
    async def conflicts(*_args):
        raise Conflict("a unique key is taken")

    monkeypatch.setattr(copying, "step", conflicts)
    with pytest.raises(Unavailable, match="archivist doctor"):
        await app.mirror.follow(me.vault)
