"""Connections in the control database: what people allowed apps."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.grants import Grant, Reason
from archivist.domain.ids import UserId, VaultId
from archivist.domain.times import micros
from archivist.storage.database import Database, Write
from archivist.storage.schema_people import grants
from archivist.storage.shapes import Shape

_SHAPE = Shape(of=Grant, times=("created", "approved", "ended"), scopes=("scopes",))
_THIS = (
    grants.c.vault == sa.bindparam("of_vault", type_=sa.String),
    grants.c.id == sa.bindparam("of_id", type_=sa.String),
)
_ALIVE = grants.c.ended.is_(None)
_INSERT = sa.insert(grants)
_UPDATE = sa.update(grants).where(*_THIS, _ALIVE)
_STILL = _UPDATE.values(ended=sa.null())
_RENEW = sa.update(grants).where(*_THIS, sa.or_(_ALIVE, grants.c.reason == "signed_off"))
_FIND = sa.select(grants).where(*_THIS)
_OF_USER = (
    sa.select(grants)
    .where(grants.c.user == sa.bindparam("of_user", type_=sa.String), _ALIVE)
    .order_by(grants.c.approved.desc(), grants.c.id)
)
_OF_VAULT = (
    sa.select(grants)
    .where(grants.c.vault == sa.bindparam("of_vault", type_=sa.String))
    .order_by(grants.c.approved.desc(), grants.c.id)
)
_RESUMABLE = (
    sa.select(grants)
    .where(
        grants.c.user == sa.bindparam("of_user", type_=sa.String),
        sa.or_(
            _ALIVE,
            sa.and_(grants.c.reason == "signed_off", grants.c.ended > sa.bindparam("since", type_=sa.BigInteger)),
        ),
    )
    .order_by(grants.c.approved.desc(), grants.c.id)
)
_REUSED = (
    sa.select(grants)
    .where(
        grants.c.user == sa.bindparam("of_user", type_=sa.String),
        grants.c.reason == "reused",
        grants.c.ended > sa.bindparam("since", type_=sa.BigInteger),
    )
    .order_by(grants.c.ended.desc(), grants.c.id)
)
_ALL = sa.select(grants).where(_ALIVE).order_by(grants.c.approved.desc(), grants.c.id)


def insert(grant: Grant) -> Write:
    return Write(_INSERT, rows=(_SHAPE.row(grant),))


def still(vault: VaultId, id: str) -> Write:
    """Changes nothing; conflicts if it has ended."""
    return Write(_STILL, must_change=True, rows=({"of_vault": vault, "of_id": id},))


def renew(grant: Grant) -> Write:
    """It was allowed once more, with other scopes perhaps; conflicts if somebody has ended it meanwhile."""
    row = _SHAPE.row(grant)
    kept = {name: row[name] for name in ("client_name", "host", "shown", "scopes", "approved")}
    again = {"of_vault": grant.vault, "of_id": grant.id, **kept, "ended": None, "reason": ""}
    return Write(_RENEW, must_change=True, rows=(again,))


def end(vault: VaultId, id: str, now: datetime, reason: Reason) -> Write:
    """Conflicts if it has ended already."""
    row = {"of_vault": vault, "of_id": id, "ended": micros(now), "reason": reason}
    return Write(_UPDATE, must_change=True, rows=(row,))


async def find(db: Database, vault: VaultId, id: str) -> Grant | None:
    """Ended ones, too."""
    rows = await db.read(_FIND, {"of_vault": vault, "of_id": id})
    return _SHAPE.value(rows[0]) if rows else None


async def of_user(db: Database, user: UserId) -> Sequence[Grant]:
    """Those that have not ended, the last allowed first."""
    return [_SHAPE.value(row) for row in await db.read(_OF_USER, {"of_user": user})]


async def of_vault(db: Database, vault: VaultId) -> Sequence[Grant]:
    """Everybody's of a vault, ended ones too, the last allowed first."""
    return [_SHAPE.value(row) for row in await db.read(_OF_VAULT, {"of_vault": vault})]


async def resumable(db: Database, user: UserId, since: datetime) -> Sequence[Grant]:
    """Those that have not ended, or that their app gave back after `since`; the last allowed first."""
    return [_SHAPE.value(row) for row in await db.read(_RESUMABLE, {"of_user": user, "since": micros(since)})]


async def reused(db: Database, user: UserId, since: datetime) -> Sequence[Grant]:
    """Those that ended after `since` because a spent token was shown, the last one first."""
    return [_SHAPE.value(row) for row in await db.read(_REUSED, {"of_user": user, "since": micros(since)})]


async def alive(db: Database) -> Sequence[Grant]:
    """Everybody's that have not ended, the last allowed first."""
    return [_SHAPE.value(row) for row in await db.read(_ALL)]
