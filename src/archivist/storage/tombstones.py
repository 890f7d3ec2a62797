"""What was deleted and must not come back: ids and keyed digests, never text."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.times import micros
from archivist.storage.database import Database, Write
from archivist.storage.rows import chunks
from archivist.storage.schema import memories, tombstones

_MINE = tombstones.c.vault == sa.bindparam("of_vault", type_=sa.String)
_GOING = sa.select(
    memories.c.vault, memories.c.id, memories.c.digest, sa.bindparam("new_at", type_=sa.BigInteger)
).where(memories.c.vault == sa.bindparam("of_vault", type_=sa.String))
_COLUMNS = ("vault", "memory", "digest", "at")
_BURY = sa.insert(tombstones).from_select(
    _COLUMNS, _GOING.where(memories.c.id == sa.bindparam("of_memory", type_=sa.String))
)
_BURY_ALL = sa.insert(tombstones).from_select(_COLUMNS, _GOING)
_IDS = sa.select(tombstones.c.memory.label("dead")).where(
    _MINE, tombstones.c.memory.in_(sa.bindparam("wanted", expanding=True))
)
_DIGESTS = sa.select(tombstones.c.digest.label("dead")).where(
    _MINE, tombstones.c.digest.in_(sa.bindparam("wanted", expanding=True))
)


def bury(vault: VaultId, ids: Sequence[MemoryId], now: datetime) -> Write:
    """Mark memories as deleted; goes before the write that deletes their rows. `ids` is not empty."""
    return Write(_BURY, rows=[{"of_vault": vault, "of_memory": id, "new_at": micros(now)} for id in ids])


def bury_all(vault: VaultId, now: datetime) -> Write:
    """Mark every memory of the vault as deleted; goes before the write that deletes the rows."""
    return Write(_BURY_ALL, rows=({"of_vault": vault, "new_at": micros(now)},))


async def among(db: Database, vault: VaultId, ids: Sequence[MemoryId], digests: Sequence[str]) -> frozenset[str]:
    """Which of these ids and of these digests were deleted here."""
    dead: set[str] = set()
    for query, wanted in ((_IDS, ids), (_DIGESTS, digests)):
        for chunk in chunks(wanted):
            dead.update(row["dead"] for row in await db.read(query, {"of_vault": vault, "wanted": chunk}))
    return frozenset(dead)
