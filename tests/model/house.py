"""A data folder with its mirror, and the processes that work on it: what is done to them, and what is in the files."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from archivist.app import App, assemble
from archivist.domain.access import Principal
from archivist.domain.audit import entry
from archivist.domain.errors import ArchivistError, NotFound, Unavailable
from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.memories import count_tokens, digest_of, findable_text, title_of
from archivist.domain.reflections import Debt
from archivist.domain.times import moment
from archivist.embedders.hashed import HashedEmbedder
from archivist.services.deletion import DELETE_ALL, DELETE_SELECTED
from archivist.settings import Settings
from archivist.storage import audit, changes, heads, vectors
from archivist.storage import memories as stored
from archivist.storage.database import Database, Query, Row, Write
from archivist.storage.rows import row_of
from archivist.storage.schema import NO_ID
from archivist.storage.schema import memories as memories_table
from archivist.storage.schema import pending as pending_table
from archivist.storage.sqlite.stores import SqliteStores
from archivist.workers.erasing import ABANDONED
from tests.builders import Clock
from tests.e2e.inspecting import looking
from tests.faults import Fault, FaultyStores, Killed
from tests.model.acts import (
    Act,
    Checkout,
    Commit,
    Committed,
    Cut,
    Delete,
    Deleted,
    DeleteDerived,
    Draft,
    Edit,
    Edited,
    Failed,
    ForgetAll,
    Forgotten,
    Lent,
    Nothing,
    Outcome,
    Owed,
    Store,
    Stored,
    holder,
)
from tests.model.model import Batch, Model, Remembered

PROCESSES = 2
AWAY = Unavailable("the disk is gone")


@dataclass
class Meanwhile:
    """Before the call `at`, counted from 1, `work` is done once."""

    at: int
    work: Callable[[], Awaitable[None]]
    calls: int = field(default=0, init=False)

    async def before(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            await self.work()


@dataclass
class Interrupted:
    """`stores`, whose vaults let something else happen before a call."""

    stores: FaultyStores
    meanwhile: Meanwhile | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stores, name)

    async def vault(self, vault: VaultId, *, writable: bool = True) -> Database:
        return _Watched(await self.stores.vault(vault, writable=writable), self)


@dataclass
class _Watched:
    database: Database
    stores: Interrupted

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    async def read(self, query: Query, parameters: Mapping[str, Any] | None = None) -> Sequence[Row]:
        await self._pause()
        return await self.database.read(query, parameters)

    async def apply(self, batch: Sequence[Write]) -> Sequence[int]:
        await self._pause()
        return await self.database.apply(batch)

    async def _pause(self) -> None:
        if self.stores.meanwhile:
            await self.stores.meanwhile.before()


class Process:
    """One process on the folder: its services, and what can be done to its stores."""

    def __init__(self, data: Path, clock: Clock) -> None:
        self.primary = FaultyStores(SqliteStores(data, now=clock))
        self.mirror = FaultyStores(SqliteStores(data / "mirror", now=clock))
        self.interrupted = Interrupted(self.primary)
        settings = Settings(data=data)
        self.app: App = assemble(self.interrupted, HashedEmbedder(), clock, settings, mirror=self.mirror)

    async def close(self) -> None:
        """As if it were killed: nothing is copied at the end."""
        self.interrupted.meanwhile, self.primary.fault = None, None
        self.mirror.fault = Fault(1, "before", lambda: AWAY, lasting=True)
        await self.app.close()


class House:
    """Connections with an odd number come through the second process."""

    def __init__(self, data: Path, clock: Clock) -> None:
        self.data, self.clock, self.mirror_is_up = data, clock, True

    async def open(self) -> None:
        self.processes = [Process(self.data, self.clock) for _ in range(PROCESSES)]
        for process in self.processes:
            self.who = await process.app.local()
            process.app.keyring.prepare()
            await process.app.embedder.start()
        self.set_mirror(up=self.mirror_is_up)

    async def close(self) -> None:
        for process in self.processes:
            await process.close()

    async def reopen(self) -> None:
        """Every process was ended, and is started again, and what was left half-way is ended."""
        await self.close()
        self.clock.move(seconds=5)
        await self.open()
        await self.end_what_is_left()

    async def end_what_is_left(self, *, patience: bool = False) -> None:
        """The turn of the worker that looks after deletions. patience: as after its first round."""
        before = self.clock() - ABANDONED if patience else self.clock()
        with suppress(ArchivistError):
            await self.app.erasing.eraser.end_all(self.vault, before)

    @property
    def app(self) -> App:
        return self.processes[0].app

    @property
    def vault(self) -> VaultId:
        return self.who.vault

    @property
    def copy(self) -> Path:
        return self.data / "mirror"

    def set_mirror(self, *, up: bool) -> None:
        self.mirror_is_up = up
        for process in self.processes:
            process.mirror.fault = None if up else Fault(1, "before", lambda: AWAY, lasting=True)

    def process_of(self, connection: int) -> Process:
        return self.processes[connection % PROCESSES]

    def principal(self, connection: int) -> Principal:
        return replace(self.who, credential="oauth", credential_id=holder(connection))

    async def do(self, act: Act) -> Outcome:
        """Let a connection do it, and what it was answered."""
        app, who = self.process_of(act.by).app, self.principal(act.by)
        try:
            return await _done(app, who, act)
        except ArchivistError as error:
            return Failed(type(error).__name__, error.detail)
        except Killed:
            return Cut()

    def look(self) -> Model:
        """What is in the file of the vault; nothing that an unfinished deletion hides."""
        with looking(self.data / "vaults" / f"{self.vault}.db") as connection:
            return _read(connection)


async def _done(app: App, who: Principal, act: Act) -> Outcome:
    match act:
        case Store(_, text):
            return Stored((await app.memories.store(who, text=text, tags=["walrus"])).duplicate)
        case Edit(_, id, text):
            return await _edited(app, who, MemoryId(id), text)
        case Checkout(_, tier, max_tokens):
            got = await app.reflections.checkout(who, tier, max_tokens)
            members = tuple(memory.id for memory in got.memories)
            return Lent(got.batch.id, members, owed(got.remaining)) if got.batch else Nothing(owed(got.remaining))
        case Commit(_, batch, drafts):
            done = await app.reflections.commit(who, batch, [_entry(draft) for draft in drafts])
            return Committed(done.tier, tuple(done.entries), done.sources, done.already, owed(done.debt))
    return await _gone(app, who, act)


def _entry(draft: Draft) -> dict[str, object]:
    entry = {"text": draft.text, "importance": draft.importance}
    return entry | {"source_ids": [*draft.sources]} if draft.sources else entry


async def _gone(app: App, who: Principal, act: Delete | DeleteDerived | ForgetAll) -> Outcome:
    match act:
        case Delete(_, ids):
            gone = await app.deletion.delete(who, ids, DELETE_SELECTED)
            assert gone.primary_cleared
            assert gone.mirror_cleared
            return Deleted(*map(frozenset, (gone.deleted, gone.not_found, gone.reflections_kept)))
        case DeleteDerived(_, ids):
            preview = await app.derived.preview(who, ids)
            went = await app.derived.delete(who, preview.handle, DELETE_SELECTED)
            return Deleted(frozenset(went.deleted), frozenset(), frozenset(went.reflections_kept))
        case ForgetAll():
            return Forgotten((await app.deletion.forget_all(who, DELETE_ALL)).memories)


def owed(debt: Debt | None) -> Owed:
    """A commit answers even if it could not count."""
    if debt is None:
        return Owed(0, 0, 0, 0)
    return Owed(debt.memories, debt.tokens, debt.reflections, debt.in_flight)


async def _edited(app: App, who: Principal, id: MemoryId, text: str) -> Outcome:
    """The same row and document with another text, in one batch: what a service for edits comes down to."""
    db, entries = await app.stores.vault(who.vault), app.memories.entries
    standing, now = await heads.read(db, who.vault), app.memories.now()
    before = await stored.find(db, who.vault, id)
    if before is None:
        raise NotFound("no memory has this id")
    words = {"text": text, "title": title_of(text), "tokens": count_tokens(text)}
    digest = digest_of(standing.secret, text)
    memory = replace(before, **words, digest=digest, version=before.version + 1, updated=now)
    [made] = await app.embedder.passages([findable_text(memory)])
    put = entries.put(memory, standing.head, now)
    terms = next(row["terms"] for write in put for row in write.rows if "terms" in row)
    kept = {name: value for name, value in row_of(memory).items() if name not in ("id", "vault", "batch")}
    this = (memories_table.c.vault == who.vault, memories_table.c.id == id, memories_table.c.going == NO_ID)
    update = sa.update(memories_table).where(*this, memories_table.c.version == before.version)
    await db.apply([
        *changes.append(
            who.vault, standing.head.epoch, kind="memory", id=id, version=memory.version, op="put", at=now
        ),
        entries.keywords.forget(who.vault, id),
        Write(update.values(kept | {"terms": terms}), must_change=True),
        entries.keywords.insert(who.vault, id),
        vectors.drop(who.vault, [id]),
        Write(sa.delete(pending_table).where(pending_table.c.vault == who.vault, pending_table.c.memory == id)),
        *entries.meaning(memory, made, app.embedder.space),
        audit.insert(entry(who, app.memories.new_id(), now, "update_memory", target=id)),
    ])  # fmt: skip
    return Edited(memory.version)


def _read(connection: Any) -> Model:
    model = Model()
    assert connection.execute("SELECT count(*) FROM erasures").fetchone() == (0,), "a deletion was not ended"
    columns = "id, text, tier, event, version, importance, batch"
    shown = connection.execute(f"SELECT {columns} FROM memories WHERE going = ?", (NO_ID,))
    for id, text, tier, event, version, importance, batch in shown:
        consolidated = "" if batch == NO_ID else batch
        model.memories[id] = Remembered(text, tier, moment(event), version, importance, consolidated)
    for parent, child, version in connection.execute("SELECT parent, child, child_version FROM lineage"):
        model.links.setdefault(parent, {})[child] = version
    members: dict[str, list[tuple[str, int]]] = {}
    for batch, memory, version in connection.execute("SELECT batch, memory, version FROM leased ORDER BY position"):
        members.setdefault(batch, []).append((memory, version))
    columns = "id, holder, source_tier, items, created, expires, committed, result"
    for id, by, tier, items, created, expires, committed, answer in connection.execute(
        f"SELECT {columns} FROM batches"
    ):
        result = json.loads(answer) if answer else {"entries": [], "sources": 0}
        model.batches[id] = Batch(
            by, tier, items, moment(created), moment(expires), tuple(members.pop(id, ())),
            None if committed is None else moment(committed), tuple(result["entries"]), result["sources"],
        )  # fmt: skip
    assert not members, "memories are lent in a batch that is not there"
    model.gone = frozenset(id for (id,) in connection.execute("SELECT memory FROM tombstones"))
    return model
