"""Reflection batches: who took which memories, and what waits to be taken.

Whatever is decided on the batches of a vault is decided one after the other: its writes begin with `take_turn`. Only
deletions go on beside it, so a commit holds to its batch and to the rows that it consolidates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.leases import Batch, Member
from archivist.domain.limits import DUE_ITEMS, DUE_REFLECTIONS
from archivist.domain.memories import Memory
from archivist.domain.reflections import DUE_AGE, Glance
from archivist.domain.times import micros, moment
from archivist.storage.database import AT_ONCE, Database, Row, Write
from archivist.storage.schema import NO_ID, batches, heads, leased, memories
from archivist.storage.shapes import Shape, micros_or_none

_SHAPE = Shape(of=Batch, times=("created", "expires", "committed"))
_NOW = sa.bindparam("now", type_=sa.BigInteger)
_MOST = sa.bindparam("most", type_=sa.BigInteger)
_VAULT = sa.bindparam("of_vault", type_=sa.String)
_MINE = batches.c.vault == _VAULT
_THIS = (_MINE, batches.c.id == sa.bindparam("of_id", type_=sa.String))
_OPEN = (_MINE, batches.c.committed.is_(None), batches.c.expires > _NOW)
_LEASED = leased.c.vault == _VAULT
_OF_BATCH = (_LEASED, leased.c.batch == sa.bindparam("of_batch", type_=sa.String))

_TURNS = sa.select(heads.c.leasing).where(heads.c.vault == _VAULT).execution_options(**AT_ONCE)
_TURN = sa.update(heads).where(heads.c.vault == _VAULT).values(leasing=heads.c.leasing + 1)
_TURN_FROM = _TURN.where(heads.c.leasing == sa.bindparam("seen", type_=sa.BigInteger))
_FIND = sa.select(batches).where(*_THIS).execution_options(**AT_ONCE)
_ALL_OPEN = sa.select(batches).where(*_OPEN).order_by(batches.c.created, batches.c.id).execution_options(**AT_ONCE)
_MEMBERS = (
    sa.select(
        leased.c.memory,
        leased.c.version,
        memories.c.event,
        memories.c.archived,
        memories.c.batch,
        memories.c.tokens,
    )
    .select_from(
        leased.outerjoin(
            memories,
            sa.and_(memories.c.vault == _VAULT, memories.c.id == leased.c.memory, memories.c.going == NO_ID),
        )
    )
    .where(*_OF_BATCH)
    .order_by(leased.c.position)
)
_WAITING = (
    memories.c.vault == _VAULT,
    memories.c.going == NO_ID,
    memories.c.archived == 0,
    memories.c.batch == NO_ID,
)
_LENT = sa.select(leased.c.memory).where(_LEASED, leased.c.batch.in_(sa.bindparam("lent", expanding=True)))
_OLDEST = (
    sa.select(memories.c.id, memories.c.tokens)
    .where(*_WAITING, memories.c.tier == sa.bindparam("of_tier", type_=sa.BigInteger), memories.c.id.not_in(_LENT))
    .order_by(memories.c.event, memories.c.id)
    .limit(_MOST)
)
_INSERT = sa.insert(batches)
_TAKE_OVER = sa.delete(leased).where(_LEASED, leased.c.memory == sa.bindparam("of_memory", type_=sa.String))
_LEND = sa.insert(leased)
_END = sa.update(batches).where(*_THIS, batches.c.committed.is_(None)).values(expires=_NOW)
_FINISH = (
    sa.update(batches)
    .where(*_THIS, batches.c.committed.is_(None))
    .values(committed=sa.bindparam("new_committed"), result=sa.bindparam("new_result"))
)
_IN_FLIGHT = (  # as a nested question, or it would be asked of every memory in turn
    sa.select(sa.func.count())
    .select_from(leased)
    .where(
        _LEASED,
        leased.c.batch.in_(sa.select(batches.c.id).where(*_OPEN)),
        sa.exists().where(memories.c.id == leased.c.memory, *_WAITING),
    )
)
_RETURN = sa.delete(leased).where(*_OF_BATCH)
_CLEAR = sa.delete(batches).where(_MINE)
_CLEAR_LEASED = sa.delete(leased).where(_LEASED)
_PILE = sa.select(memories.c.tokens).where(*_WAITING).order_by(memories.c.event, memories.c.id)  # of the index alone
_OLD = memories.c.event <= sa.bindparam("old", type_=sa.BigInteger)
_RAW = _PILE.where(memories.c.tier == 1, _OLD).limit(DUE_ITEMS).subquery()
_REFLECTIONS = _PILE.where(memories.c.tier == 2).limit(DUE_REFLECTIONS).subquery()
_GLANCE = (
    sa.select(
        sa.func.count().label("items"),
        sa.func.sum(_RAW.c.tokens).label("tokens"),
        sa.select(sa.func.count()).select_from(_REFLECTIONS).scalar_subquery().label("reflections"),
        _IN_FLIGHT.scalar_subquery().label("in_flight"),
        sa.select(sa.func.max(batches.c.committed)).where(_MINE).scalar_subquery().label("committed"),
    )
    .select_from(_RAW)
    .execution_options(**AT_ONCE)
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory that can be taken. tokens: of its text."""

    id: MemoryId
    tokens: int


async def turn(db: Database, vault: VaultId) -> int:
    """How often anything was decided on the batches of the vault; read it before what the decision rests on."""
    rows = await db.read(_TURNS, {"of_vault": vault})
    return int(rows[0]["leasing"])


def take_turn(vault: VaultId, seen: int) -> Write:
    """Goes first; conflicts if anything was decided since `seen` was read."""
    return Write(_TURN_FROM, must_change=True, rows=({"of_vault": vault, "seen": seen},))


async def find(db: Database, vault: VaultId, id: str) -> Batch | None:
    rows = await db.read(_FIND, {"of_vault": vault, "of_id": id})
    return _batch(rows[0]) if rows else None


async def all_open(db: Database, vault: VaultId, now: datetime) -> Sequence[Batch]:
    """Those that are lent now, oldest first."""
    return [_batch(row) for row in await db.read(_ALL_OPEN, {"of_vault": vault, "now": micros(now)})]


async def members(db: Database, vault: VaultId, batch: str) -> Sequence[Member]:
    """The memories of a batch that no later one took, deleted ones too, in the order they were handed out."""
    return [_member(row) for row in await db.read(_MEMBERS, {"of_vault": vault, "of_batch": batch})]


async def oldest(db: Database, vault: VaultId, tier: int, lent: Sequence[Batch], limit: int) -> Sequence[Waiting]:
    """What can be taken of a tier, oldest first by event time, ties by id. lent: the batches that are open."""
    asked = {"of_vault": vault, "of_tier": tier, "lent": [batch.id for batch in lent] or [""], "most": limit}
    return [Waiting(MemoryId(row["id"]), row["tokens"]) for row in await db.read(_OLDEST, asked)]


async def glance(db: Database, vault: VaultId, now: datetime) -> Glance:
    """Reads a bounded number of index entries, whatever the vault holds."""
    [row] = await db.read(_GLANCE, {"of_vault": vault, "now": micros(now), "old": micros(now - DUE_AGE)})
    return Glance(
        items=row["items"],
        tokens=int(row["tokens"] or 0),
        reflections=row["reflections"],
        in_flight=row["in_flight"],
        committed=None if row["committed"] is None else moment(row["committed"]),
    )


def lend(batch: Batch, lent: Sequence[Memory]) -> list[Write]:
    """Keep a new batch of these memories; what an expired batch had of them is taken over. `lent` is not empty."""
    taken = [{"of_vault": batch.vault, "of_memory": memory.id} for memory in lent]
    rows: list[dict[str, Any]] = [
        {"vault": batch.vault, "memory": memory.id, "batch": batch.id, "version": memory.version, "position": place}
        for place, memory in enumerate(lent)
    ]
    return [Write(_INSERT, rows=(_SHAPE.row(batch),)), Write(_TAKE_OVER, rows=taken), Write(_LEND, rows=rows)]


def end(vault: VaultId, id: str, now: datetime) -> Write:
    """The lease of a batch ends now."""
    return Write(_END, must_change=True, rows=({"of_vault": vault, "of_id": id, "now": micros(now)},))


def finish(batch: Batch) -> list[Write]:
    """Keep what came of a committed batch; conflicts if it is gone, or committed already."""
    made = {"new_committed": micros_or_none(batch.committed), "new_result": batch.result}
    return [
        Write(_FINISH, must_change=True, rows=({"of_vault": batch.vault, "of_id": batch.id, **made},)),
        Write(_RETURN, rows=({"of_vault": batch.vault, "of_batch": batch.id},)),
    ]


def clear(vault: VaultId) -> list[Write]:
    """Forget every batch; what is being decided on them meanwhile comes to nothing."""
    return [Write(statement, rows=({"of_vault": vault},)) for statement in (_TURN, _CLEAR_LEASED, _CLEAR)]


def _batch(row: Row) -> Batch:
    return _SHAPE.value({**row, "vault": VaultId(row["vault"])})


def _member(row: Row) -> Member:
    return Member(
        id=MemoryId(row["memory"]),
        version=row["version"],
        event=None if row["event"] is None else moment(row["event"]),
        standing=_standing(row),
        tokens=row["tokens"] or 0,
    )


def _standing(row: Row) -> Any:
    if row["event"] is None:
        return "deleted"
    if row["batch"] != NO_ID:
        return "consolidated"
    return "archived" if row["archived"] else "free"
