"""Once a deletion is said to be erased, no trace of what it deleted is in any file of the data folder."""

import asyncio
import contextlib
import hashlib
import json
import string
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from random import Random

import httpx2
import numpy as np
import pytest

from archivist.app import App, assemble
from archivist.domain.access import Principal
from archivist.domain.times import utc_now
from archivist.embedders.debias import unit
from archivist.embedders.embedder import Floats
from archivist.embedders.hashed import DIMENSION, HashedEmbedder
from archivist.search.analysis import analyse
from archivist.services.deletion import DELETE_ALL, DELETE_SELECTED
from archivist.settings import Settings
from archivist.storage.sqlite.stores import SqliteStores
from tests.e2e.callers import SELECTED, Call, over_http
from tests.e2e.inspecting import faults, looking, vault_files
from tests.e2e.leftovers import SLICE, traces
from tests.e2e.processes import ROOT, Place
from tests.waiting import SECONDS, eventually, until

MEMORIES, FIRST = 5_000, 1_000
TOGETHER = 100
LETTERS = 24


class Dense(HashedEmbedder):
    """A vector like no other for every text, without zeros: what is left of one can be told from anything else."""

    async def passages(self, texts: Sequence[str]) -> Sequence[Floats]:
        return [_dense(text) for text in texts]


def _dense(text: str) -> Floats:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return unit(np.random.default_rng(seed).standard_normal((1, DIMENSION), dtype=np.float32))


def a_word(random: Random) -> str:
    """So long and so random that it occurs nowhere else; stemming cuts it, so that its token is another word."""
    return "".join(random.choices(string.ascii_lowercase, k=LETTERS)) + "ings"


def a_text(random: Random, number: int) -> str:
    """Mostly a line; now and then so much that it lies on pages of its own."""
    count = 150 if number % 20 == 0 else random.randrange(1, 6)
    return " and ".join(a_word(random) for _ in range(count))


@asynccontextmanager
async def opened(data: Path) -> AsyncIterator[tuple[App, Principal]]:
    mirror = SqliteStores(data / "mirror")
    app = assemble(SqliteStores(data), Dense(), utc_now, Settings(data=data), mirror=mirror)
    await app.embedder.start()
    try:
        yield app, await app.local()
    finally:
        await app.close()


@contextmanager
def a_visitor(path: Path) -> Iterator[None]:
    """A reader in another process that comes and goes meanwhile."""
    command = [sys.executable, "-m", "tests.e2e.reading", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as visitor:
        try:
            yield
        finally:
            visits, _ = visitor.communicate("", timeout=SECONDS)
    assert visitor.returncode == 0
    assert int(visits) > 1


@contextmanager
def a_long_read(path: Path) -> Iterator[None]:
    """Somebody who reads and does not let go."""
    with looking(path) as connection:
        connection.execute("SELECT count(*) FROM memories").fetchone()
        yield


def looked_through(data: Path, erased: Sequence[bytes], tmp_path: Path) -> list[str]:
    """Traces in a copy, made by another process: opening the files here would drop the locks of this one."""
    copy = tmp_path / f"copy{len(list(tmp_path.iterdir()))}"
    subprocess.run(["cp", "-r", data, copy], check=True)
    return traces(copy, erased)


def what_goes(path: Path, ids: Sequence[str]) -> list[bytes]:
    """All that must leave no trace: words as stored, their tokens, tags, where they came from, vectors."""
    wanted = set(ids)
    erased: list[bytes] = []
    with looking(path) as connection:
        for id, text, context in connection.execute("SELECT id, text, source_context FROM memories"):
            if id in wanted:
                tokens = [token for token in analyse(text) if token not in text]  # the others are parts of words
                erased += [word.encode() for word in [*text.split(" and "), context, *tokens]]
        erased += [tag.encode() for id, tag in connection.execute("SELECT memory, tag FROM tags") if id in wanted]
        erased += [data for id, data in connection.execute("SELECT memory, data FROM vectors") if id in wanted]
    return [whole for whole in erased if len(whole) >= SLICE]


async def finished(app: App, who: Principal) -> None:
    """What the worker does, until it is done."""
    await eventually(partial(app.erasing.finish, who.vault), "what was deleted is erased")
    assert not (await app.status.of(who)).erasing


async def fill(app: App, who: Principal, random: Random) -> list[str]:
    for start in range(0, MEMORIES, TOGETHER):
        numbers = range(start, min(MEMORIES, start + TOGETHER))
        given = [(a_text(random, number), [a_word(random)], a_word(random)) for number in numbers]
        await asyncio.gather(
            *(app.memories.store(who, text=text, tags=tags, source_context=context) for text, tags, context in given)
        )
    return [json.loads(line)["id"] async for line in app.transfer.export(who)]


@pytest.mark.anyio
async def test_sec_193_what_is_said_to_be_erased_is_in_no_file_while_others_read(tmp_path: Path):
    random, data = Random(11), tmp_path / "data"
    async with opened(data) as (app, who):
        ids = await fill(app, who, random)
        [path] = vault_files(data)
        random.shuffle(ids)
        gone = what_goes(path, ids[:FIRST])
        await app.mirroring.catch_up()
        [copy] = vault_files(data / "mirror")
        seen = looked_through(data, gone[:100], tmp_path)
        assert {place.startswith("mirror") for place in seen} == {False, True}, "what is there is found on both sides"
        with a_visitor(path), a_visitor(copy):
            for start in range(0, FIRST, 250):
                await app.deletion.delete(who, ids[start : start + 250], DELETE_SELECTED)
            await finished(app, who)
            assert looked_through(data, gone, tmp_path) == []
            gone = what_goes(path, ids)
            await app.deletion.delete(who, ids[FIRST : FIRST + 500], DELETE_SELECTED)
            await app.deletion.forget_all(who, DELETE_ALL)
            await finished(app, who)
            assert looked_through(data, gone, tmp_path) == []
    assert faults(data) == []


@pytest.mark.anyio
@pytest.mark.parametrize("side", [".", "mirror"])
async def test_sec_193_while_somebody_reads_on_it_is_only_removed_and_the_worker_erases_it_later(
    tmp_path: Path, side: str
):
    random, data = Random(12), tmp_path / "data"
    async with opened(data) as (app, who):
        for number in range(30):
            await app.memories.store(who, text=a_text(random, number))
        await app.mirroring.catch_up()
        [path] = vault_files(data)
        ids = [memory.id for memory in await app.memories.recent(who, 10)]
        gone = what_goes(path, ids)
        with a_long_read(data / side / "vaults" / path.name):
            done = await app.deletion.delete(who, ids, DELETE_SELECTED)
            assert (len(done.deleted), done.state) == (10, "removed")
            assert (await app.status.of(who)).erasing
            assert looked_through(data, gone, tmp_path) != []
            assert not await app.erasing.finish(who.vault)
        worker = asyncio.create_task(app.erasing.run())
        await eventually(partial(_is_erased, app, who), "the worker erases what is left")
        worker.cancel()
        assert looked_through(data, gone, tmp_path) == []


def test_an_erasure_that_a_kill_cut_off_is_finished_by_the_next_server(place: Place, tmp_path: Path):
    random, key = Random(13), place.key()
    with place.serving() as server, over_http(server.origin, key) as call:
        for number in range(30):
            call("store_memory", content=a_text(random, number))
        [path] = vault_files(place.data)
        with looking(path) as connection:
            ids = [id for (id,) in connection.execute("SELECT id FROM memories LIMIT 10")]
        gone = what_goes(path, ids)
        with a_long_read(path):
            deleting = threading.Thread(target=_delete_and_be_cut_off, args=(call, ids))
            deleting.start()
            until(lambda: _left(path, ids) == 0, "the rows are gone")
            server.started.kill()
            deleting.join(SECONDS)
        assert looked_through(place.data, gone, tmp_path) != []
    with place.serving() as server, over_http(server.origin, key) as call:
        until(lambda: not call("memory_status")["erasing"], "the next server erases what is left")
        assert looked_through(place.data, gone, tmp_path) == []
        assert call("memory_status")["totalMemories"] == 20


async def _is_erased(app: App, who: Principal) -> bool:
    return not (await app.status.of(who)).erasing


def _delete_and_be_cut_off(call: Call, ids: Sequence[str]) -> None:
    with contextlib.suppress(httpx2.TransportError):
        call("delete_memories", memory_ids=ids, confirmation=SELECTED)


def _left(path: Path, ids: Sequence[str]) -> int:
    with looking(path) as connection:
        marks = ",".join("?" * len(ids))
        found: int = connection.execute(f"SELECT count(*) FROM memories WHERE id IN ({marks})", list(ids)).fetchone()[0]
        return found
