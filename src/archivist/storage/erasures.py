"""Deletions in two steps: rows are hidden together with a note of it, and then taken away, or shown again.

Between the two steps nothing reads the rows, and whoever finds the note, in any process, can finish the deletion or
withdraw it: both take the note away, so only one of the two happens.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from archivist.domain.changes import Head
from archivist.domain.erasures import Erasure
from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.times import micros, moment
from archivist.storage import batches
from archivist.storage import changes as log
from archivist.storage.database import Database, Write
from archivist.storage.rows import chunks
from archivist.storage.schema import NO_ID, PARTS, erasures, lineage, memories

_VAULT = sa.bindparam("of_vault", type_=sa.String)
_ERASURE = sa.bindparam("of_erasure", type_=sa.String)
_WANTED: sa.BindParameter[Any] = sa.bindparam("wanted", expanding=True)
_NOTE = sa.insert(erasures)
_CLOSE = sa.delete(erasures).where(erasures.c.vault == _VAULT, erasures.c.id == _ERASURE)
_OPEN = sa.select(erasures).where(erasures.c.vault == _VAULT).order_by(erasures.c.at)
_ONE = _OPEN.where(erasures.c.id == _ERASURE)
_SHOWN = (memories.c.vault == _VAULT, memories.c.going == NO_ID)
_GOING = (memories.c.vault == _VAULT, memories.c.going == _ERASURE)
_HIDE_ALL = sa.update(memories).where(*_SHOWN).values(going=_ERASURE)
_HIDE = _HIDE_ALL.where(memories.c.id == sa.bindparam("of_memory", type_=sa.String))
_SHOW = sa.update(memories).where(*_GOING).values(going=NO_ID)
_IDS = sa.select(memories.c.id).where(*_GOING)
_DOCS = sa.select(memories.c.id, memories.c.doc).where(*_GOING)
_LOG_AGAIN = log.entries_of("put", *_GOING)
_OF_THE_GONE = sa.delete(lineage).where(
    lineage.c.vault == _VAULT, lineage.c.parent.not_in(sa.select(memories.c.id).where(memories.c.vault == _VAULT))
)
_DROP_LINKS = sa.delete(lineage).where(lineage.c.vault == _VAULT, lineage.c.parent.in_(_IDS))
_DROP = sa.delete(memories).where(*_GOING)
_DROP_PARTS = [sa.delete(table).where(table.c.vault == _VAULT, table.c[owner].in_(_IDS)) for table, owner in PARTS]
_LEFT = [
    sa.select(table.c[owner].label("owner")).where(table.c.vault == _VAULT, table.c[owner].in_(_WANTED)).limit(1)
    for table, owner in ((memories, "id"), *PARTS)
]


def begin(erasure: Erasure) -> Write:
    row = {"vault": erasure.vault, "id": erasure.id, "whole": int(erasure.whole), "seq": erasure.seq}
    return Write(_NOTE, rows=({**row, "at": micros(erasure.at)},))


def close(erasure: Erasure) -> Write:
    """It is over; conflicts if somebody else ended it."""
    return Write(_CLOSE, must_change=True, rows=({"of_vault": erasure.vault, "of_erasure": erasure.id},))


def hide(erasure: Erasure, ids: Sequence[MemoryId]) -> list[Write]:
    """Hide these memories; conflicts if one is gone already. `ids` is not empty."""
    named = {"of_vault": erasure.vault, "of_erasure": erasure.id}
    return [Write(_HIDE, must_change=True, rows=({**named, "of_memory": id},)) for id in ids]


def hide_all(erasure: Erasure) -> list[Write]:
    """Hide every memory that is shown. Batches, and links of what was deleted before, go at once and for good."""
    of_vault = ({"of_vault": erasure.vault},)
    return [
        Write(_OF_THE_GONE, rows=of_vault),
        *batches.clear(erasure.vault),
        Write(_HIDE_ALL, rows=({"of_vault": erasure.vault, "of_erasure": erasure.id},)),
    ]


def show_again(erasure: Erasure, head: Head, now: datetime) -> list[Write]:
    """Show what it hid, each with an entry of the log of its own; conflicts if the vault has another epoch."""
    named = {"of_vault": erasure.vault, "of_erasure": erasure.id}
    return [
        *log.append_each(erasure.vault, head.epoch, _LOG_AGAIN, {**named, "new_at": micros(now)}),
        Write(_SHOW, rows=(named,)),
    ]


def drop(erasure: Erasure) -> list[Write]:
    """Take away the rows that it hid, and all that belongs to them. The last write is the one of the memories."""
    named = ({"of_vault": erasure.vault, "of_erasure": erasure.id},)
    parts = [Write(statement, rows=named) for statement in _DROP_PARTS]
    if erasure.whole:
        parts.append(Write(_DROP_LINKS, rows=named))
    return [*parts, Write(_DROP, rows=named)]


async def under_way(db: Database, vault: VaultId) -> Sequence[Erasure]:
    """Those that somebody has begun and nobody has ended, oldest first."""
    return [
        Erasure(vault=vault, id=row["id"], whole=row["whole"] == 1, seq=row["seq"], at=moment(row["at"]))
        for row in await db.read(_OPEN, {"of_vault": vault})
    ]


async def is_under_way(db: Database, erasure: Erasure) -> bool:
    return bool(await db.read(_ONE, {"of_vault": erasure.vault, "of_erasure": erasure.id}))


async def documents(db: Database, erasure: Erasure) -> Mapping[MemoryId, int]:
    """The memories that it hides, with their documents in the full-text index."""
    rows = await db.read(_DOCS, {"of_vault": erasure.vault, "of_erasure": erasure.id})
    return {MemoryId(row["id"]): row["doc"] for row in rows}


async def is_left(db: Database, vault: VaultId, ids: Sequence[MemoryId]) -> bool:
    """Whether any row of these memories is here, hidden or shown."""
    for chunk in chunks(ids):
        for statement in _LEFT:
            if await db.read(statement, {"of_vault": vault, "wanted": chunk}):
                return True
    return False
