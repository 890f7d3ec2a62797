"""All vectors of a vault in memory, scanned for every query: exact, filterable, right after every write.

Cosines are centred: cos(q - m, d - m) with m = n / (n + 50) · mean of the vault's n memories, because the vectors of
one model share a large common part that says nothing. A memory of many windows weighs no more than a short one, or
a single long one would be the centre and hide in it. (q - m)·(d - m) is one integer scan plus a constant.
Large vaults are sifted first by one bit per dimension, the side of m on which it lies.
"""

import numpy as np
import simsimd
from numpy.typing import NDArray

from archivist.search.columns import Column
from archivist.search.vector.quantised import Bytes, Floats, quantised, restore

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

SHRINKAGE = 50
"""A vault of so many memories is centred half-way."""

SIFT_FROM = 80_000
"""Vectors from which the bits pay for themselves; measured."""

SIFTED_LEAST = 8_000
SIFTED_SHARE = 50
"""Of n vectors about max(SIFTED_LEAST, n / SIFTED_SHARE) are kept by their bits.

Of the ten truly closest among 100,000 real vectors, 1,000 kept hold 95.3 %, 2,000 97.9, 4,000 99.1, 8,000 99.8.
"""

SAMPLE = 16_384
"""The bits are cut where about as many distances in a sample of this size would be kept."""

GATHER_SHARE = 8
"""When filters leave less than one in so many, reading just those is cheaper than a scan."""

DRIFT = 0.1
"""The centre is computed anew when more than this share of the vectors came or went."""

ALWAYS_BELOW = 500
"""A smaller vault is centred anew after every change."""

BLOCK = 8_192
"""Rows unpacked at a time: 12 MB of floats."""


class Matrix:
    """One row per vector; several vectors (windows) may belong to one owner, the best of them counts.

    Owners are row numbers of the caller, small integers. All windows of an owner are added at once.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._data = Column(np.int8, dimensions)
        self._scales = Column(np.float32)
        self._inverse = Column(np.float32)  # 1 / |d - m|
        self._bits = Column(np.uint8, (dimensions + 7) // 8)
        self._owners = Column(np.int32)
        self._alive = Column(np.bool_)
        self._first = Column(np.int32)  # by owner: its first row, -1 for none
        self._count = Column(np.int32)  # by owner: its rows
        self._dead = 0
        self._sum = np.zeros(dimensions, dtype=np.float64)  # of the owners' mean vectors
        self._owning = 0  # owners with vectors
        self._centre: Floats = np.zeros(dimensions, dtype=np.float32)
        self._changed = 0  # vectors that came or went since the centre was computed
        self._sifted = False  # whether there are bits
        self._in_order = True  # row i belongs to owner i

    def __len__(self) -> int:
        """Living vectors."""
        return len(self._scales.values) - self._dead

    @property
    def dead(self) -> int:
        """Removed vectors whose rows are still there; `keep` drops them."""
        return self._dead

    @property
    def nbytes(self) -> int:
        columns = (self._data, self._scales, self._inverse, self._bits, self._owners, self._alive)
        return sum(column.nbytes for column in (*columns, self._first, self._count))

    def reserve(self, vectors: int) -> None:
        """Make room for `vectors` rows in all, to load without copying."""
        for column in (self._data, self._scales, self._inverse, self._bits, self._owners, self._alive):
            column.reserve(vectors)

    def append(self, owners: Rows, scales: Floats, data: Bytes) -> None:
        """owners: (n,), equal ones side by side, none known yet. scales: (n,). data: (n, d) int8."""
        start = len(self._scales.values)
        self._in_order = self._in_order and np.array_equal(owners, np.arange(start, start + len(owners)))
        self._owners.append(owners)
        self._scales.append(scales)
        self._data.append(data)
        self._alive.append(np.ones(len(owners), dtype=np.bool_))
        self._place(owners, start)
        vectors = restore(scales, data)
        self._sum += self._weights(owners) @ vectors
        self._owning += len(np.unique(owners))
        self._changed += len(owners)
        self._centre_rows(vectors)

    def remove(self, owners: Rows) -> None:
        """Forget the vectors of these owners; owners without any are passed over."""
        rows = self._rows_of(owners)[0]
        self._alive.values[rows] = False
        self._dead += len(rows)
        self._changed += len(rows)
        gone = self._owners.values[rows]
        self._sum -= self._weights(gone) @ restore(self._scales.values[rows], self._data.values[rows])
        self._owning -= len(np.unique(gone))
        self._data.values[rows] = 0
        known = owners[owners < len(self._first.values)]
        self._first.values[known] = -1
        self._count.values[known] = 0

    def keep(self, owners: Mask) -> None:
        """Drop dead rows and renumber the owners: those of the mask close up, the others must have no vectors."""
        alive = self._alive.values.copy()
        renumbered = np.cumsum(owners) - 1
        for column in (self._data, self._scales, self._inverse, self._bits, self._owners, self._alive):
            if column is not self._bits or self._sifted:
                column.keep(alive)
        self._owners.values[:] = renumbered[self._owners.values]
        self._first, self._count, self._dead = Column(np.int32), Column(np.int32), 0
        self._place(self._owners.values, 0)
        self._in_order = np.array_equal(self._owners.values, np.arange(len(alive[alive])))

    def recentre(self) -> None:
        """Follow the vault's mean; does nothing while few vectors changed since the last time."""
        n = len(self)
        if self._changed <= (DRIFT * n if n >= ALWAYS_BELOW else 0):
            return
        self._changed, self._sifted = 0, n >= SIFT_FROM
        self._centre = (self._sum / (self._owning + SHRINKAGE)).astype(np.float32)
        self._inverse, self._bits = Column(np.float32), Column(np.uint8, self._bits.values.shape[1])
        for start in range(0, len(self._scales.values), BLOCK):
            block = slice(start, start + BLOCK)
            self._centre_rows(restore(self._scales.values[block], self._data.values[block]))

    def nearest(self, query: Floats, limit: int, allowed: Mask | None = None) -> tuple[Rows, Floats]:
        """The owners closest to `query` among those allowed, closest first, and their centred cosines.

        query: (d,) unit length. allowed: by owner, None for all. Returns two arrays of at most `limit`.
        """
        direction, offset = self._centred(query)
        usable = self._usable(allowed)
        living = len(self) if usable is None else int(np.count_nonzero(usable))
        if not living:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        margin = 2 * limit + 32  # the integer product may swap near equals: choose generously, then measure exactly
        while True:
            rows = self._shortlist(direction, offset, usable, min(margin, living))
            owners, cosines = self._best_windows(rows, self._exact(direction, offset, rows))
            if len(owners) >= limit or len(rows) >= living:
                return owners[:limit], cosines[:limit]
            margin *= 4  # long memories took several places

    def cosines(self, query: Floats, owners: Rows) -> Floats:
        """The centred cosine of the best window of each of `owners`, (n,); NaN for those without vectors."""
        direction, offset = self._centred(query)
        rows, places = self._rows_of(owners)
        best = np.full(len(owners), -np.inf, dtype=np.float32)
        np.maximum.at(best, places, self._exact(direction, offset, rows))
        best[np.isneginf(best)] = np.nan
        return best

    def _centred(self, query: Floats) -> tuple[Floats, float]:
        """u = (q - m) / |q - m| and u·m."""
        direction = query - self._centre
        direction /= max(float(np.linalg.norm(direction)), 1e-9)
        return direction.astype(np.float32), float(direction @ self._centre)

    def _usable(self, allowed: Mask | None) -> Mask | None:
        """By row: living and of an allowed owner; None for all."""
        if allowed is None:
            return self._alive.values if self._dead else None
        by_row = allowed[: len(self._owners.values)] if self._in_order else allowed[self._owners.values]
        return by_row & self._alive.values if self._dead else by_row

    def _shortlist(self, direction: Floats, offset: float, usable: Mask | None, wanted: int) -> Rows:
        """At least `wanted` usable rows, the closest ones by the integer product."""
        n = len(self._scales.values)
        if usable is not None and np.count_nonzero(usable) * GATHER_SHARE <= n:
            rows = np.flatnonzero(usable)
        elif self._sifted:
            rows = self._sift(direction, usable, max(SIFTED_LEAST, n // SIFTED_SHARE, 2 * wanted))
        else:
            scores = self._approximate(direction, offset, slice(None))
            if usable is not None:
                scores[~usable] = -np.inf
            return _largest(scores, wanted)
        return rows[_largest(self._approximate(direction, offset, rows), wanted)]

    def _sift(self, direction: Floats, usable: Mask | None, wanted: int) -> Rows:
        """About `wanted` usable rows, those whose bits agree most with the query's."""
        bits = np.packbits(direction > 0)[None, :]
        distances = np.asarray(
            simsimd.cdist(bits, self._bits.values, metric="hamming", dtype="bin8", out_dtype="float32")
        )[0]
        if usable is not None:
            distances[~usable] = np.inf
        sample = distances[:: -(-len(distances) // SAMPLE)]
        place = min(wanted * len(sample) // len(distances), len(sample) - 1)
        bound = np.partition(sample, place)[place]
        return np.flatnonzero(distances <= min(bound, self.dimensions))

    def _approximate(self, direction: Floats, offset: float, rows: Rows | slice) -> Floats:
        scale, data = quantised(direction[None, :])
        among = self._data.values[rows] if isinstance(rows, slice) else self._data.values.take(rows, axis=0)
        products = simsimd.cdist(data, among, metric="dot", out_dtype="float32")
        scores: Floats = np.asarray(products)[0] * self._scales.values[rows]
        scores *= scale[0]
        scores -= offset
        scores *= self._inverse.values[rows]
        return scores

    def _exact(self, direction: Floats, offset: float, rows: Rows) -> Floats:
        vectors = restore(self._scales.values[rows], self._data.values[rows])
        products = (vectors * direction).sum(axis=1)  # row by row alike, so that equal vectors have equal scores
        cosines: Floats = (products - np.float32(offset)) * self._inverse.values[rows]
        return cosines

    def _best_windows(self, rows: Rows, cosines: Floats) -> tuple[Rows, Floats]:
        """Each owner once, at its best window; best first, of equals the later owner first."""
        owners = self._owners.values[rows].astype(np.int64)
        order = np.lexsort((-owners, -cosines))
        first = np.sort(np.unique(owners[order], return_index=True)[1])
        return owners[order][first], cosines[order][first]

    def _rows_of(self, owners: Rows) -> tuple[Rows, Rows]:
        """The rows of all windows of `owners`, and for each row the place of its owner in `owners`."""
        known = np.flatnonzero(owners < len(self._first.values))
        counts = self._count.values[owners[known]]
        places = np.repeat(known, counts)
        steps = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(self._first.values[owners[known]], counts) + steps, places

    def _place(self, owners: Rows, start: int) -> None:
        """Note where the rows of `owners`, appended at `start`, lie."""
        if not len(owners):
            return
        distinct, first, counts = np.unique(owners, return_index=True, return_counts=True)
        missing = int(distinct[-1]) + 1 - len(self._first.values)
        if missing > 0:
            self._first.append(np.full(missing, -1, dtype=np.int32))
            self._count.append(np.zeros(missing, dtype=np.int32))
        self._first.values[distinct] = first + start
        self._count.values[distinct] = counts

    def _weights(self, owners: Rows) -> Floats:
        """What each of these rows counts in the mean: the windows of an owner share its one vote."""
        weights: Floats = (1 / self._count.values[owners]).astype(np.float32)
        return weights

    def _centre_rows(self, vectors: Floats) -> None:
        """Measure `vectors`, which follow those measured so far, from the centre."""
        away = vectors - self._centre
        self._inverse.append(1 / np.maximum(np.linalg.norm(away, axis=1), 1e-9))
        if self._sifted:
            self._bits.append(np.packbits(away > 0, axis=1))


def _largest(scores: Floats, wanted: int) -> Rows:
    """The places of the `wanted` largest scores, in any order; more where equals reach the bound; never -inf."""
    if wanted <= 0 or not len(scores):
        return np.zeros(0, dtype=np.int64)
    if wanted >= len(scores):
        return np.flatnonzero(scores > -np.inf)
    bound = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
    return np.flatnonzero((scores >= bound) & (scores > -np.inf))
