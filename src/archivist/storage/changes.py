"""The change log. `seq` is raised in the batch that it counts, so its order is the order of commits."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.changes import Change, Kind, Op
from archivist.domain.ids import VaultId
from archivist.domain.times import micros, moment
from archivist.storage import heads
from archivist.storage.database import Database, Row, Write
from archivist.storage.schema import changes
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


async def since(db: Database, vault: VaultId, seq: int, limit: int) -> Sequence[Change]:
    """The entries after `seq`, oldest first, at most `limit`."""
    return [_change(row) for row in await db.read(_SINCE, {"of_vault": vault, "after": seq, "most": limit})]


def _change(row: Row) -> Change:
    return Change(**{**row, "vault": VaultId(row["vault"]), "at": moment(row["at"])})
