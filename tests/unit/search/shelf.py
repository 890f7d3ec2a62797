"""A vault to search in, written row by row: what the services' batches come down to, and cases they never make."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from archivist.domain.ids import MemoryId, VaultId
from archivist.search.analysis import analyse
from archivist.search.keyword.sqlite_fts5 import SqliteFts5
from archivist.search.vault_index import VaultIndex
from archivist.search.vector.quantised import Floats, quantised
from archivist.storage.database import Database, Write
from archivist.storage.schema import NO_ID, changes, heads, memories, vectors
from tests.builders import MINE, an_id

SPACE = "space-1"
KEYWORDS = SqliteFts5()
NUMBERS = {
    **dict.fromkeys(("version", "tier", "tokens"), 1),
    **dict.fromkeys(("created", "updated", "event", "archived", "favorite", "priority"), 0),
}
WIDTH = 32


def direction(number: int) -> Floats:
    """A unit vector of its own for every number."""
    vector = np.random.default_rng(number).normal(size=WIDTH)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def an_index(space: str = SPACE) -> VaultIndex:
    return VaultIndex(MINE, space, KEYWORDS)


class Shelf:
    """Memories by number. Every method is one batch, and one entry of the change log."""

    def __init__(self, db: Database, vault: VaultId = MINE) -> None:
        self.db = db
        self.vault = vault
        self.epoch = 1
        self.seq = 0

    async def put(
        self, number: int, text: str, made: Floats | None = None, space: str = SPACE, **columns: Any
    ) -> MemoryId:
        doc = self.seq + 1
        texts = {column.name: "" for column in memories.columns if column.nullable is False}
        row = texts | NUMBERS | {"vault": self.vault, "id": an_id(number), "doc": doc, "digest": str(doc)}
        row |= (
            {"going": NO_ID}
            | columns
            | {"text": text, "terms": " ".join(analyse(text)), "aliases": "[]", "keywords": "[]"}
        )
        await self._commit(
            "put",
            an_id(number),
            Write(sa.insert(memories).values(row)),
            KEYWORDS.insert(self.vault, an_id(number)),
            *self._vectors(number, made, space),
        )
        return an_id(number)

    async def put_many(self, texts: Sequence[str], first: int = 0) -> None:
        for number, text in enumerate(texts, start=first):
            await self.put(number, text, direction(number))

    async def edit(self, number: int, text: str, **columns: Any) -> None:
        """The same row and document with another text."""
        changed = {"text": text, "terms": " ".join(analyse(text))} | columns
        await self._commit(
            "put",
            an_id(number),
            KEYWORDS.forget(self.vault, an_id(number)),
            Write(sa.update(memories).where(*self._row(number)).values(changed), must_change=True),
            KEYWORDS.insert(self.vault, an_id(number)),
        )

    async def mark(self, number: int, **columns: Any) -> None:
        """The same words and vectors with other columns."""
        changed = Write(sa.update(memories).where(*self._row(number)).values(columns), must_change=True)
        await self._commit("mark", an_id(number), changed)

    async def embed(self, number: int, made: Floats, space: str = SPACE) -> None:
        old = Write(sa.delete(vectors).where(vectors.c.vault == self.vault, vectors.c.memory == an_id(number)))
        await self._commit("embed", an_id(number), old, *self._vectors(number, made, space))

    async def delete(self, number: int) -> None:
        await self._commit(
            "delete",
            an_id(number),
            KEYWORDS.forget(self.vault, an_id(number)),
            Write(sa.delete(vectors).where(vectors.c.vault == self.vault, vectors.c.memory == an_id(number))),
            Write(sa.delete(memories).where(*self._row(number)), must_change=True),
        )

    async def clear(self) -> None:
        tables = (memories, vectors)
        await self._commit(
            "clear",
            "",
            KEYWORDS.clear(self.vault),
            *(Write(sa.delete(table).where(table.c.vault == self.vault)) for table in tables),
            kind="vault",
        )

    async def restore(self) -> None:
        """Another epoch, as after a restored backup."""
        self.epoch += 1
        await self.db.apply([self._head()])

    async def _commit(self, op: str, id: str, *writes: Write, kind: str = "memory") -> None:
        self.seq += 1
        change = {"vault": self.vault, "seq": self.seq, "epoch": self.epoch, "kind": kind, "id": id, "version": 1}
        logged = Write(sa.insert(changes).values(change | {"op": op, "at": 0}))
        await self.db.apply([self._head(), logged, *writes])

    def _head(self) -> Write:
        return Write(sa.update(heads).where(heads.c.vault == self.vault).values(epoch=self.epoch, seq=self.seq))

    def _row(self, number: int) -> tuple[sa.ColumnElement[bool], ...]:
        return (memories.c.vault == self.vault, memories.c.id == an_id(number))

    def _vectors(self, number: int, made: Floats | None, space: str) -> list[Write]:
        if made is None:
            return []
        scales, data = quantised(np.atleast_2d(made))
        key = {"vault": self.vault, "memory": an_id(number), "space": space}
        rows = [key | {"window": i, "scale": float(scales[i]), "data": data[i].tobytes()} for i in range(len(scales))]
        return [Write(sa.insert(vectors), rows=rows)]
