"""Rows on their way from one store to another: read by what they belong to, deleted and inserted as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from archivist.domain.changes import Head
from archivist.domain.ids import VaultId
from archivist.storage.database import Database, Row, Write
from archivist.storage.rows import chunks
from archivist.storage.schema import (
    audit,
    batches,
    changes,
    leased,
    lineage,
    memories,
    pending,
    tags,
    tombstones,
    vectors,
)

_VAULT = sa.bindparam("of_vault", type_=sa.String)
_WANTED: sa.BindParameter[Any] = sa.bindparam("wanted", expanding=True)
_FROM = sa.bindparam("seen", type_=sa.BigInteger)


@dataclass(frozen=True)
class Part:
    """The rows of one table of a vault, each of which belongs to what its column `owner` names."""

    table: sa.Table
    owner: str
    _read: "sa.Select[Any]" = field(init=False, repr=False)
    _drop: sa.Delete = field(init=False, repr=False)
    _clear: sa.Delete = field(init=False, repr=False)
    _insert: sa.Insert = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mine = self.table.c.vault == _VAULT
        owner = self.table.c[self.owner]
        for name, statement in {
            "_read": sa.select(self.table).where(mine, owner.in_(_WANTED)),
            "_drop": sa.delete(self.table).where(mine, owner == sa.bindparam("of_owner", type_=owner.type)),
            "_clear": sa.delete(self.table).where(mine),
            "_insert": sa.insert(self.table),
        }.items():
            object.__setattr__(self, name, statement)

    async def read(self, db: Database, vault: VaultId, owners: Sequence[str]) -> list[Row]:
        rows: list[Row] = []
        for chunk in chunks(owners):
            rows += await db.read(self._read, {"of_vault": vault, "wanted": chunk})
        return rows

    def drop(self, vault: VaultId, owners: Sequence[str]) -> list[Write]:
        rows = [{"of_vault": vault, "of_owner": owner} for owner in owners]
        return [Write(self._drop, rows=rows)] if rows else []

    def clear(self, vault: VaultId) -> Write:
        return Write(self._clear, rows=({"of_vault": vault},))

    def insert(self, vault: VaultId, rows: Sequence[Row]) -> list[Write]:
        """The rows as they were read, all of them of `vault`."""
        values = [{**row, "vault": vault} for row in rows]
        return [Write(self._insert, rows=values)] if values else []


MEMORIES = Part(memories, "id")
TOMBSTONES = Part(tombstones, "memory")
LINEAGE = Part(lineage, "parent")
OUTLIVING = (TOMBSTONES, LINEAGE)
"""What is there of a memory that is gone, too: ids, never text."""

OF_A_MEMORY = tuple(Part(table, owner) for table, owner in (
    (tags, "memory"), (vectors, "memory"), (pending, "memory"),
))  # fmt: skip
"""What goes where its memory goes."""

BATCHES = Part(batches, "id")
LEASED_IN = Part(leased, "batch")
LEASED = Part(leased, "memory")
CHANGES = Part(changes, "seq")
AUDIT = Part(audit, "id")
EVERYTHING = (MEMORIES, *OF_A_MEMORY, *OUTLIVING, BATCHES, LEASED, CHANGES, AUDIT)
"""A vault but for its head and its full-text index."""

_CHANGES_SINCE = (
    sa.select(changes)
    .where(changes.c.vault == _VAULT, changes.c.seq > _FROM)
    .order_by(changes.c.seq)
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)
_AUDITED = sa.select(audit).where(
    audit.c.vault == _VAULT, audit.c.seq >= _FROM, audit.c.seq <= sa.bindparam("upto", type_=sa.BigInteger)
)
_BURIED_SINCE = sa.select(tombstones).where(tombstones.c.vault == _VAULT, tombstones.c.at >= _FROM)


def reached(entries: Sequence[Row], page: int, head: Head) -> int:
    """Where a copy stands that has taken `entries`, of which `page` were asked for after `head` was read."""
    last = int(entries[-1]["seq"]) if entries else 0  # some of them may be later than that head
    return last if len(entries) == page else max(last, head.seq)


async def changes_since(db: Database, vault: VaultId, seq: int, most: int) -> Sequence[Row]:
    """The entries of the log behind `seq`, oldest first, at most `most`."""
    return await db.read(_CHANGES_SINCE, {"of_vault": vault, "seen": seq, "most": most})


async def audited(db: Database, vault: VaultId, first: int, last: int) -> Mapping[str, Row]:
    """The entries of the trail from `first` to `last` of the log, by id."""
    return {row["id"]: row for row in await db.read(_AUDITED, {"of_vault": vault, "seen": first, "upto": last})}


async def new_in_trail(source: Database, vault: VaultId, target: Database, first: int, last: int) -> Sequence[Row]:
    """What `target` lacks of them. `first` is where it stands: an entry may have come there after it was copied."""
    here = await audited(target, vault, first, last)
    return [row for id, row in (await audited(source, vault, first, last)).items() if id not in here]


async def buried_since(db: Database, vault: VaultId, at: int) -> Sequence[Row]:
    """The marks of what was deleted at the moment `at` (µs) or later."""
    return await db.read(_BURIED_SINCE, {"of_vault": vault, "seen": at})
