"""How much of a query a memory covers: the idf of the query's terms that it holds, over the idf of them all.

coverage(d) = Σ idf(t in q and d) / Σ idf(t in q), in 0..1, with idf(t) = ln(1 + (N - df + ½) / (df + ½)) over the
vault's own N memories. How often a term occurs and how long a memory is do not matter; terms that no memory holds
count in the divisor.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float32]

_GROUPS = 3
_LOOKED_AT = 20_000  # rows of a list: any of them bound the best from below


def idf(memories: int, holding: int) -> float:
    """The weight of a term that `holding` of `memories` hold; above 0, so that even a word of half of them tells."""
    holding = min(holding, memories)
    return math.log(1 + (memories - holding + 0.5) / (holding + 0.5))


class Scores:
    """The coverage of every memory, gathered term by term."""

    def __init__(self, memories: int, rows: int, counts: Mapping[str, int]) -> None:
        """memories: living ones. rows: row numbers run below it. counts: by term of the query, its memories."""
        self._idf = {term: idf(memories, count) for term, count in counts.items()}
        self._total = sum(self._idf.values()) or 1.0
        self.by_row: Floats = np.zeros(rows, dtype=np.float32)

    def weight(self, terms: Sequence[str]) -> float:
        """What a memory that holds just `terms` scores."""
        return sum(self._idf[term] for term in terms) / self._total

    def add(self, term: str, rows: NDArray[np.int32]) -> None:
        """`rows` hold `term`; no row twice."""
        self.by_row[rows] += np.float32(self._idf[term] / self._total)


def bound_of_best(scores: Floats, lists: Sequence[NDArray[np.int32]], allowed: Mask | None, limit: int) -> float:
    """A score that at least `limit` allowed rows reach, as high as a look at some rows can show; 0 if none is seen.

    lists: for each term the rows that hold it, shortest list first: the likely winners.
    """
    short = [rows for rows in lists if len(rows) < limit]
    groups = [rows[-_LOOKED_AT:] for rows in lists if len(rows) >= limit][:_GROUPS]
    if short:
        groups.append(np.unique(np.concatenate(short)))
    return max(
        (_bound(scores, rows if allowed is None else rows[allowed[rows]], limit) for rows in groups), default=0.0
    )


def _bound(scores: Floats, rows: NDArray[np.int32], limit: int) -> float:
    """The `limit`th highest score of `rows`, each there once; 0 if they are fewer."""
    if len(rows) < limit:
        return 0.0
    return float(np.partition(scores[rows], len(rows) - limit)[len(rows) - limit])


def best(scores: Floats, bound: float, allowed: Mask | None, limit: int) -> Rows:
    """The `limit` allowed rows of the highest scores above 0, best first, of equals the later row first.

    bound: as `bound_of_best` gives it.
    """
    rows = np.flatnonzero(scores >= bound) if bound > 0 else np.flatnonzero(scores)
    if allowed is not None:
        rows = rows[allowed[rows]]
    if len(rows) > limit:
        cut = np.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
        above, equal = rows[scores[rows] > cut], rows[scores[rows] == cut]
        rows = np.concatenate((above, equal[len(equal) - (limit - len(above)) :]))
    return rows[np.lexsort((-rows, -scores[rows]))]
