"""The vectors of the last queries, so that asking again costs nothing."""

import hashlib
from collections import OrderedDict

from archivist.embedders.embedder import Floats

CAPACITY = 1_000


class RecentQueries:
    """Keeps the CAPACITY queries used last. Their text is not kept, only its hash."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._vectors: OrderedDict[bytes, Floats] = OrderedDict()

    def get(self, text: str) -> Floats | None:
        key = _key(text)
        if key in self._vectors:
            self._vectors.move_to_end(key)
        return self._vectors.get(key)

    def put(self, text: str, vector: Floats) -> None:
        """`vector` becomes read-only: every later caller gets this same array."""
        vector.setflags(write=False)
        self._vectors[_key(text)] = vector
        if len(self._vectors) > self._capacity:
            self._vectors.popitem(last=False)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
