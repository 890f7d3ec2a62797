"""Browser sessions."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.ids import UserId
from archivist.domain.sessions import Session
from archivist.domain.times import micros
from archivist.storage.database import AT_ONCE, Database, Write
from archivist.storage.schema_people import sessions
from archivist.storage.shapes import Shape

_SHAPE = Shape(of=Session, times=("created", "used", "fresh"))
_BY_DIGEST = sessions.c.digest == sa.bindparam("of_digest", type_=sa.String)
_OF_USER = sessions.c.user == sa.bindparam("of_user", type_=sa.String)
_INSERT = sa.insert(sessions)
_FIND = sa.select(sessions).where(_BY_DIGEST).execution_options(**AT_ONCE)
_WITH_ID = sa.select(sessions).where(sessions.c.id == sa.bindparam("of_id", type_=sa.String))
_LIST = sa.select(sessions).where(_OF_USER).order_by(sessions.c.used.desc(), sessions.c.id)
_USED = sa.update(sessions).where(_BY_DIGEST)
_END = sa.delete(sessions).where(_BY_DIGEST)
_END_ALL = sa.delete(sessions).where(_OF_USER, sessions.c.id != sa.bindparam("but", type_=sa.String))
_CLEAR = sa.delete(sessions).where(sessions.c.created < sa.bindparam("before", type_=sa.BigInteger))


def insert(session: Session) -> Write:
    return Write(_INSERT, rows=(_SHAPE.row(session),))


def used(digest: str, now: datetime) -> Write:
    """It was used; changes nothing if it has ended."""
    return Write(_USED, rows=({"of_digest": digest, "used": micros(now)},))


def end(digest: str) -> Write:
    """Conflicts if it has ended already."""
    return Write(_END, must_change=True, rows=({"of_digest": digest},))


def end_all(user: UserId, but: str = "") -> Write:
    """All of a person, except the one with the id `but`."""
    return Write(_END_ALL, rows=({"of_user": user, "but": but},))


def clear(before: datetime) -> Write:
    """Those made before then; they have ended in any case."""
    return Write(_CLEAR, rows=({"before": micros(before)},))


async def find(db: Database, digest: str) -> Session | None:
    rows = await db.read(_FIND, {"of_digest": digest})
    return _SHAPE.value(rows[0]) if rows else None


async def with_id(db: Database, id: str) -> Session | None:
    rows = await db.read(_WITH_ID, {"of_id": id})
    return _SHAPE.value(rows[0]) if rows else None


async def of_user(db: Database, user: UserId) -> Sequence[Session]:
    """The last used one first."""
    return [_SHAPE.value(row) for row in await db.read(_LIST, {"of_user": user})]
