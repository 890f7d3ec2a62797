"""Which reflection was built from which memories. A link outlives the memory it was built from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.times import moment
from archivist.storage import memories as stored
from archivist.storage.database import Database, Row, Write
from archivist.storage.rows import chunks
from archivist.storage.schema import NO_ID, lineage, memories

_MINE = lineage.c.vault == sa.bindparam("of_vault", type_=sa.String)
_INSERT = sa.insert(lineage)
_WANTED: sa.BindParameter[Any] = sa.bindparam("wanted", expanding=True)
_SOURCES = sa.select(lineage).where(_MINE, lineage.c.parent.in_(_WANTED))
_BUILT = sa.select(lineage).where(_MINE, lineage.c.child.in_(_WANTED))
_STATES = sa.select(memories.c.id, memories.c.version, memories.c.event, memories.c.tokens).where(
    memories.c.vault == sa.bindparam("of_vault", type_=sa.String),
    memories.c.going == NO_ID,
    memories.c.id.in_(_WANTED),
)


@dataclass(frozen=True, slots=True)
class Link:
    """`parent` was built from `child` as it was in `child_version`, in the reflection batch `batch`."""

    parent: MemoryId
    child: MemoryId
    child_version: int
    batch: str


@dataclass(frozen=True, slots=True)
class Source:
    """Something that is here and that a reflection was built from. edited: on another text. tokens: of its text."""

    id: MemoryId
    event: datetime
    tokens: int
    edited: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of all that one reflection was built from. here: oldest first by event time, ties by id."""

    total: int
    here: Sequence[Source]


def insert(vault: VaultId, parent: MemoryId, child: MemoryId, child_version: int, batch: str) -> Write:
    return insert_all(vault, [Link(parent, child, child_version, batch)])


def insert_all(vault: VaultId, links: Sequence[Link]) -> Write:
    """`links` is not empty."""
    rows = [
        {"vault": vault, "parent": one.parent, "child": one.child, "child_version": one.child_version,
         "batch": one.batch}
        for one in links
    ]  # fmt: skip
    return Write(_INSERT, rows=rows)


async def sources(db: Database, vault: VaultId, parents: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[Link]]:
    """What each of `parents` was built from, by child id; those built from nothing are missing."""
    found: dict[MemoryId, list[Link]] = {}
    for link in await _links(db, vault, _SOURCES, parents):
        found.setdefault(link.parent, []).append(link)
    return found


async def built_on(db: Database, vault: VaultId, children: Sequence[MemoryId]) -> Sequence[Link]:
    """The links from reflections to these memories."""
    return await _links(db, vault, _BUILT, children)


async def standing(db: Database, vault: VaultId, parent: MemoryId) -> Standing:
    links = (await sources(db, vault, [parent])).get(parent, [])
    rows = await _states(db, vault, [link.child for link in links])
    here = [
        Source(link.child, moment(row["event"]), row["tokens"], row["version"] != link.child_version)
        for link in links
        if (row := rows.get(link.child))
    ]
    return Standing(len(links), sorted(here, key=lambda source: (source.event, source.id)))


async def reflections_on(db: Database, vault: VaultId, child: MemoryId) -> Sequence[MemoryId]:
    """The reflections that are here and were built from `child` itself, oldest first by event time, ties by id."""
    parents = [link.parent for link in await built_on(db, vault, [child])]
    rows = await _states(db, vault, parents)
    return sorted(rows, key=lambda id: (rows[id]["event"], id))


async def resting_on(db: Database, vault: VaultId, ids: Sequence[MemoryId]) -> Sequence[MemoryId]:
    """All that was built on these memories, directly or through others, nearest first; deleted ones are walked through.

    None of `ids` is among them.
    """
    seen, step = dict.fromkeys(ids), list(ids)
    while step:
        links = await built_on(db, vault, step)
        step = [parent for parent in dict.fromkeys(link.parent for link in links) if parent not in seen]
        seen |= dict.fromkeys(step)
    return list(seen)[len(dict.fromkeys(ids)) :]


async def kept_reflections(db: Database, vault: VaultId, ids: Sequence[MemoryId]) -> Sequence[MemoryId]:
    """The reflections that stay when `ids` go, and may still tell of them: nearest first."""
    built = await resting_on(db, vault, ids)
    here = await stored.existing(db, vault, built)
    return [id for id in built if id in here]


async def _states(db: Database, vault: VaultId, ids: Sequence[MemoryId]) -> dict[MemoryId, Row]:
    found: dict[MemoryId, Row] = {}
    for chunk in chunks(ids):
        rows = await db.read(_STATES, {"of_vault": vault, "wanted": chunk})
        found |= {MemoryId(row["id"]): row for row in rows}
    return found


async def _links(
    db: Database, vault: VaultId, query: "sa.Select[tuple[str, str, str, int, str]]", wanted: Sequence[MemoryId]
) -> list[Link]:
    """By parent, then by child. Sorted here: SQLite would walk the whole vault in that order instead of looking up."""
    links: list[Link] = []
    for chunk in chunks(wanted):
        for row in await db.read(query, {"of_vault": vault, "wanted": chunk}):
            links.append(Link(MemoryId(row["parent"]), MemoryId(row["child"]), row["child_version"], row["batch"]))
    return sorted(links, key=lambda link: (link.parent, link.child))
