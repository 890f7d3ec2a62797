"""How meaning and words become one order: pure arithmetic over the candidates of both."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archivist.domain.ids import MemoryId

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

COVERAGE_WEIGHT = 0.5
"""A memory that holds every word of the query is worth half a cosine of 1. Flat between 0.4 and 0.7."""

NEIGHBOUR_WEIGHT = 0.2
"""What each of the two turns beside it adds to a turn of a dialogue."""

CANDIDATES = 100
"""So many at least of the best by meaning, and of the best by words, are fused."""

_MIDDLE = 0.5
_STEEPNESS = 6.0


@dataclass(frozen=True, slots=True)
class Hit:
    """score: 0..1, see `reported`. cosine: centred, -1..1, NaN without a vector. coverage: of the words, 0..1."""

    id: MemoryId
    score: float
    cosine: float
    coverage: float


def fused(cosines: Floats | None, coverages: Floats | None) -> Floats:
    """cosine + 0.5 · coverage; where only one of the two could be asked, that one alone. Arrays are (n,).

    A memory that still waits for its vector (NaN) is judged by its words: as near as the nearest one here if it holds
    every word of the query, and its share of that otherwise. With 0 in its place, a text asked for word by word would
    rank below everything that merely resembles it.
    """
    if cosines is None:
        if coverages is None:
            raise ValueError("neither cosines nor coverages")
        return coverages
    words = np.zeros_like(cosines) if coverages is None else coverages
    waiting = np.isnan(cosines)
    nearest = np.max(cosines, initial=0, where=~waiting)
    scores: Floats = np.where(waiting, nearest * words, cosines) + np.float32(COVERAGE_WEIGHT) * words
    return scores


def smoothed(scores: Floats) -> Floats:
    """Scores of an ordered sequence, (n,), each with a share of the scores just before and just after it."""
    sums = scores.copy()
    sums[1:] += np.float32(NEIGHBOUR_WEIGHT) * scores[:-1]
    sums[:-1] += np.float32(NEIGHBOUR_WEIGHT) * scores[1:]
    return sums


def ranking(rows: Rows, scores: Floats, allowed: Mask | None) -> Rows:
    """The places of all allowed rows, best first; of equals the later row, which is the newer memory, first.

    allowed: by row number; None for all.
    """
    order = np.lexsort((-rows, -scores))
    return order if allowed is None else order[allowed[rows[order]]]


def reported(score: float) -> float:
    """A fused score as shown to people: strictly increasing, in (0, 1).

    0.5 stands for a fused score of 0.5, above which a memory is more likely relevant than not.
    """
    return float(1 / (1 + np.exp(-_STEEPNESS * (score - _MIDDLE))))
