"""Memories that wait for vectors of the space that their vault wants."""

from collections.abc import Sequence

import sqlalchemy as sa

from archivist.domain.ids import MemoryId, VaultId
from archivist.storage.database import Database, Write
from archivist.storage.schema import memories, pending, vectors

_MINE = pending.c.vault == sa.bindparam("of_vault", type_=sa.String)
_THIS = (_MINE, pending.c.memory == sa.bindparam("of_memory", type_=sa.String))
_INSERT = sa.insert(pending)
_REMOVE = sa.delete(pending).where(*_THIS)
_CLEAR = sa.delete(pending).where(_MINE)
_HAVE = sa.select(vectors.c.memory).where(
    vectors.c.vault == sa.bindparam("of_vault", type_=sa.String),
    vectors.c.memory == memories.c.id,
    vectors.c.space == sa.bindparam("of_space", type_=sa.String),
)
_WITHOUT = sa.insert(pending).from_select(
    ("vault", "memory"),
    sa.select(memories.c.vault, memories.c.id).where(
        memories.c.vault == sa.bindparam("of_vault", type_=sa.String), ~_HAVE.exists()
    ),
)
_COUNT = sa.select(sa.func.count().label("waiting")).select_from(pending).where(_MINE)
_FIRST = (
    sa.select(pending.c.memory).where(_MINE).order_by(pending.c.memory).limit(sa.bindparam("most", type_=sa.BigInteger))
)


def insert(vault: VaultId, memory: MemoryId) -> Write:
    return Write(_INSERT, rows=({"vault": vault, "memory": memory},))


def without(vault: VaultId, space: str) -> list[Write]:
    """Of the vault's memories those wait that have no vectors of `space`, and no others."""
    return [clear(vault), Write(_WITHOUT, rows=({"of_vault": vault, "of_space": space},))]


def remove(vault: VaultId, memory: MemoryId) -> Write:
    """It waits no more; conflicts if it did not wait."""
    return Write(_REMOVE, must_change=True, rows=({"of_vault": vault, "of_memory": memory},))


def drop(vault: VaultId, memories: Sequence[MemoryId]) -> Write:
    """Forget that they wait, if they do. `memories` is not empty."""
    return Write(_REMOVE, rows=[{"of_vault": vault, "of_memory": memory} for memory in memories])


def clear(vault: VaultId) -> Write:
    return Write(_CLEAR, rows=({"of_vault": vault},))


async def count(db: Database, vault: VaultId) -> int:
    waiting: int = (await db.read(_COUNT, {"of_vault": vault}))[0]["waiting"]
    return waiting


async def first(db: Database, vault: VaultId, limit: int) -> Sequence[MemoryId]:
    """Those that wait, oldest id first, at most `limit`."""
    return [MemoryId(row["memory"]) for row in await db.read(_FIRST, {"of_vault": vault, "most": limit})]
