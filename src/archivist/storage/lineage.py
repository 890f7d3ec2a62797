"""Which reflection was built from which memories. A link outlives the memory it was built from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from archivist.domain.ids import MemoryId, VaultId
from archivist.storage.database import Database, Write
from archivist.storage.rows import chunks
from archivist.storage.schema import lineage

_MINE = lineage.c.vault == sa.bindparam("of_vault", type_=sa.String)
_INSERT = sa.insert(lineage)
_DROP = sa.delete(lineage).where(_MINE, lineage.c.parent == sa.bindparam("of_parent", type_=sa.String))
_CLEAR = sa.delete(lineage).where(_MINE)
_WANTED: sa.BindParameter[Any] = sa.bindparam("wanted", expanding=True)
_ORDER = (lineage.c.parent, lineage.c.child)
_SOURCES = sa.select(lineage).where(_MINE, lineage.c.parent.in_(_WANTED)).order_by(*_ORDER)
_BUILT = sa.select(lineage).where(_MINE, lineage.c.child.in_(_WANTED)).order_by(*_ORDER)


@dataclass(frozen=True, slots=True)
class Link:
    """`parent` was built from `child` as it was in `child_version`, in the reflection batch `batch`."""

    parent: MemoryId
    child: MemoryId
    child_version: int
    batch: str


def insert(vault: VaultId, parent: MemoryId, child: MemoryId, child_version: int, batch: str) -> Write:
    row = {"vault": vault, "parent": parent, "child": child, "child_version": child_version, "batch": batch}
    return Write(_INSERT, rows=(row,))


def drop_parents(vault: VaultId, parents: Sequence[MemoryId]) -> Write:
    """Forget what these were built from; links from others to them stay. `parents` is not empty."""
    return Write(_DROP, rows=[{"of_vault": vault, "of_parent": parent} for parent in parents])


def clear(vault: VaultId) -> Write:
    return Write(_CLEAR, rows=({"of_vault": vault},))


async def sources(db: Database, vault: VaultId, parents: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[Link]]:
    """What each of `parents` was built from, by child id; those built from nothing are missing."""
    found: dict[MemoryId, list[Link]] = {}
    for link in await _links(db, vault, _SOURCES, parents):
        found.setdefault(link.parent, []).append(link)
    return found


async def built_on(db: Database, vault: VaultId, children: Sequence[MemoryId]) -> Sequence[Link]:
    """The links from reflections to these memories."""
    return await _links(db, vault, _BUILT, children)


async def _links(
    db: Database, vault: VaultId, query: "sa.Select[tuple[str, str, str, int, str]]", wanted: Sequence[MemoryId]
) -> list[Link]:
    links: list[Link] = []
    for chunk in chunks(wanted):
        for row in await db.read(query, {"of_vault": vault, "wanted": chunk}):
            links.append(Link(MemoryId(row["parent"]), MemoryId(row["child"]), row["child_version"], row["batch"]))
    return links
