"""The audit trail: ids and counts, never text. Each entry lies with its effect.

Ids are UUIDv7, so their order is that of time; a page ends with an id, and the next one begins before it.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from archivist.domain.audit import Entry
from archivist.domain.ids import CONTROL, UserId, VaultId
from archivist.domain.times import micros, moment
from archivist.storage.database import Database, Row, Write
from archivist.storage.schema import audit, heads

FIRST = "~"
"""Sorts behind every id: the page before it is the newest one."""

_OF_VAULT, _OF_CONTROL = (
    sa.select(heads.c.seq).where(heads.c.vault == which).scalar_subquery()
    for which in (sa.bindparam("of_vault", type_=sa.String), sa.literal(CONTROL))
)
_INSERT = sa.insert(audit).values(seq=sa.func.coalesce(_OF_VAULT, _OF_CONTROL, 0))  # of the log that lies beside it
_COLUMNS = tuple(name for name in audit.c.keys() if name != "seq")  # noqa: SIM118 - a collection, not a mapping
_TOLD = sa.select(*(audit.c[name] for name in _COLUMNS)).where(
    audit.c.vault == sa.bindparam("of_vault", type_=sa.String)
)
_PAGE = (
    _TOLD.where(
        audit.c.id < sa.bindparam("before", type_=sa.String),
    )
    .order_by(audit.c.id.desc())
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)
_LAST = (
    _TOLD.where(
        audit.c.action == sa.bindparam("of_action", type_=sa.String),
        audit.c.target == sa.bindparam("of_target", type_=sa.String),
    )
    .order_by(audit.c.id.desc())
    .limit(1)
)
_OF_USER = _PAGE.where(audit.c.user == sa.bindparam("of_user", type_=sa.String))
_OF_CREDENTIAL = _PAGE.where(audit.c.credential_id == sa.bindparam("of_credential", type_=sa.String))


def insert(entry: Entry) -> Write:
    row = {name: getattr(entry, name) for name in _COLUMNS}
    return Write(_INSERT, rows=({**row, "at": micros(entry.at), "of_vault": entry.vault},))


async def recent(db: Database, vault: VaultId, limit: int, before: str = FIRST) -> Sequence[Entry]:
    """Newest first, those with an id before `before`."""
    rows = await db.read(_PAGE, {"of_vault": vault, "before": before, "most": limit})
    return [_entry(row) for row in rows]


async def of_user(db: Database, vault: VaultId, user: UserId, limit: int, before: str = FIRST) -> Sequence[Entry]:
    """What one person did, newest first."""
    rows = await db.read(_OF_USER, {"of_vault": vault, "of_user": user, "before": before, "most": limit})
    return [_entry(row) for row in rows]


async def of_credential(db: Database, vault: VaultId, credential: str, limit: int) -> Sequence[Entry]:
    """What was done with one connection or key, newest first."""
    rows = await db.read(
        _OF_CREDENTIAL, {"of_vault": vault, "of_credential": credential, "before": FIRST, "most": limit}
    )
    return [_entry(row) for row in rows]


async def last(db: Database, vault: VaultId, action: str, target: str) -> Entry | None:
    """When something was last done to `target`."""
    rows = await db.read(_LAST, {"of_vault": vault, "of_action": action, "of_target": target})
    return _entry(rows[0]) if rows else None


def _entry(row: Row) -> Entry:
    return Entry(**{**row, "vault": VaultId(row["vault"]), "at": moment(row["at"])})
