"""Whether the vector matrix finds the same ten as float arithmetic, on real vectors, with and without filters."""

from collections.abc import Sequence

import numpy as np

from archivist.embedders.embedder import Embedder
from archivist.search.vector import exact
from archivist.search.vector.exact import SHRINKAGE, Matrix
from archivist.search.vector.quantised import Floats, quantised
from benchmarks.datasets import Conversation
from benchmarks.metrics import mean
from benchmarks.report import Row

DEPTH = 10
SHARES = {"all": 1.0, "half": 0.5, "1 %": 0.01}
"""How many memories a filter leaves."""

COPIES = 100_000
"""Vectors in the large vault: mixed and blurred copies of the real ones."""


async def rows(conversations: Sequence[Conversation], embedder: Embedder) -> list[Row]:
    """recall@10 in percent, by the share that a filter leaves."""
    texts = list(dict.fromkeys(turn.text for conversation in conversations for turn in conversation.turns))
    vectors = np.concatenate(await embedder.passages(texts))
    asked = [question.text for conversation in conversations for question in conversation.questions]
    queries = np.stack([await embedder.query(text) for text in asked])
    large = _copies(vectors, COPIES)
    return [
        Row(f"vector recall@10, {len(vectors)} vectors", _recalls(vectors, queries[::4]), dict.fromkeys(SHARES, 99)),
        Row(f"vector recall@10, {len(large)} vectors, sifted", _recalls(large, queries[::24])),
    ]


def _recalls(vectors: Floats, queries: Floats) -> dict[str, float]:
    matrix = Matrix(vectors.shape[1])
    for start in range(0, len(vectors), exact.BLOCK):
        block = vectors[start : start + exact.BLOCK]
        matrix.append(np.arange(start, start + len(block)), *quantised(block))
    matrix.recentre()
    centre = vectors.sum(axis=0) / (len(vectors) + SHRINKAGE)
    true = _unit(vectors - centre)
    dice = np.random.default_rng(1)
    found = {}
    for name, share in SHARES.items():
        allowed = None if share == 1 else dice.random(len(vectors)) < share
        found[name] = 100 * mean([_recall(matrix, true, centre, query, allowed) for query in queries])
    return found


def _recall(matrix: Matrix, true: Floats, centre: Floats, query: Floats, allowed: exact.Mask | None) -> float:
    scores = true @ _unit(query - centre)
    if allowed is not None:
        scores[~allowed] = -np.inf
    nearest = np.argpartition(-scores, DEPTH)[:DEPTH]
    return float(np.isin(nearest, matrix.nearest(query, 100, allowed)[0][:DEPTH]).mean())


def _copies(vectors: Floats, count: int) -> Floats:
    dice = np.random.default_rng(2)
    one, other = (vectors[dice.integers(0, len(vectors), count - len(vectors))] for _ in range(2))
    blurred = 0.7 * one + 0.3 * other + 0.02 * dice.standard_normal(one.shape, dtype=np.float32)
    return np.concatenate([vectors, _unit(blurred)])


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)
