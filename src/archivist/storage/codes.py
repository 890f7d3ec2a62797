"""Authorization codes in the control database: their digests, and what they are good for."""

from datetime import datetime

import sqlalchemy as sa

from archivist.domain.grants import AuthorizationCode
from archivist.domain.ids import VaultId
from archivist.domain.times import micros
from archivist.storage.database import Database, Write
from archivist.storage.schema_people import codes
from archivist.storage.shapes import Shape

_SHAPE = Shape(of=AuthorizationCode, times=("created", "expires", "spent"), scopes=("scopes",))
_THIS = (
    codes.c.vault == sa.bindparam("of_vault", type_=sa.String),
    codes.c.digest == sa.bindparam("of_digest", type_=sa.String),
)
_INSERT = sa.insert(codes)
_SPEND = sa.update(codes).where(*_THIS, codes.c.spent.is_(None))
_FAIL = _SPEND.values(failures=codes.c.failures + 1)
_BY_DIGEST = sa.select(codes).where(codes.c.digest == sa.bindparam("of_digest", type_=sa.String))
_CLEAR = sa.delete(codes).where(codes.c.expires < sa.bindparam("before", type_=sa.BigInteger))


def insert(code: AuthorizationCode) -> Write:
    return Write(_INSERT, rows=(_SHAPE.row(code),))


def spend(vault: VaultId, digest: str, now: datetime) -> Write:
    """Conflicts if it is spent already: of many at once, one succeeds."""
    return Write(_SPEND, must_change=True, rows=({"of_vault": vault, "of_digest": digest, "spent": micros(now)},))


def fail(vault: VaultId, digest: str) -> Write:
    """One more wrong attempt; changes nothing once it is spent."""
    return Write(_FAIL, rows=({"of_vault": vault, "of_digest": digest},))


def clear(before: datetime) -> Write:
    """Those that expired before then."""
    return Write(_CLEAR, rows=({"before": micros(before)},))


async def by_digest(db: Database, digest: str) -> AuthorizationCode | None:
    """Spent and expired ones, too."""
    rows = await db.read(_BY_DIGEST, {"of_digest": digest})
    return _SHAPE.value(rows[0]) if rows else None
