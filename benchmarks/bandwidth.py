"""How fast this machine reads memory right now: what the scan of a large vault is bounded by."""

import time
from statistics import median

import numpy as np

_BYTES = 256 * 1024 * 1024
_TRIES = 5


def gigabytes_per_second() -> float:
    """The median of a few sums over an array far larger than the caches, by one thread."""
    array = np.ones(_BYTES // 8, dtype=np.int64)
    took = []
    for _ in range(_TRIES):
        started = time.perf_counter()
        array.sum()
        took.append(time.perf_counter() - started)
    return _BYTES / median(took) / 1e9
