"""How well a ranking answers: pure arithmetic over ranked keys and the set of keys that are right."""

import math
from collections.abc import Collection, Hashable, Sequence


def recall_at(ranked: Sequence[Hashable], right: Collection[Hashable], depth: int) -> float:
    """The share of `right` among the first `depth`, 0..1. `right` is not empty."""
    return sum(key in right for key in ranked[:depth]) / len(right)


def ndcg(ranked: Sequence[Hashable], right: Collection[Hashable], depth: int) -> float:
    """Normalised discounted cumulative gain with gains of 0 and 1, 0..1 (Järvelin and Kekäläinen, TOIS 2002)."""
    gained = sum(1 / math.log2(place + 2) for place, key in enumerate(ranked[:depth]) if key in right)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(depth, len(right))))


def reciprocal_rank(ranked: Sequence[Hashable], right: Collection[Hashable]) -> float:
    """1 / the rank of the first right key, counted from 1; 0 if there is none."""
    return next((1 / place for place, key in enumerate(ranked, start=1) if key in right), 0.0)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
