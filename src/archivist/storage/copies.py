"""Rows on their way from one store to another: read by what they belong to, deleted and inserted as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from archivist.domain.ids import VaultId
from archivist.domain.times import micros
from archivist.storage.database import Database, Row, Write
from archivist.storage.rows import chunks
from archivist.storage.schema import PARTS, audit, batches, changes, leased, lineage, memories, tombstones

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

OF_A_MEMORY = tuple(Part(table, owner) for table, owner in PARTS)

BATCHES = Part(batches, "id")
LEASED_IN = Part(leased, "batch")
LEASED = Part(leased, "memory")
EVERYTHING = (MEMORIES, *OF_A_MEMORY, *OUTLIVING, BATCHES, LEASED, Part(changes, "seq"), Part(audit, "id"))
"""A vault but for its head and its full-text index."""

_TRAIL = sa.select(audit).where(audit.c.seq >= _FROM, audit.c.seq <= sa.bindparam("upto", type_=sa.BigInteger))
_AUDITED = _TRAIL.where(audit.c.vault == _VAULT)
_INSERT_TRAIL = sa.insert(audit)
_BURIED_SINCE = sa.select(tombstones).where(tombstones.c.vault == _VAULT, tombstones.c.at >= _FROM)


async def new_in_trail(source: Database, vault: VaultId, target: Database, first: int, last: int) -> list[Write]:
    """What makes `target` have the trail of a vault from `first` to `last` of its log.

    `first` is where `target` stands: an entry may have come there after it was copied.
    """
    return await _missing(source, target, _AUDITED, {"of_vault": vault, "seen": first, "upto": last})


async def new_in_control_trail(source: Database, target: Database, first: int, last: int) -> list[Write]:
    """The same for the trail of the control database, whatever vaults it speaks of."""
    return await _missing(source, target, _TRAIL, {"seen": first, "upto": last})


async def _missing(
    source: Database, target: Database, trail: "sa.Select[Any]", asked: Mapping[str, Any]
) -> list[Write]:
    here = {row["id"] for row in await target.read(trail, asked)}
    new = [dict(row) for row in await source.read(trail, asked) if row["id"] not in here]
    return [Write(_INSERT_TRAIL, rows=new)] if new else []


async def buried_since(db: Database, vault: VaultId, at: datetime) -> Sequence[Row]:
    """The marks of what was deleted at that moment or later."""
    return await db.read(_BURIED_SINCE, {"of_vault": vault, "seen": micros(at)})
