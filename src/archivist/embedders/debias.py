"""Taking out of a vector what tells its language rather than its meaning.

The model prefers memories in the language of the question. The directions in which its languages differ were found
from parallel sentences (`tools/debias.py`), and are projected out of everything it makes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archivist.embedders.embedder import Floats

VERSION = "debias-1"
"""Part of the space's name: another matrix is another space."""

FILE = Path(__file__).with_name(f"{VERSION}.npz")


@dataclass(frozen=True, slots=True)
class Debias:
    """mean: (d,), of all sentences in all languages. directions: (d, r), orthonormal columns."""

    mean: Floats
    directions: Floats

    def apply(self, vectors: Floats) -> Floats:
        """`vectors`: (n, d). Returns unit rows."""
        centred = vectors - self.mean
        return unit(centred - (centred @ self.directions) @ self.directions.T)


def load(path: Path = FILE) -> Debias:
    with np.load(path, allow_pickle=False) as arrays:
        return Debias(arrays["mean"], arrays["directions"])


def unit(vectors: NDArray[np.floating[Any]]) -> Floats:
    """Each row divided by its length, which must not be 0. (n, d) or (d,)."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)
