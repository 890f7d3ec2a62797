"""Memories in SQL: queries to rows to domain values. No rules live here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from archivist.domain.dates import Bound
from archivist.domain.errors import Damaged
from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.leases import Batch
from archivist.domain.memories import TIERS, Memory
from archivist.domain.queries import Filters
from archivist.domain.times import micros, moment
from archivist.storage import changes
from archivist.storage.database import AT_ONCE, Database, Row, Write
from archivist.storage.rows import COLUMNS, chunks, memory_of, row_of
from archivist.storage.schema import NO_ID, heads, memories, tags

_MINE = memories.c.vault == sa.bindparam("of_vault", type_=sa.String)
_HERE = (_MINE, memories.c.going == NO_ID)  # what an erasure is taking away is read by nobody
_WANTED: sa.BindParameter[Any] = sa.bindparam("wanted", expanding=True)
_MOST = sa.bindparam("most", type_=sa.BigInteger)
_SEQ = sa.select(heads.c.seq).where(heads.c.vault == sa.bindparam("of_vault", type_=sa.String)).scalar_subquery()
_INSERT = sa.insert(memories).values(doc=_SEQ)
_INSERT_TAGS = sa.insert(tags)
_CONSOLIDATE = (
    sa.update(memories)
    .where(*_HERE, memories.c.id == sa.bindparam("of_id", type_=sa.String))
    .where(memories.c.batch == NO_ID, memories.c.archived == 0)
    .values(batch=sa.bindparam("new_batch"))
)
_BUILT_ON = (
    _MINE,
    memories.c.tier == sa.bindparam("of_tier", type_=sa.BigInteger),
    memories.c.archived == 0,
    memories.c.batch == sa.bindparam("of_batch", type_=sa.String),
)
_ALL_BUILT_ON = (
    sa.update(heads)
    .where(heads.c.vault == sa.bindparam("of_vault", type_=sa.String))
    .where(
        sa.select(sa.func.count()).select_from(memories).where(*_BUILT_ON).scalar_subquery()
        == sa.bindparam("wanted_count", type_=sa.BigInteger)
    )
    .values(leasing=heads.c.leasing)
)
_MARKS = changes.entries_of("mark", *_BUILT_ON)
_LOOKS = 2
"""How often a row is read again before it counts as damaged."""

SELECT = sa.select(*(memories.c[name] for name in COLUMNS))
"""All that `with_tags` needs."""

_MANY = SELECT.where(*_HERE, memories.c.id.in_(_WANTED))
_BY_REPEAT = SELECT.where(*_HERE, memories.c.repeat_of == sa.bindparam("of_digest", type_=sa.String)).execution_options(
    **AT_ONCE
)
_RECENT = (
    SELECT.where(*_HERE, memories.c.archived == 0)
    .order_by(memories.c.created.desc(), memories.c.id.desc())
    .limit(_MOST)
)
_FIRST_PAGE = SELECT.where(*_HERE).order_by(memories.c.id).limit(_MOST)
_PAGE = (
    SELECT.where(*_HERE, memories.c.id > sa.bindparam("after", type_=sa.String)).order_by(memories.c.id).limit(_MOST)
)
_EXISTING = sa.select(memories.c.id).where(*_HERE, memories.c.id.in_(_WANTED))
_REPEATS = sa.select(memories.c.repeat_of).where(*_HERE, memories.c.repeat_of.in_(_WANTED))
_TAGS = (
    sa.select(tags.c.memory, tags.c.tag)
    .where(tags.c.vault == sa.bindparam("of_vault", type_=sa.String), tags.c.memory.in_(_WANTED))
    .order_by(tags.c.memory, tags.c.position)
    .execution_options(**AT_ONCE)
)
_EVENTS = sa.select(memories.c.event).where(*_HERE)
_TALLY = (
    sa.select(
        memories.c.tier,
        memories.c.archived,
        sa.func.count().label("items"),
        sa.func.sum(memories.c.tokens).label("tokens"),
        _EVENTS.order_by(memories.c.event).limit(1).scalar_subquery().label("oldest"),
        _EVENTS.order_by(memories.c.event.desc()).limit(1).scalar_subquery().label("newest"),
    )
    .where(*_HERE)
    .group_by(memories.c.tier, memories.c.archived)
)
_DEBT = (
    sa.select(memories.c.tier, sa.func.count().label("items"), sa.func.sum(memories.c.tokens).label("tokens"))
    .where(*_HERE, memories.c.archived == 0, memories.c.batch == NO_ID)
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


def consolidate(vault: VaultId, ids: Sequence[MemoryId], batch: Batch, epoch: int, now: datetime) -> list[Write]:
    """`batch` was built from these, with an entry of the log for each; `ids` is not empty.

    Conflicts if one of them is gone, archived or consolidated by now, or if the vault has another epoch.
    """
    rows = [{"of_vault": vault, "new_batch": batch.id, "of_id": id} for id in ids]
    built_on = {"of_vault": vault, "of_batch": batch.id, "of_tier": batch.source_tier}
    return [
        Write(_CONSOLIDATE, rows=rows),
        Write(_ALL_BUILT_ON, must_change=True, rows=({**built_on, "wanted_count": len(ids)},)),
        *changes.append_each(vault, epoch, _MARKS, {**built_on, "new_at": micros(now)}),
    ]


async def find(db: Database, vault: VaultId, id: MemoryId) -> Memory | None:
    return (await find_many(db, vault, [id])).get(id)


async def find_many(
    db: Database, vault: VaultId, ids: Sequence[MemoryId], damaged: list[MemoryId] | None = None
) -> Mapping[MemoryId, Memory]:
    """Those of `ids` that this vault has, in the order asked for. damaged: as `with_tags` takes it."""
    found: dict[MemoryId, Memory] = {}
    for chunk in chunks(ids):
        rows = await db.read(_MANY, {"of_vault": vault, "wanted": chunk})
        found |= {memory.id: memory for memory in await with_tags(db, vault, rows, damaged)}
    return {id: found[id] for id in ids if id in found}


async def by_repeat(db: Database, vault: VaultId, digest: str) -> Memory | None:
    """The memory with which an exact repeat of its text is answered."""
    rows = await db.read(_BY_REPEAT, {"of_vault": vault, "of_digest": digest})
    return next(iter(await with_tags(db, vault, rows)), None)  # it may go between the two reads


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
    query = SELECT.where(
        memories.c.vault == vault, memories.c.going == NO_ID, *_inside(first, last), *_passing(filters)
    )
    return await with_tags(db, vault, await db.read(query.order_by(*order).limit(limit)))


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


async def with_tags(
    db: Database, vault: VaultId, rows: Sequence[Row], damaged: list[MemoryId] | None = None
) -> list[Memory]:
    """The memories of these rows, in their order.

    Raises:
        Damaged: a row is not what was written; with `damaged`, those rows are left out and named there.
    """
    read = await _checked(db, vault, rows)
    for _ in range(_LOOKS):  # a row and its tags are two reads: what changed in between is no damage
        if not (odd := [id for id, memory in read.items() if memory is None]):
            break
        here = [row for chunk in chunks(odd) for row in await db.read(_MANY, {"of_vault": vault, "wanted": chunk})]
        read = {**{id: memory for id, memory in read.items() if memory}, **await _checked(db, vault, here)}
    if odd := [id for id, memory in read.items() if memory is None]:
        if damaged is None:
            raise Damaged(odd)
        damaged += odd
    return [memory for row in rows if (memory := read.get(MemoryId(row["id"])))]


async def _checked(db: Database, vault: VaultId, rows: Sequence[Row]) -> dict[MemoryId, Memory | None]:
    """The memories of these rows; None for those whose checksum is not that of what was read."""
    tagged: dict[str, list[str]] = {}
    for row in await _among(db, vault, _TAGS, [row["id"] for row in rows]):
        tagged.setdefault(row["memory"], []).append(row["tag"])
    return {MemoryId(row["id"]): memory_of(row, tagged.get(row["id"], ())) for row in rows}


async def _among(db: Database, vault: VaultId, query: "sa.Select[Any]", wanted: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for chunk in chunks(wanted):
        rows += await db.read(query, {"of_vault": vault, "wanted": chunk})
    return rows
