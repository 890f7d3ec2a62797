"""How often something was tried: counted in the database, so that a restart forgives nothing."""

from datetime import datetime

import sqlalchemy as sa

from archivist.domain.times import LATEST, micros, moment
from archivist.storage.database import Database, Write
from archivist.storage.schema_people import attempts

_OF = attempts.c.subject == sa.bindparam("of_subject", type_=sa.String)
_INSERT = sa.insert(attempts)
_SINCE = sa.select(
    *[
        sa.func.count().label("count"),
        sa.func.min(attempts.c.at).label("first"),
        sa.func.max(attempts.c.at).label("last"),
    ]
).where(
    _OF,
    attempts.c.at > sa.bindparam("since", type_=sa.BigInteger),
    attempts.c.at < sa.bindparam("until", type_=sa.BigInteger),
)
_TAKE_BACK = sa.delete(attempts).where(_OF, attempts.c.id == sa.bindparam("of_id", type_=sa.String))
_FORGET = sa.delete(attempts).where(_OF)
_CLEAR = sa.delete(attempts).where(
    sa.or_(
        attempts.c.at < sa.bindparam("before", type_=sa.BigInteger),
        attempts.c.at > sa.bindparam("after", type_=sa.BigInteger),
    )
)


def insert(subject: str, id: str, now: datetime) -> Write:
    return Write(_INSERT, rows=({"subject": subject, "id": id, "at": micros(now)},))


def take_back(subject: str, id: str) -> Write:
    return Write(_TAKE_BACK, rows=({"of_subject": subject, "of_id": id},))


def forget(subject: str) -> Write:
    return Write(_FORGET, rows=({"of_subject": subject},))


def clear(before: datetime, after: datetime = LATEST) -> Write:
    """Older ones, and those of a future that the clock came back from."""
    return Write(_CLEAR, rows=({"before": micros(before), "after": micros(after)},))


async def since(
    db: Database, subject: str, then: datetime, until: datetime = LATEST
) -> tuple[int, datetime | None, datetime | None]:
    """How often after `then`, and the first and the last time.

    until: leaves out what lies beyond, when the clock was far ahead for a while.
    """
    asked = {"of_subject": subject, "since": micros(then), "until": micros(until)}
    row = (await db.read(_SINCE, asked))[0]
    first, last = (None if row[name] is None else moment(row[name]) for name in ("first", "last"))
    return int(row["count"]), first, last
