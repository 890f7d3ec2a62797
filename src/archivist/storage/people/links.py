"""One-time links."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.links import Kind, Link
from archivist.domain.times import micros
from archivist.storage.database import Database, Write
from archivist.storage.schema_people import links
from archivist.storage.shapes import Shape

_SHAPE = Shape(of=Link, times=("created", "expires", "used"))
_BY_DIGEST = links.c.digest == sa.bindparam("of_digest", type_=sa.String)
_OPEN = links.c.used.is_(None)
_INSERT = sa.insert(links)
_FIND = sa.select(links).where(_BY_DIGEST)
_USE = sa.update(links).where(_BY_DIGEST, _OPEN)
_END_KIND = sa.update(links).where(links.c.kind == sa.bindparam("of_kind", type_=sa.String), _OPEN)
_END_OF = sa.update(links).where(links.c.user == sa.bindparam("of_user", type_=sa.String), _OPEN)
_END_MADE = sa.update(links).where(links.c.maker == sa.bindparam("of_maker", type_=sa.String), _OPEN)
_ALL_OPEN = sa.select(links).where(_OPEN).order_by(links.c.created, links.c.id)
_INTO = (
    sa.select(links)
    .where(links.c.into_vault == sa.bindparam("into", type_=sa.String), _OPEN)
    .order_by(links.c.created, links.c.id)
)
_WITHDRAW = sa.update(links).where(links.c.id == sa.bindparam("of_id", type_=sa.String), _OPEN)
_CLEAR = sa.delete(links).where(links.c.expires < sa.bindparam("before", type_=sa.BigInteger))


def insert(link: Link) -> Write:
    return Write(_INSERT, rows=(_SHAPE.row(link),))


def use(digest: str, now: datetime) -> Write:
    """Conflicts if it was used already: of two at once, one gets in."""
    return Write(_USE, must_change=True, rows=({"of_digest": digest, "used": micros(now)},))


def end_kind(kind: Kind, now: datetime) -> Write:
    """No link of this kind works any more."""
    return Write(_END_KIND, rows=({"of_kind": kind, "used": micros(now)},))


def end_of(user: str, now: datetime) -> Write:
    """No link for this person works any more."""
    return Write(_END_OF, rows=({"of_user": user, "used": micros(now)},))


def end_made(maker: str, now: datetime) -> Write:
    """No link that this person made works any more."""
    return Write(_END_MADE, rows=({"of_maker": maker, "used": micros(now)},))


def end(digest: str, now: datetime) -> Write:
    """It works no more, whether it was used or not."""
    return Write(_USE, rows=({"of_digest": digest, "used": micros(now)},))


def withdraw(id: str, now: datetime) -> Write:
    """Conflicts if it was used already."""
    return Write(_WITHDRAW, must_change=True, rows=({"of_id": id, "used": micros(now)},))


def clear(before: datetime) -> Write:
    return Write(_CLEAR, rows=({"before": micros(before)},))


async def find(db: Database, digest: str) -> Link | None:
    """Used and expired ones, too."""
    rows = await db.read(_FIND, {"of_digest": digest})
    return _SHAPE.value(rows[0]) if rows else None


async def into(db: Database, vault: str) -> Sequence[Link]:
    """The unused ones that lead into a vault, oldest first."""
    return [_SHAPE.value(row) for row in await db.read(_INTO, {"into": vault})]


async def unused(db: Database) -> Sequence[Link]:
    """Everybody's that were not used, oldest first; expired ones, too."""
    return [_SHAPE.value(row) for row in await db.read(_ALL_OPEN)]
