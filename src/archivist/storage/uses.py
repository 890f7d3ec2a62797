"""How often a connection or key did what: counts and moments, in the control database."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from archivist.domain.ids import VaultId
from archivist.domain.times import micros, moment
from archivist.domain.uses import Seen, Use
from archivist.storage.database import Database, Write
from archivist.storage.schema_people import uses
from archivist.storage.shapes import Shape

_SHAPE = Shape(of=Use, times=("first", "last"))
_KEY = ("vault", "credential", "operation", "outcome")
_THIS = [uses.c[name] == sa.bindparam(f"of_{name}", type_=sa.String) for name in _KEY]
_BEGIN = sa.insert(uses).from_select(
    [*_KEY, "count", "first", "last"],
    sa.select(
        *(sa.bindparam(f"of_{name}", type_=sa.String) for name in _KEY),
        sa.literal(0),
        sa.bindparam("at_first", type_=sa.BigInteger),
        sa.bindparam("at_first", type_=sa.BigInteger),
    ).where(~sa.exists().where(*_THIS)),
)
_ADD = (
    sa.update(uses)
    .where(*_THIS)
    .values(count=uses.c.count + sa.bindparam("more", type_=sa.BigInteger), last=sa.bindparam("at_last"))
)
_SEEN: sa.Select[Any] = sa.select(
    sa.func.min(uses.c.first).label("first"), sa.func.max(uses.c.last).label("last")
).where(_THIS[0], _THIS[1], uses.c.outcome == "done")
_LAST: sa.Select[Any] = sa.select(sa.func.max(uses.c.last).label("last")).where(_THIS[0], uses.c.outcome == "done")
_LIST = sa.select(uses).where(_THIS[0]).order_by(uses.c.last.desc(), *(uses.c[name] for name in _KEY))


def add(use: Use) -> Sequence[Write]:
    """Count these on top of what was counted before."""
    key = {f"of_{name}": getattr(use, name) for name in _KEY}
    begin = Write(_BEGIN, rows=({**key, "at_first": micros(use.first)},))
    return [begin, Write(_ADD, rows=({**key, "more": use.count, "at_last": micros(use.last)},))]


async def seen(db: Database, vault: VaultId, credential: str) -> Seen | None:
    """None if it was never used."""
    rows = await db.read(_SEEN, {"of_vault": vault, "of_credential": credential})
    row = rows[0]
    return None if row["first"] is None else Seen(moment(row["first"]), moment(row["last"]))


async def last_in(db: Database, vault: VaultId) -> datetime | None:
    """When anything was last done in a vault by what is connected to it."""
    last = (await db.read(_LAST, {"of_vault": vault}))[0]["last"]
    return None if last is None else moment(last)


async def of_vault(db: Database, vault: VaultId) -> Sequence[Use]:
    """The last used first."""
    return [_SHAPE.value(row) for row in await db.read(_LIST, {"of_vault": vault})]
