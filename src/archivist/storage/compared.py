"""Small tables of the control database, copied from one store to another by comparing them row by row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from archivist.storage.database import Database, Row, Write
from archivist.storage.schema import approvals, keys, vaults
from archivist.storage.schema_people import PEOPLE

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Compared:
    """A table that is copied by comparing it row by row."""

    table: sa.Table
    _read: "sa.Select[Any]" = field(init=False, repr=False)
    _drop: sa.Delete = field(init=False, repr=False)
    _insert: sa.Insert = field(init=False, repr=False)

    def __post_init__(self) -> None:
        keyed = [column == sa.bindparam(f"of_{column.name}", type_=column.type) for column in self.table.primary_key]
        object.__setattr__(self, "_read", sa.select(self.table))
        object.__setattr__(self, "_drop", sa.delete(self.table).where(*keyed))
        object.__setattr__(self, "_insert", sa.insert(self.table))

    async def differences(self, source: Database, target: Database) -> list[Write]:
        """What makes the table in `target` like the one in `source`."""
        theirs, mine = self._by_key(await source.read(self._read)), self._by_key(await target.read(self._read))
        old = [key for key, row in mine.items() if theirs.get(key) != row]
        new = [row for key, row in theirs.items() if mine.get(key) != row]
        names = [f"of_{column.name}" for column in self.table.primary_key]
        batch = [Write(self._drop, rows=[dict(zip(names, key, strict=True)) for key in old])] if old else []
        return [*batch, Write(self._insert, rows=new)] if new else batch

    def _by_key(self, found: Sequence[Row]) -> Mapping[Key, Row]:
        names = [column.name for column in self.table.primary_key]
        return {tuple(row[name] for name in names): dict(row) for row in found}


TABLES = tuple(Compared(table) for table in (vaults, keys, approvals, *PEOPLE))
"""All but the log and the trail, which only grow."""
