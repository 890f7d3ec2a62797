"""Reads what search keeps in memory from the rows of a vault, page by page."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from archivist.domain.changes import Head
from archivist.domain.ids import VaultId
from archivist.search.facets import Block, halves
from archivist.search.vector.quantised import Bytes, Floats
from archivist.storage.database import Database, Row
from archivist.storage.schema import NO_ID, changes, memories, vectors

PAGE = 20_000
"""Rows read at a time."""

IDS_AT_A_TIME = 500
"""Ids in one statement."""

_VAULT = sa.bindparam("of_vault", type_=sa.String)
_AFTER = sa.bindparam("after", type_=sa.BigInteger)
_UPTO = sa.bindparam("upto", type_=sa.BigInteger)
_IDS: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
_RANGE = (memories.c.doc > _AFTER, memories.c.doc <= _UPTO)
_CHANGED = (
    sa.select(changes.c.seq, changes.c.id, changes.c.op)
    .where(changes.c.vault == _VAULT, changes.c.epoch == sa.bindparam("of_epoch", type_=sa.BigInteger))
    .where(changes.c.seq > _AFTER, changes.c.seq <= _UPTO)
    .where((changes.c.kind == "memory") | (changes.c.op == "clear"))
    .order_by(changes.c.seq)
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)
_FACETS = (
    sa.select(
        memories.c.doc,
        memories.c.id,
        memories.c.tier,
        memories.c.importance,
        memories.c.archived,
        memories.c.event,
    )
    .where(memories.c.vault == _VAULT, memories.c.going == NO_ID, *_RANGE)
    .order_by(memories.c.doc)
)
_FACETS_PAGE = _FACETS.limit(sa.bindparam("most", type_=sa.BigInteger))
_FACETS_OF = _FACETS.where(memories.c.id.in_(_IDS))
_DOCS_PAGE = (
    sa.select(memories.c.doc)
    .where(memories.c.vault == _VAULT, memories.c.going == NO_ID, *_RANGE)
    .order_by(memories.c.doc)
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)
_VECTORS = (
    sa.select(memories.c.doc, vectors.c.scale, vectors.c.data)
    .select_from(memories.join(vectors, (memories.c.vault == vectors.c.vault) & (memories.c.id == vectors.c.memory)))
    .where(memories.c.vault == _VAULT, memories.c.going == NO_ID, vectors.c.vault == _VAULT, *_RANGE)
    .where(vectors.c.space == sa.bindparam("of_space", type_=sa.String))
    .order_by(memories.c.doc, vectors.c.window)
)
_VECTORS_OF = _VECTORS.where(memories.c.id.in_(_IDS))


@dataclass(frozen=True, slots=True)
class Vectors:
    """docs: (n,), equal ones side by side. scales: (n,). data: (n, d)."""

    docs: NDArray[np.int64]
    scales: Floats
    data: Bytes


async def changed(db: Database, vault: VaultId, since: Head, upto: int) -> Sequence[Row]:
    """(seq, id, op) of what concerns the memories after `since` and not after `upto`, in its order; at most PAGE."""
    span = {"of_vault": vault, "of_epoch": since.epoch, "after": since.seq, "upto": upto, "most": PAGE}
    return await db.read(_CHANGED, span)


async def all_facets(db: Database, vault: VaultId, upto: int) -> AsyncIterator[Block]:
    """The facets of all memories with documents not after `upto`, ascending."""
    last = -1
    while True:
        rows = await db.read(_FACETS_PAGE, {"of_vault": vault, "after": last, "upto": upto, "most": PAGE})
        if rows:
            last = rows[-1]["doc"]
            yield _block(rows)
        if len(rows) < PAGE:
            return


async def facets_of(db: Database, vault: VaultId, ids: Sequence[str], upto: int) -> Block:
    """The same for some memories, at most IDS_AT_A_TIME; those that are gone have no row."""
    return _block(await db.read(_FACETS_OF, {"of_vault": vault, "after": -1, "upto": upto, "ids": list(ids)}))


async def all_vectors(db: Database, vault: VaultId, space: str, upto: int) -> AsyncIterator[Vectors]:
    """The vectors of `space` of all memories with documents not after `upto`, ascending."""
    last = -1
    while True:
        docs = await db.read(_DOCS_PAGE, {"of_vault": vault, "after": last, "upto": upto, "most": PAGE})
        if docs:
            span = {"after": last, "upto": docs[-1]["doc"]}
            last = docs[-1]["doc"]
            rows = await db.read(_VECTORS, {"of_vault": vault, "of_space": space, **span})
            if rows:
                yield _stacked(rows)
        if len(docs) < PAGE:
            return


async def vectors_of(db: Database, vault: VaultId, space: str, ids: Sequence[str], upto: int) -> Vectors | None:
    """The same for some memories, at most IDS_AT_A_TIME; None if they have no vectors."""
    wanted = {"of_vault": vault, "of_space": space, "after": -1, "upto": upto, "ids": list(ids)}
    rows = await db.read(_VECTORS_OF, wanted)
    return _stacked(rows) if rows else None


def _block(rows: Sequence[Row]) -> Block:
    return Block(
        docs=np.array([row["doc"] for row in rows], dtype=np.int64),
        ids=halves([row["id"] for row in rows]),
        tiers=np.array([row["tier"] for row in rows], dtype=np.uint8),
        importance=np.array([row["importance"] or 0 for row in rows], dtype=np.uint8),
        archived=np.array([row["archived"] for row in rows], dtype=np.bool_),
        events=np.array([row["event"] for row in rows], dtype=np.int64),
    )


def _stacked(rows: Sequence[Row]) -> Vectors:
    data = np.frombuffer(b"".join(row["data"] for row in rows), dtype=np.int8)
    return Vectors(
        np.array([row["doc"] for row in rows], dtype=np.int64),
        np.array([row["scale"] for row in rows], dtype=np.float32),
        data.reshape(len(rows), -1),
    )
