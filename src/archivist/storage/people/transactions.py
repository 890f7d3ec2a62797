"""Authorization requests whose person has not decided yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.times import micros
from archivist.storage.database import Database, Write
from archivist.storage.schema_people import transactions
from archivist.storage.shapes import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """`request` is what the app asked for, as JSON; `session` the one browser session that may decide."""

    digest: str
    session: str
    client: str
    request: str
    created: datetime
    expires: datetime


_SHAPE = Shape(of=Transaction, times=("created", "expires"))
_THIS = transactions.c.digest == sa.bindparam("of_digest", type_=sa.String)
_INSERT = sa.insert(transactions)
_FIND = sa.select(transactions).where(_THIS)
_FINISH = sa.delete(transactions).where(_THIS)
_OF_SESSION = (
    sa.select(transactions.c.digest)
    .where(transactions.c.session == sa.bindparam("of_session", type_=sa.String))
    .order_by(transactions.c.created.desc(), transactions.c.digest)
)
_CLEAR = sa.delete(transactions).where(transactions.c.expires < sa.bindparam("before", type_=sa.BigInteger))


def insert(transaction: Transaction) -> Write:
    return Write(_INSERT, rows=(_SHAPE.row(transaction),))


def finish(digest: str) -> Write:
    """Conflicts if it was decided already."""
    return Write(_FINISH, must_change=True, rows=({"of_digest": digest},))


def drop(digest: str) -> Write:
    """It is forgotten, whether it was decided or not."""
    return Write(_FINISH, rows=({"of_digest": digest},))


def clear(before: datetime) -> Write:
    return Write(_CLEAR, rows=({"before": micros(before)},))


async def find(db: Database, digest: str) -> Transaction | None:
    rows = await db.read(_FIND, {"of_digest": digest})
    return _SHAPE.value(rows[0]) if rows else None


async def of_session(db: Database, session: str) -> Sequence[str]:
    """The digests of what one browser is asked, the last asked first."""
    return [row["digest"] for row in await db.read(_OF_SESSION, {"of_session": session})]
