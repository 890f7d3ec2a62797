"""Memories that wait for vectors of the space that their vault wants."""

from collections.abc import Sequence

import sqlalchemy as sa

from archivist.domain.ids import MemoryId, VaultId
from archivist.storage.database import Database, Write
from archivist.storage.schema import heads, memories, pending, vectors

_MINE = pending.c.vault == sa.bindparam("of_vault", type_=sa.String)
_THIS = (_MINE, pending.c.memory == sa.bindparam("of_memory", type_=sa.String))
_INSERT = sa.insert(pending)
_WANTED = sa.select(heads.c.vault).where(
    heads.c.vault == sa.bindparam("of_vault", type_=sa.String),
    heads.c.space == sa.bindparam("of_space", type_=sa.String),
)
_OTHER_WANTED = sa.select(heads.c.vault, sa.bindparam("of_memory", type_=sa.String)).where(
    heads.c.vault == sa.bindparam("of_vault", type_=sa.String),
    heads.c.space.not_in(("", sa.bindparam("of_space", type_=sa.String))),
)
_INSERT_UNLESS = sa.insert(pending).from_select(("vault", "memory"), _OTHER_WANTED)
_REMOVE = sa.delete(pending).where(*_THIS, _WANTED.exists())
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
    sa.select(pending.c.memory)
    .where(_MINE, pending.c.memory > sa.bindparam("after", type_=sa.String))
    .order_by(pending.c.memory)
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)


def insert(vault: VaultId, memory: MemoryId) -> Write:
    return Write(_INSERT, rows=({"vault": vault, "memory": memory},))


def without(vault: VaultId, space: str) -> list[Write]:
    """Of the vault's memories those wait that have no vectors of `space`, and no others."""
    return [clear(vault), Write(_WITHOUT, rows=({"of_vault": vault, "of_space": space},))]


def insert_unless_wanted(vault: VaultId, memory: MemoryId, space: str) -> Write:
    """It waits, unless `space` is the one that the vault wants when the batch lands, or none is wanted yet."""
    return Write(_INSERT_UNLESS, rows=({"of_vault": vault, "of_memory": memory, "of_space": space},))


def remove(vault: VaultId, memory: MemoryId, space: str) -> Write:
    """It waits no more; conflicts if it did not wait, or if the vault wants another space than `space` by now."""
    return Write(_REMOVE, must_change=True, rows=({"of_vault": vault, "of_memory": memory, "of_space": space},))


def clear(vault: VaultId) -> Write:
    return Write(_CLEAR, rows=({"of_vault": vault},))


async def count(db: Database, vault: VaultId) -> int:
    waiting: int = (await db.read(_COUNT, {"of_vault": vault}))[0]["waiting"]
    return waiting


async def first(db: Database, vault: VaultId, limit: int, after: MemoryId | None = None) -> Sequence[MemoryId]:
    """Those that wait, oldest id first, at most `limit`; only those behind `after`."""
    asked = {"of_vault": vault, "after": after or "", "most": limit}
    return [MemoryId(row["memory"]) for row in await db.read(_FIRST, asked)]
