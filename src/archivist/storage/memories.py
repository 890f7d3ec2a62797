"""Memories in SQL: queries to rows to domain values. No rules live here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from archivist.domain.dates import Bound
from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.memories import TIERS, Memory
from archivist.domain.queries import Filters
from archivist.domain.times import micros, moment
from archivist.storage.database import AT_ONCE, Database, Row, Write
from archivist.storage.rows import COLUMNS, chunks, memory_of, row_of
from archivist.storage.schema import heads, memories, tags

_MINE = memories.c.vault == sa.bindparam("of_vault", type_=sa.String)
_THIS = (_MINE, memories.c.id == sa.bindparam("of_id", type_=sa.String))
_WANTED: sa.BindParameter[Any] = sa.bindparam("wanted", expanding=True)
_MOST = sa.bindparam("most", type_=sa.BigInteger)
_SEQ = sa.select(heads.c.seq).where(heads.c.vault == sa.bindparam("of_vault", type_=sa.String)).scalar_subquery()
_INSERT = sa.insert(memories).values(doc=_SEQ)
_INSERT_TAGS = sa.insert(tags)
_DELETE = sa.delete(memories).where(*_THIS)
_DELETE_TAGS = sa.delete(tags).where(
    tags.c.vault == sa.bindparam("of_vault", type_=sa.String),
    tags.c.memory == sa.bindparam("of_id", type_=sa.String),
)
_CLEAR = sa.delete(memories).where(_MINE)
_CLEAR_TAGS = sa.delete(tags).where(tags.c.vault == sa.bindparam("of_vault", type_=sa.String))
SELECT = sa.select(*(memories.c[name] for name in COLUMNS))
"""All that `with_tags` needs."""

_MANY = SELECT.where(_MINE, memories.c.id.in_(_WANTED))
_BY_REPEAT = SELECT.where(_MINE, memories.c.repeat_of == sa.bindparam("of_digest", type_=sa.String)).execution_options(
    **AT_ONCE
)
_RECENT = (
    SELECT.where(_MINE, memories.c.archived == 0).order_by(memories.c.created.desc(), memories.c.id.desc()).limit(_MOST)
)
_FIRST_PAGE = SELECT.where(_MINE).order_by(memories.c.id).limit(_MOST)
_PAGE = SELECT.where(_MINE, memories.c.id > sa.bindparam("after", type_=sa.String)).order_by(memories.c.id).limit(_MOST)
_EXISTING = sa.select(memories.c.id).where(_MINE, memories.c.id.in_(_WANTED))
_REPEATS = sa.select(memories.c.repeat_of).where(_MINE, memories.c.repeat_of.in_(_WANTED))
_TAGS = (
    sa.select(tags.c.memory, tags.c.tag)
    .where(tags.c.vault == sa.bindparam("of_vault", type_=sa.String), tags.c.memory.in_(_WANTED))
    .order_by(tags.c.memory, tags.c.position)
    .execution_options(**AT_ONCE)
)
_UPTO = sa.select(sa.func.count().label("items")).where(
    _MINE, memories.c.doc <= sa.bindparam("upto", type_=sa.BigInteger)
)
_EVENTS = sa.select(memories.c.event).where(_MINE)
_TALLY = (
    sa.select(
        memories.c.tier,
        memories.c.archived,
        sa.func.count().label("items"),
        sa.func.sum(memories.c.tokens).label("tokens"),
        _EVENTS.order_by(memories.c.event).limit(1).scalar_subquery().label("oldest"),
        _EVENTS.order_by(memories.c.event.desc()).limit(1).scalar_subquery().label("newest"),
    )
    .where(_MINE)
    .group_by(memories.c.tier, memories.c.archived)
)
_DEBT = (
    sa.select(memories.c.tier, sa.func.count().label("items"), sa.func.sum(memories.c.tokens).label("tokens"))
    .where(_MINE, memories.c.archived == 0, memories.c.batch == "")
    .group_by(memories.c.tier)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a vault holds. Archived memories are counted in `archived` alone; `oldest` and `newest` look at all."""

    memories: int
    tokens: int
    tiers: Mapping[int, int]
    archived: int
    oldest: datetime | None
    newest: datetime | None

    @property
    def everything(self) -> int:
        return self.memories + self.archived


@dataclass(frozen=True, slots=True)
class Debt:
    """What no reflection was built from yet, in one tier."""

    items: int
    tokens: int


def insert(memory: Memory, terms: str) -> list[Write]:
    """Keep a new memory with its analysed terms. Goes right behind its change: that entry's seq becomes its `doc`.

    Conflicts if the id is taken, or the text where exact repeats are answered with the first.
    """
    writes = [Write(_INSERT, rows=({**row_of(memory), "terms": terms, "of_vault": memory.vault},))]
    named = {"vault": memory.vault, "memory": memory.id}
    if memory.tags:
        rows = [{**named, "position": position, "tag": tag} for position, tag in enumerate(memory.tags)]
        writes.append(Write(_INSERT_TAGS, rows=rows))
    return writes


def delete(vault: VaultId, ids: Sequence[MemoryId]) -> list[Write]:
    """Remove rows and tags; conflicts if one is gone already. `ids` is not empty."""
    rows = [{"of_vault": vault, "of_id": id} for id in ids]
    return [Write(_DELETE_TAGS, rows=rows), *(Write(_DELETE, must_change=True, rows=(row,)) for row in rows)]


def clear(vault: VaultId) -> list[Write]:
    """Remove every memory of the vault and its tags."""
    rows = ({"of_vault": vault},)
    return [Write(_CLEAR_TAGS, rows=rows), Write(_CLEAR, rows=rows)]


async def find(db: Database, vault: VaultId, id: MemoryId) -> Memory | None:
    return (await find_many(db, vault, [id])).get(id)


async def find_many(db: Database, vault: VaultId, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Memory]:
    """Those of `ids` that this vault has, in the order asked for."""
    found: dict[MemoryId, Memory] = {}
    for chunk in chunks(ids):
        rows = await db.read(_MANY, {"of_vault": vault, "wanted": chunk})
        found |= {memory.id: memory for memory in await with_tags(db, vault, rows)}
    return {id: found[id] for id in ids if id in found}


async def by_repeat(db: Database, vault: VaultId, digest: str) -> Memory | None:
    """The memory with which an exact repeat of its text is answered."""
    rows = await db.read(_BY_REPEAT, {"of_vault": vault, "of_digest": digest})
    return (await with_tags(db, vault, rows))[0] if rows else None


async def recent(db: Database, vault: VaultId, limit: int) -> Sequence[Memory]:
    """Newest first, by the time they were made; ties by id. Archived ones are left out."""
    return await with_tags(db, vault, await db.read(_RECENT, {"of_vault": vault, "most": limit}))


async def page(db: Database, vault: VaultId, after: MemoryId | None, limit: int) -> Sequence[Memory]:
    """Everything, archived too, by id; the page behind `after`."""
    query, start = (_FIRST_PAGE, {}) if after is None else (_PAGE, {"after": after})
    return await with_tags(db, vault, await db.read(query, {"of_vault": vault, "most": limit, **start}))


async def existing(db: Database, vault: VaultId, ids: Sequence[MemoryId]) -> frozenset[MemoryId]:
    """Which of `ids` this vault has."""
    return frozenset(MemoryId(row["id"]) for row in await _among(db, vault, _EXISTING, ids))


async def repeats(db: Database, vault: VaultId, digests: Sequence[str]) -> frozenset[str]:
    """Which of these texts would be answered with a memory that is here."""
    return frozenset(row["repeat_of"] for row in await _among(db, vault, _REPEATS, digests))


async def window(  # noqa: PLR0917 - db and vault come before the six that say what is asked
    db: Database, vault: VaultId, first: Bound, last: Bound, filters: Filters, limit: int, *, oldest_first: bool = False
) -> Sequence[Memory]:
    """Memories by event time, ties by id, newest first unless `oldest_first`: from `first` on and before `last`.

    A bound with a row that was seen already goes on behind that row. Of `filters` the times are not looked at.
    """
    order = (memories.c.event, memories.c.id) if oldest_first else (memories.c.event.desc(), memories.c.id.desc())
    query = SELECT.where(memories.c.vault == vault, *_inside(first, last), *_passing(filters))
    return await with_tags(db, vault, await db.read(query.order_by(*order).limit(limit)))


async def count_upto(db: Database, vault: VaultId, seq: int) -> int:
    """How many memories that were stored up to the log's `seq` are here."""
    rows = await db.read(_UPTO, {"of_vault": vault, "upto": seq})
    return int(rows[0]["items"])


async def tally(db: Database, vault: VaultId) -> Tally:
    rows = await db.read(_TALLY, {"of_vault": vault})
    shown = [row for row in rows if not row["archived"]]
    return Tally(
        memories=sum(row["items"] for row in shown),
        tokens=sum(int(row["tokens"]) for row in shown),
        tiers={tier: sum(row["items"] for row in shown if row["tier"] == tier) for tier in TIERS},
        archived=sum(row["items"] for row in rows if row["archived"]),
        oldest=moment(rows[0]["oldest"]) if rows else None,
        newest=moment(rows[0]["newest"]) if rows else None,
    )


async def debt(db: Database, vault: VaultId) -> Mapping[int, Debt]:
    """By tier; tiers without debt are missing."""
    rows = await db.read(_DEBT, {"of_vault": vault})
    return {row["tier"]: Debt(row["items"], int(row["tokens"])) for row in rows}


def _inside(first: Bound, last: Bound) -> list[sa.ColumnElement[bool]]:
    event, id, start, end = memories.c.event, memories.c.id, micros(first.moment), micros(last.moment)
    conditions = [event >= start, event < end]
    if first.after is not None:
        conditions.append((event > start) | (id > first.after))
    if last.after is not None:
        conditions[1] = event <= end
        conditions.append((event < end) | (id < last.after))
    return conditions


def _passing(filters: Filters) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    if filters.tiers:
        conditions.append(memories.c.tier.in_(sorted(filters.tiers)))
    if filters.importance is not None:
        conditions.append(memories.c.importance >= filters.importance)
    if not filters.archived:
        conditions.append(memories.c.archived == 0)
    return conditions


async def with_tags(db: Database, vault: VaultId, rows: Sequence[Row]) -> list[Memory]:
    """The memories of these rows, in their order."""
    tagged: dict[str, list[str]] = {}
    for row in await _among(db, vault, _TAGS, [row["id"] for row in rows]):
        tagged.setdefault(row["memory"], []).append(row["tag"])
    return [memory_of(row, tagged.get(row["id"], ())) for row in rows]


async def _among(db: Database, vault: VaultId, query: "sa.Select[Any]", wanted: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for chunk in chunks(wanted):
        rows += await db.read(query, {"of_vault": vault, "wanted": chunk})
    return rows
