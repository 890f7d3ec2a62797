"""Quantised vectors: a row for each window of a memory's text, int8 with a scale."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from archivist.domain.ids import MemoryId, VaultId
from archivist.storage.database import Write
from archivist.storage.schema import vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MINE = vectors.c.vault == sa.bindparam("of_vault", type_=sa.String)
_INSERT = sa.insert(vectors)
_DROP = sa.delete(vectors).where(_MINE, vectors.c.memory == sa.bindparam("of_memory", type_=sa.String))


def insert(
    vault: VaultId, memory: MemoryId, space: str, scales: "NDArray[np.float32]", data: "NDArray[np.int8]"
) -> Write:
    """The vectors of a memory, in the order of its windows. scales: (windows,). data: (windows, d); windows ≥ 1."""
    named = {"vault": vault, "memory": memory, "space": space}
    windows = zip(scales.tolist(), data, strict=True)
    rows = [
        {**named, "window": number, "scale": scale, "data": row.tobytes()}
        for number, (scale, row) in enumerate(windows)
    ]
    return Write(_INSERT, rows=rows)


def drop(vault: VaultId, memories: Sequence[MemoryId]) -> Write:
    """Remove all vectors of these memories, if they have any. `memories` is not empty."""
    return Write(_DROP, rows=[{"of_vault": vault, "of_memory": memory} for memory in memories])
