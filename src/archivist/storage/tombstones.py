"""What was deleted and must not come back: ids and keyed digests, never text."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.erasures import Erasure
from archivist.domain.ids import MemoryId, VaultId
from archivist.domain.times import micros
from archivist.storage.database import Database, Write
from archivist.storage.rows import chunks
from archivist.storage.schema import memories, tombstones

_MINE = tombstones.c.vault == sa.bindparam("of_vault", type_=sa.String)
_GOING = (
    memories.c.vault == sa.bindparam("of_vault", type_=sa.String),
    memories.c.going == sa.bindparam("of_erasure", type_=sa.String),
)
_BURY = sa.insert(tombstones).from_select(
    ("vault", "memory", "digest", "at"),
    sa.select(memories.c.vault, memories.c.id, memories.c.digest, sa.bindparam("new_at", type_=sa.BigInteger)).where(
        *_GOING
    ),
)
_DIG_UP = sa.delete(tombstones).where(_MINE, tombstones.c.memory.in_(sa.select(memories.c.id).where(*_GOING)))
_IDS = sa.select(tombstones.c.memory.label("dead")).where(
    _MINE, tombstones.c.memory.in_(sa.bindparam("wanted", expanding=True))
)
_DIGESTS = sa.select(tombstones.c.digest.label("dead")).where(
    _MINE, tombstones.c.digest.in_(sa.bindparam("wanted", expanding=True))
)


def bury(erasure: Erasure, now: datetime) -> Write:
    """Mark the memories that this erasure hides as deleted."""
    return Write(_BURY, rows=({"of_vault": erasure.vault, "of_erasure": erasure.id, "new_at": micros(now)},))


def dig_up(erasure: Erasure) -> Write:
    """The memories that this erasure hides are not to be deleted after all; goes before they are shown again."""
    return Write(_DIG_UP, rows=({"of_vault": erasure.vault, "of_erasure": erasure.id},))


async def among(db: Database, vault: VaultId, ids: Sequence[MemoryId], digests: Sequence[str]) -> frozenset[str]:
    """Which of these ids and of these digests were deleted here."""
    dead: set[str] = set()
    for query, wanted in ((_IDS, ids), (_DIGESTS, digests)):
        for chunk in chunks(wanted):
            dead.update(row["dead"] for row in await db.read(query, {"of_vault": vault, "wanted": chunk}))
    return frozenset(dead)
