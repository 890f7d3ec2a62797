"""Deleting when something fails at any step: it is finished or untouched, on both sides, and what is said is true."""

import pytest

from archivist.app import assemble
from archivist.domain.errors import Unavailable
from archivist.embedders.hashed import HashedEmbedder
from archivist.services.deletion import DELETE_ALL, DELETE_SELECTED
from archivist.settings import Settings
from archivist.storage.sqlite.stores import SqliteStores
from tests.e2e.inspecting import faults
from tests.faults import Fault, FaultyStores, Killed
from tests.mirrors import differences

pytestmark = pytest.mark.anyio

TEXTS = [f"walrus {number}" for number in range(4)]
KEPT = "kept"
MOST = 60
"""More calls than any deletion here makes."""


class House:
    """One data folder and its mirror, each of which can be told to fail."""

    def __init__(self, data, clock):
        self.data, self.clock = data, clock
        self.primary, self.mirror = (FaultyStores(SqliteStores(path, now=clock)) for path in (data, data / "mirror"))
        self.app = assemble(self.primary, HashedEmbedder(), clock, Settings(data=data), mirror=self.mirror)

    async def filled(self):
        await self.app.embedder.start()
        self.who = await self.app.local()
        for text in [*TEXTS, KEPT]:
            await self.app.memories.store(self.who, text=text, tags=["a"])
        await self.app.mirroring.catch_up()
        return self

    async def delete(self, whole):
        if whole:
            return await self.app.deletion.forget_all(self.who, DELETE_ALL)
        ids = [m.id for m in await self.app.memories.recent(self.who, 9) if m.text in TEXTS]
        return await self.app.deletion.delete(self.who, ids, DELETE_SELECTED)

    async def texts(self):
        return sorted(memory.text for memory in await self.app.memories.recent(self.who, 9))

    async def found(self):
        return {row.memory.text for row in (await self.app.search.search(self.who, query="walrus kept")).rows}

    async def reopened(self):
        """After a kill: a new process on the same files, whose workers have had their turn."""
        await self.app.close()
        self.clock.move(minutes=5)
        house = House(self.data, self.clock)
        await house.app.embedder.start()
        house.who = await house.app.local()
        await house.app.erasing.eraser.end_all(house.who.vault, self.clock())
        await house.app.mirroring.catch_up()
        return house


@pytest.fixture
async def house(tmp_path, clock):
    house = await House(tmp_path / "data", clock).filled()
    yield house
    await house.app.close()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("side", ["primary", "mirror"])
@pytest.mark.parametrize("whole", [False, True], ids=["some", "all"])
async def test_killed_at_any_call_it_is_finished_or_untouched_and_never_confirmed_and_present(
    tmp_path, clock, whole, side, when
):
    outcomes = set()
    for at in range(1, MOST):
        house = await House(tmp_path / f"data{at}", clock).filled()
        fault = Fault(at, when, Killed)
        getattr(house, side).fault = fault
        confirmed = False
        try:
            await house.delete(whole)
            confirmed = True
        except Killed:
            pass
        getattr(house, side).fault = None
        again = await house.reopened()
        texts = await again.texts()
        assert texts in ([], [KEPT], sorted([*TEXTS, KEPT])), at
        deleted = texts == ([] if whole else [KEPT])
        assert deleted or not confirmed, at
        assert await again.found() == set(texts), at
        assert differences(again.data, again.data / "mirror", again.who.vault) == [], at
        outcomes.add(deleted)
        await again.app.close()
        if not fault.reached:
            assert confirmed
            break
    else:
        pytest.fail("a deletion makes more calls than are tried here")
    assert outcomes == {True, False} or side == "mirror"


@pytest.mark.parametrize("whole", [False, True], ids=["some", "all"])
async def test_a_mirror_that_fails_at_any_call_and_stays_away_means_that_nothing_is_deleted_or_all_of_it(
    tmp_path, clock, whole
):
    refused = 0
    for at in range(1, MOST):
        house = await House(tmp_path / f"data{at}", clock).filled()
        fault = Fault(at, "before", lambda: Unavailable("the disk is gone"), lasting=True)
        house.mirror.fault = fault
        said, done = "", None
        try:
            done = await house.delete(whole)
        except Unavailable as error:
            said = error.detail
        if done is None:
            assert said.startswith("nothing was deleted: ")
            assert await house.texts() == sorted([*TEXTS, KEPT]), at
            assert await house.found() == {*TEXTS, KEPT}
            refused += 1
        else:
            assert await house.texts() == ([] if whole else [KEPT]), at
            assert done.state == ("removed" if fault.reached else "erased")
        house.mirror.fault = None
        await house.app.mirroring.catch_up()
        assert differences(house.data, house.data / "mirror", house.who.vault) == [], at
        await house.app.close()
        if not fault.reached:
            break
    assert refused > 2


async def test_sec_189_a_mirror_that_says_yes_and_keeps_the_rows_is_found_out(house, monkeypatch):
    store = house.mirror.stores
    copy = await store.vault(house.who.vault)
    apply = type(copy).apply

    async def keeps(self, batch):
        if self is copy:
            batch = [write for write in batch if "DELETE" not in str(write.statement)]
        return await apply(self, batch)

    monkeypatch.setattr(type(copy), "apply", keeps)
    with pytest.raises(Unavailable, match="still holds them"):
        await house.delete(False)
    assert len(await house.texts()) == len(TEXTS) + 1


async def test_what_is_being_deleted_is_found_by_nothing_and_counted_nowhere(house, monkeypatch):
    app, who, seen = house.app, house.who, {}
    cleared = type(app.mirror).cleared

    async def looking(self, vault, ids, documents):
        seen["recent"] = await house.texts()
        seen["found"] = await house.found()
        seen["count"] = (await app.status.of(who)).memories
        seen["export"] = [line async for line in app.transfer.export(who)]
        await cleared(self, vault, ids, documents)

    monkeypatch.setattr(type(app.mirror), "cleared", looking)
    await house.delete(False)
    assert seen["recent"] == [KEPT]
    assert seen["found"] == {KEPT}
    assert seen["count"] == 1
    assert len(seen["export"]) == 1


async def test_what_is_stored_while_everything_goes_stays(house, monkeypatch):
    app, who = house.app, house.who
    cleared = type(app.mirror).cleared

    async def meanwhile(self, vault, ids, documents):
        await app.memories.store(who, text="stored meanwhile", tags=["new"])
        await cleared(self, vault, ids, documents)

    monkeypatch.setattr(type(app.mirror), "cleared", meanwhile)
    done = await app.deletion.forget_all(who, DELETE_ALL)
    assert done.memories == len(TEXTS) + 1
    assert await house.texts() == ["stored meanwhile"]
    assert await house.found() == {"stored meanwhile"}
    await app.mirroring.catch_up()
    assert differences(house.data, house.data / "mirror", who.vault) == []


async def test_everything_goes_while_another_deletion_waits_for_the_mirror_and_both_come_to_their_end(
    house, monkeypatch
):
    app, who = house.app, house.who
    cleared, calls = type(app.mirror).cleared, []

    async def meanwhile(self, vault, ids, documents):
        calls.append(len(ids))
        if len(calls) == 1:
            await app.deletion.forget_all(who, DELETE_ALL)
        await cleared(self, vault, ids, documents)

    monkeypatch.setattr(type(app.mirror), "cleared", meanwhile)
    done = await house.delete(False)
    assert (len(done.deleted), calls) == (len(TEXTS), [len(TEXTS), 1])
    await app.memories.store(who, text="walrus 0")
    assert await house.found() == {"walrus 0"}
    assert faults(house.data) == []


async def test_a_text_that_was_deleted_can_be_stored_again_honestly(house):
    await house.delete(False)
    again = await house.app.memories.store(house.who, text=TEXTS[0])
    assert not again.duplicate
    assert TEXTS[0] in await house.texts()
