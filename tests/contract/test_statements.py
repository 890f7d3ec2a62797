"""Isolation, seen from the database: no statement on the rows of vaults goes without its vault."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from archivist.domain.audit import entry
from archivist.domain.dates import Bound
from archivist.domain.erasures import Erasure
from archivist.domain.queries import Filters
from archivist.domain.times import LATEST, moment
from archivist.storage import audit, changes, erasures, heads, lineage, memories, pending, tombstones, vectors
from archivist.storage.database import Database, Query, Row, Write
from archivist.storage.schema import VAULT
from tests.builders import MINE, NOON, a_memory, a_principal, an_id

pytestmark = pytest.mark.anyio

_TABLE = re.compile(rf"\b({'|'.join(table.name for table in VAULT)})\b")
_NAMES_THE_VAULT = re.compile(r"\bvault = |\bINTO \w+ \(vault\b")


class Recorder:
    """A database that keeps the text of every statement."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.statements: list[str] = []

    @property
    def dialect(self) -> str:
        return self.database.dialect

    async def read(self, query: Query, parameters: Mapping[str, Any] | None = None) -> Sequence[Row]:
        self.statements.append(str(query))
        return await self.database.read(query, parameters)

    async def apply(self, batch: Sequence[Write]) -> Sequence[int]:
        self.statements += [_text(write) for write in batch]
        return await self.database.apply(batch)

    async def scrub(self) -> bool:
        return await self.database.scrub()

    async def close(self) -> None:
        await self.database.close()


def _text(write: Write) -> str:
    """The statement as it is run: with the columns that its rows bring."""
    columns = list(write.rows[0]) if write.rows else None
    return str(write.statement.compile(column_keys=columns))


def without_a_vault(statements):
    return [text for text in statements if _TABLE.search(text) and not _NAMES_THE_VAULT.search(text)]


async def write_everything(db):
    memory = a_memory(tags=("t",))
    log = changes.append(MINE, 1, kind="memory", id=memory.id, version=1, op="put", at=NOON)
    one = np.ones(1, np.float32), np.ones((1, 3), np.int8)
    await db.apply([*log, *memories.insert(memory, "terms"), vectors.insert(MINE, memory.id, "e5", *one)])
    await db.apply([audit.insert(entry(a_principal(), an_id(9), NOON, "store_memory"))])
    await db.apply([pending.insert(MINE, memory.id), pending.remove(MINE, memory.id, ""), *pending.without(MINE, "x")])
    await db.apply([pending.insert_unless_wanted(MINE, an_id(3), "x")])
    await db.apply([lineage.insert(MINE, an_id(2), memory.id, 1, "")])
    await db.apply([heads.set_space(MINE, "e5"), heads.erasing(MINE), heads.erased(MINE, 1)])
    await db.apply([vectors.drop(MINE, [memory.id])])
    some, whole = (Erasure(vault=MINE, id=an_id(5 + n), whole=n == 1, seq=0, at=NOON) for n in range(2))
    for erasure in (some, whole):
        hide = erasures.hide_all(erasure) if erasure.whole else erasures.hide(erasure, [memory.id])
        await db.apply([*hide, erasures.begin(erasure), tombstones.bury(erasure, NOON)])
        await erasures.documents(db, erasure)
        head = (await heads.read(db, MINE)).head
        await db.apply([tombstones.dig_up(erasure), *erasures.show_again(erasure, head, NOON)])
    await erasures.under_way(db, MINE)
    await erasures.is_left(db, MINE, [memory.id])
    await db.apply([erasures.close(some), *erasures.drop(some)])
    await db.apply([erasures.close(whole), *erasures.drop(whole)])
    assert not await erasures.is_under_way(db, whole)


async def read_everything(db):
    ids, ever = [an_id(1)], (Bound(moment(0)), Bound(LATEST))
    await heads.read(db, MINE)
    await changes.since(db, MINE, 0, 10)
    await audit.recent(db, MINE, 10)
    await memories.find_many(db, MINE, ids)
    await memories.by_repeat(db, MINE, a_memory().digest)
    await memories.recent(db, MINE, 10)
    await memories.page(db, MINE, an_id(0), 10)
    await memories.existing(db, MINE, ids)
    await memories.repeats(db, MINE, [a_memory().digest])
    await memories.window(db, MINE, *ever, Filters(tiers=frozenset({1}), importance=1), 10)
    await memories.tally(db, MINE)
    await memories.debt(db, MINE)
    await pending.first(db, MINE, 10)
    await pending.count(db, MINE)
    await tombstones.among(db, MINE, ids, ["d"])
    await lineage.sources(db, MINE, ids)
    await lineage.built_on(db, MINE, ids)
    await lineage.standing(db, MINE, an_id(2))
    await lineage.reflections_on(db, MINE, an_id(1))
    await lineage.kept_reflections(db, MINE, ids)


async def test_every_statement_on_vault_tables_names_the_vault(db):
    recorder = Recorder(db)
    await write_everything(recorder)
    await read_everything(recorder)
    assert len(recorder.statements) > 40
    assert without_a_vault(recorder.statements) == []


@pytest.mark.parametrize(
    "text", ["SELECT vault FROM memories WHERE id = :id", "DELETE FROM tags", "UPDATE heads SET vault=:v WHERE seq = 1"]
)
def test_a_statement_without_its_vault_is_seen(text):
    assert without_a_vault([text]) == [text]
