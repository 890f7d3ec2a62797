"""The change log. `seq` is raised in the batch that it counts, so its order is the order of commits."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from archivist.domain.changes import Change, Head, Kind, Op
from archivist.domain.ids import VaultId
from archivist.domain.times import micros, moment
from archivist.storage import heads
from archivist.storage.database import Database, Row, Write
from archivist.storage.schema import changes, memories
from archivist.storage.schema import heads as heads_table

_COLUMNS = ("vault", "seq", "epoch", "kind", "id", "version", "op", "at")
_APPEND = sa.insert(changes).from_select(
    _COLUMNS,
    sa.select(
        heads_table.c.vault,
        heads_table.c.seq,
        heads_table.c.epoch,
        sa.bindparam("new_kind", type_=sa.String),
        sa.bindparam("new_id", type_=sa.String),
        sa.bindparam("new_version", type_=sa.BigInteger),
        sa.bindparam("new_op", type_=sa.String),
        sa.bindparam("new_at", type_=sa.BigInteger),
    ).where(heads_table.c.vault == sa.bindparam("of_vault", type_=sa.String)),
)
_COPY = sa.insert(changes)
_DOCUMENT = memories.c.doc + 0  # of a plain column SQLite would take the order from an index, and walk the vault
_LAST = sa.select(sa.func.max(changes.c.seq)).where(changes.c.vault == sa.bindparam("of_vault", type_=sa.String))
_FOLLOW = (
    sa.update(heads_table)
    .where(
        heads_table.c.vault == sa.bindparam("of_vault", type_=sa.String),
        heads_table.c.epoch == sa.bindparam("of_epoch", type_=sa.BigInteger),
    )
    .values(seq=_LAST.scalar_subquery())
)
_SINCE = (
    sa.select(changes)
    .where(
        changes.c.vault == sa.bindparam("of_vault", type_=sa.String),
        changes.c.seq > sa.bindparam("after", type_=sa.BigInteger),
    )
    .order_by(changes.c.seq)
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)


def append(vault: VaultId, epoch: int, *, kind: Kind, id: str, version: int, op: Op, at: datetime) -> list[Write]:
    """The next entry of the log; conflicts if the vault has another epoch by now."""
    row = {"new_kind": kind, "new_id": id, "new_version": version, "new_op": op, "new_at": micros(at)}
    return [heads.raise_seq(vault, epoch), Write(_APPEND, must_change=True, rows=({"of_vault": vault, **row},))]


def append_each(vault: VaultId, epoch: int, entries: sa.Insert, given: Mapping[str, Any]) -> list[Write]:
    """All that `entries_of` makes; conflicts if the vault has another epoch by now."""
    follow = Write(_FOLLOW, must_change=True, rows=({"of_vault": vault, "of_epoch": epoch},))
    return [Write(entries, rows=({"of_vault": vault, **given},)), follow]


def entries_of(op: Op, *which: "sa.ColumnElement[bool]") -> sa.Insert:
    """An entry for each memory that `which` names, of its vault too, in the order of documents. To be bound: new_at."""
    selected = (
        sa.select(
            memories.c.vault,
            heads_table.c.seq + sa.func.row_number().over(order_by=_DOCUMENT),
            heads_table.c.epoch,
            sa.literal("memory"),
            memories.c.id,
            memories.c.version,
            sa.literal(op),
            sa.bindparam("new_at", type_=sa.BigInteger),
        )
        .select_from(memories.join(heads_table, heads_table.c.vault == memories.c.vault))
        .where(heads_table.c.vault == sa.bindparam("of_vault", type_=sa.String), *which)
    )
    return sa.insert(changes).from_select(_COLUMNS, selected)


async def since(db: Database, vault: VaultId, seq: int, limit: int) -> Sequence[Change]:
    """The entries after `seq`, oldest first, at most `limit`."""
    return [_change(row) for row in await db.read(_SINCE, {"of_vault": vault, "after": seq, "most": limit})]


def reached(entries: Sequence[Change], limit: int, head: Head) -> int:
    """Where a follower stands that has taken what `since` gave for `limit`, asked after `head` was read."""
    last = entries[-1].seq if entries else 0  # some of them may be later than that head
    return last if len(entries) == limit else max(last, head.seq)


def copied(vault: VaultId, entries: Sequence[Change]) -> list[Write]:
    """The same entries, for the log of a copy of the vault."""
    rows = [
        {**{name: getattr(one, name) for name in _COLUMNS}, "vault": vault, "at": micros(one.at)} for one in entries
    ]
    return [Write(_COPY, rows=rows)] if rows else []


def _change(row: Row) -> Change:
    return Change(**{**row, "vault": VaultId(row["vault"]), "at": moment(row["at"])})
