"""What goes on by itself: missing vectors, and the erasure of deleted bytes."""

from functools import partial

import pytest

from archivist.app import assemble
from archivist.domain.erasures import Erasure
from archivist.domain.errors import Conflict, EmbedderUnavailable
from archivist.embedders.hashed import HashedEmbedder
from archivist.settings import Settings
from archivist.storage import heads, pending
from archivist.storage.sqlite.stores import SqliteStores
from archivist.workers.embedding import BATCH
from tests.builders import an_id
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def test_an_erasure_that_began_before_the_vault_was_emptied_does_not_count_for_what_came_after(app, me):
    await app.memories.store(me, text="quokka")
    db = await app.stores.vault(me.vault)
    began = (await heads.read(db, me.vault)).head
    erasure = Erasure(vault=me.vault, id=an_id(1), whole=True, seq=began.seq, at=app.deletion.now())
    entries = app.deletion.eraser.entries
    await db.apply(entries.hide_all(erasure, began, app.deletion.now()))
    await db.apply(entries.drop(erasure))
    await db.apply([heads.erased(me.vault, began.seq)])
    assert (await app.status.of(me)).erasing
    assert await app.erasing.finish(me.vault)
    assert not (await app.status.of(me)).erasing


async def test_vectors_made_for_a_space_that_is_not_wanted_any_more_are_not_kept(app, me, other, clock):
    await app.memories.store(me, text="quokka")
    await app.transfer.load(other, [line async for line in app.transfer.export(me)])
    db = await app.stores.vault(other.vault)
    [memory] = await app.memories.recent(other, 1)
    entries, standing = app.embedding.entries, await heads.read(db, other.vault)
    [made] = await app.embedder.passages([memory.text])
    await db.apply(entries.adopt(other.vault, standing.head, "another/384", clock()))  # another process, meanwhile
    with pytest.raises(Conflict):
        await db.apply(entries.embed(memory, standing.head, clock(), made, app.embedder.space))
    assert (await app.status.of(other)).pending == 1


class Picky(HashedEmbedder):
    """Answers nothing that holds the word poison."""

    async def passages(self, texts):
        if any("poison" in text for text in texts):
            raise EmbedderUnavailable("the embedding server refused the texts with status 413")
        return await super().passages(texts)


async def test_a_text_that_the_embedder_refuses_holds_up_no_other_one(tmp_path, clock, me, app):
    for text in ("poison", *(f"fact {number}" for number in range(BATCH + 5))):
        await app.memories.store(me, text=text)
    lines = [line async for line in app.transfer.export(me)]
    picky = assemble(SqliteStores(tmp_path / "picky", now=clock), Picky(), clock, Settings(data=tmp_path / "picky"))
    await picky.embedder.start()
    who = await picky.local()
    await picky.transfer.load(who, lines)
    await picky.embedding.catch_up(who.vault)
    waiting = await pending.first(await picky.stores.vault(who.vault), who.vault, BATCH)
    found = await picky.search.search(who, query="poison")
    await picky.close()
    assert len(waiting) == 1
    assert found.rows[0].memory.text == "poison"


async def test_a_damaged_vault_holds_up_neither_the_vectors_nor_the_erasure_of_another(app, me, other, clock, tmp_path):
    damaged, healthy = sorted((me, other), key=lambda who: who.vault)  # vaults are visited in this order
    await app.memories.store(damaged, text="quokka")
    await app.transfer.load(healthy, [line async for line in app.transfer.export(damaged)])
    await (await app.stores.vault(healthy.vault)).apply([heads.erasing(healthy.vault)])
    await app.close()
    (tmp_path / "data" / "vaults" / f"{damaged.vault}.db").write_bytes(b"not a database" * 1000)
    again = assemble(
        SqliteStores(tmp_path / "data", now=clock), HashedEmbedder(), clock, Settings(data=tmp_path / "data")
    )
    await again.start()
    try:
        await eventually(partial(is_settled, again, healthy), "the healthy vault has its vectors and no traces")
    finally:
        await again.close()


async def is_settled(app, who):
    status = await app.status.of(who)
    return not status.pending and not status.erasing
