"""Vectors as they are stored: one signed byte per dimension and one scale per vector."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]

_TOP = 127


def quantised(vectors: Floats) -> tuple[Floats, Bytes]:
    """vectors: (n, d). Returns scales (n,) and data (n, d) with vectors ≈ scales[:, None] * data.

    The error of a component is at most half its vector's scale; a zero vector has the scale 0.
    """
    scales = (np.abs(vectors).max(axis=1, initial=0) / _TOP).astype(np.float32)
    steps = np.where(scales > 0, scales, 1)[:, None]
    return scales, np.rint(vectors / steps).astype(np.int8)


def restore(scales: Floats, data: Bytes) -> Floats:
    """The vectors, (n, d), that `quantised` was given, as nearly as they are kept."""
    vectors: Floats = data.astype(np.float32) * scales[:, None]
    return vectors
