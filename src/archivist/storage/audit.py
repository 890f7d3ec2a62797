"""The audit trail: ids and counts, never text. Each entry lies with its effect."""

from collections.abc import Sequence

import sqlalchemy as sa

from archivist.domain.audit import Entry
from archivist.domain.ids import VaultId
from archivist.domain.times import micros, moment
from archivist.storage.database import Database, Row, Write
from archivist.storage.schema import audit

_INSERT = sa.insert(audit)
_COLUMNS = tuple(audit.c.keys())
_RECENT = (
    sa.select(audit)
    .where(audit.c.vault == sa.bindparam("of_vault", type_=sa.String))
    .order_by(audit.c.at.desc(), audit.c.id.desc())
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)


def insert(entry: Entry) -> Write:
    row = {name: getattr(entry, name) for name in _COLUMNS}
    return Write(_INSERT, rows=({**row, "at": micros(entry.at)},))


async def recent(db: Database, vault: VaultId, limit: int) -> Sequence[Entry]:
    """Newest first; ties by id."""
    return [_entry(row) for row in await db.read(_RECENT, {"of_vault": vault, "most": limit})]


def _entry(row: Row) -> Entry:
    return Entry(**{**row, "vault": VaultId(row["vault"]), "at": moment(row["at"])})
