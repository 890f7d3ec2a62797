"""Apps that are known."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.clients import Client
from archivist.domain.times import micros
from archivist.storage.database import Database, Write
from archivist.storage.schema_people import clients
from archivist.storage.shapes import Shape, micros_or_none

_SHAPE = Shape(of=Client, times=("created", "approved", "blocked"), lists=("redirect_uris",))
_THIS = clients.c.digest == sa.bindparam("of_digest", type_=sa.String)
_WAITING = sa.and_(clients.c.approved.is_(None), clients.c.blocked.is_(None), clients.c.kind != "confidential")
_INSERT = sa.insert(clients)
_FIND = sa.select(clients).where(_THIS)
_ALL = sa.select(clients).order_by(clients.c.created, clients.c.digest)
_UPDATE = sa.update(clients).where(_THIS)
_APPROVE = _UPDATE.where(clients.c.approved.is_(None))
_COUNT_WAITING = sa.select(sa.func.count().label("count")).select_from(clients).where(_WAITING)
_CLEAR = sa.delete(clients).where(_WAITING, clients.c.created < sa.bindparam("before", type_=sa.BigInteger))


def insert(client: Client) -> Write:
    """Conflicts if it is known already."""
    return Write(_INSERT, rows=(_SHAPE.row(client),))


def update(client: Client) -> Write:
    """What its document says now. Whether it was allowed or blocked meanwhile stays as it is."""
    row = _SHAPE.row(client)
    said = {name: row[name] for name in ("name", "redirect_uris")}
    return Write(_UPDATE, rows=({"of_digest": client.digest, **said},))


def approve(digest: str, now: datetime) -> Write:
    """Somebody allowed it: it is kept from now on."""
    return Write(_APPROVE, rows=({"of_digest": digest, "approved": micros(now)},))


def set_blocked(digest: str, at: datetime | None) -> Write:
    return Write(_UPDATE, must_change=True, rows=({"of_digest": digest, "blocked": micros_or_none(at)},))


def clear(before: datetime) -> Write:
    """Those made before then that nobody allowed."""
    return Write(_CLEAR, rows=({"before": micros(before)},))


async def find(db: Database, digest: str) -> Client | None:
    rows = await db.read(_FIND, {"of_digest": digest})
    return _SHAPE.value(rows[0]) if rows else None


async def everything(db: Database) -> Sequence[Client]:
    """Oldest first."""
    return [_SHAPE.value(row) for row in await db.read(_ALL)]


async def waiting(db: Database) -> int:
    """How many are known that nobody has allowed."""
    return int((await db.read(_COUNT_WAITING))[0]["count"])
