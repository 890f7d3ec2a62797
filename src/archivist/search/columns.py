"""Arrays that grow at the end: room is doubled less often than it is used."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_GROWTH = 1.5
_LEAST = 64


class Column:
    """One growing array of rows. `values` is a view of the filled part; growth leaves an older view as it was."""

    def __init__(self, dtype: DTypeLike, *width: int) -> None:
        self._room: NDArray[Any] = np.empty((0, *width), dtype=dtype)
        self._filled = 0

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._filled]

    @property
    def nbytes(self) -> int:
        """Of the filled part: room that was never written takes no memory."""
        return self.values.nbytes

    def reserve(self, rows: int) -> None:
        """Make room for `rows` in all."""
        if rows > len(self._room):
            grown = np.empty((rows, *self._room.shape[1:]), dtype=self._room.dtype)
            grown[: self._filled] = self.values
            self._room = grown

    def append(self, rows: NDArray[Any]) -> None:
        filled = self._filled + len(rows)
        if filled > len(self._room):
            self.reserve(max(_LEAST, int(len(self._room) * _GROWTH), filled))
        self._room[self._filled : filled] = rows
        self._filled = filled

    def keep(self, rows: NDArray[Any]) -> None:
        """Keep only `rows`: a mask, or row numbers in ascending order."""
        kept = self.values[rows]
        self._room, self._filled = kept, len(kept)
