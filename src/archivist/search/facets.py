"""What search knows of every memory of a vault besides its words and vectors: arrays, a row for each memory."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archivist.domain.dates import Bound
from archivist.domain.ids import MemoryId
from archivist.domain.memories import TIERS
from archivist.domain.queries import Filters
from archivist.domain.times import micros
from archivist.search.columns import Column

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Block:
    """Several memories, ascending by `docs`. Arrays are (n,), `ids` is (n, 2) halves; importance 0 stands for none."""

    docs: NDArray[np.int64]
    ids: NDArray[np.uint64]
    tiers: NDArray[np.uint8]
    importance: NDArray[np.uint8]
    archived: Mask
    events: NDArray[np.int64]


def halves(ids: Sequence[str]) -> NDArray[np.uint64]:
    """UUIDs as (n, 2) big-endian halves."""
    raw = bytes.fromhex("".join(ids).replace("-", ""))
    return np.frombuffer(raw, dtype=">u8").reshape(-1, 2).astype(np.uint64)


class Facets:
    """Rows ascend by document number. A removed memory stays as a dead row until `keep`."""

    def __init__(self) -> None:
        self._docs = Column(np.int64)
        self._ids = Column(np.uint64, 2)
        self._tiers = Column(np.uint8)
        self._importance = Column(np.uint8)
        self._archived = Column(np.bool_)
        self._events = Column(np.int64)
        self._alive = Column(np.bool_)
        self.dead = 0

    def __len__(self) -> int:
        """Rows, dead ones included."""
        return len(self._docs.values)

    @property
    def live(self) -> int:
        return len(self) - self.dead

    @property
    def alive(self) -> Mask:
        return self._alive.values

    @property
    def docs(self) -> NDArray[np.int64]:
        return self._docs.values

    @property
    def last_doc(self) -> int:
        return int(self.docs[-1]) if len(self) else -1

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._columns())

    def append(self, block: Block) -> None:
        """Add memories whose documents come after all known ones."""
        self._docs.append(block.docs)
        self._ids.append(block.ids)
        self._tiers.append(block.tiers)
        self._importance.append(block.importance)
        self._archived.append(block.archived)
        self._events.append(block.events)
        self._alive.append(np.ones(len(block.docs), dtype=np.bool_))

    def replace(self, rows: Rows, block: Block) -> None:
        """The memories of `rows` are now as in `block`, under the same documents and ids."""
        self._tiers.values[rows] = block.tiers
        self._importance.values[rows] = block.importance
        self._archived.values[rows] = block.archived
        self._events.values[rows] = block.events

    def remove(self, rows: Rows) -> None:
        """Mark living `rows` dead."""
        self._alive.values[rows] = False
        self.dead += len(rows)

    def keep(self, rows: Mask) -> None:
        """Drop all other rows; the row numbers of the kept ones close up."""
        for column in self._columns():
            column.keep(rows)
        self.dead = int(len(self) - np.count_nonzero(self.alive))

    def rows_of(self, ids: NDArray[np.uint64]) -> Rows:
        """The living rows of these memories, in ascending order; unknown ones have none."""
        known = self._ids.values
        rows = np.flatnonzero(np.isin(known[:, 1], ids[:, 1]) & self.alive)
        wanted = {(int(high), int(low)) for high, low in ids}
        return np.array([row for row in rows if (int(known[row, 0]), int(known[row, 1])) in wanted], dtype=np.int64)

    def rows_of_docs(self, docs: NDArray[np.int64]) -> Rows:
        """The row of each document, dead or not; -1 for those that are not known."""
        if not len(self):
            return np.full(len(docs), -1, dtype=np.int64)
        rows = np.minimum(np.searchsorted(self.docs, docs), len(self) - 1)
        return np.where(self.docs[rows] == docs, rows, -1)

    def ids_of(self, rows: Rows) -> list[MemoryId]:
        digits = [f"{high:016x}{low:016x}" for high, low in self._ids.values[rows].tolist()]
        return [MemoryId(f"{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:]}") for d in digits]

    def allowed(self, filters: Filters) -> Mask | None:
        """Which rows `filters` let through; None for all of them."""
        masks: list[Mask] = []
        if self.dead:
            masks.append(self.alive)
        if not filters.archived and self._archived.values.any():
            masks.append(~self._archived.values)
        if filters.tiers and not filters.tiers.issuperset(TIERS):
            masks.append(np.isin(self._tiers.values, list(filters.tiers)))
        if filters.importance is not None:
            masks.append(self._importance.values >= max(1, filters.importance))
        if filters.start is not None:
            masks.append(self._behind(filters.start))
        if filters.end is not None:
            masks.append(self._ahead(filters.end))
        return np.logical_and.reduce(masks) if masks else None

    def _behind(self, start: Bound) -> Mask:
        """From the bound on; behind the row that it names, if it names one."""
        events, at = self._events.values, micros(start.moment)
        if start.after is None:
            return events >= at
        behind: Mask = (events > at) | ((events == at) & self._compare_ids(np.greater, start.after))
        return behind

    def _ahead(self, end: Bound) -> Mask:
        """Before the bound; at its moment only what comes before the row that it names."""
        events, at = self._events.values, micros(end.moment)
        if end.after is None:
            return events < at
        ahead: Mask = (events < at) | ((events == at) & self._compare_ids(np.less, end.after))
        return ahead

    def _compare_ids(self, compare: np.ufunc, id: MemoryId) -> Mask:
        """Which ids are greater, or less, than this one; ids sort as their halves do."""
        high, low = halves([id])[0]
        ids = self._ids.values
        found: Mask = compare(ids[:, 0], high) | ((ids[:, 0] == high) & compare(ids[:, 1], low))
        return found

    def _columns(self) -> tuple[Column, ...]:
        return (
            self._docs,
            self._ids,
            self._tiers,
            self._importance,
            self._archived,
            self._events,
            self._alive,
        )
