"""Whether bytes that must be gone are anywhere in the files of a folder, in whole or in part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SLICE = 16
"""A part of this many bytes counts as a trace."""

_BLOCK = 8
"""Wherever a slice lies in a file, a block of this size lies in it that begins at a multiple of the size."""

Numbers = NDArray[np.uint64]


def traces(folder: Path, erased: Sequence[bytes]) -> list[str]:
    """Where in the files of `folder` (its models left out) any SLICE successive bytes of any of `erased` are."""
    windows = _Windows.of(erased)
    return [
        f"{path.relative_to(folder)} at {at}: {what!r}"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "models" not in path.relative_to(folder).parts
        for at, what in _places(path.read_bytes(), windows)
    ]


@dataclass(frozen=True, slots=True)
class _Windows:
    """Every run of _BLOCK bytes of the erased as a number, ascending, and where in all of them together it begins."""

    joined: bytes
    ends: NDArray[np.int64]
    numbers: Numbers
    places: NDArray[np.int64]

    @classmethod
    def of(cls, erased: Sequence[bytes]) -> "_Windows":
        assert all(len(whole) >= SLICE for whole in erased)
        joined = b"".join(erased)
        runs = np.lib.stride_tricks.sliding_window_view(np.frombuffer(joined, dtype=np.uint8), _BLOCK)
        numbers: Numbers = np.ascontiguousarray(runs).view("<u8").ravel()
        order = np.argsort(numbers, kind="stable")
        return cls(joined, np.cumsum([len(whole) for whole in erased]), numbers[order], order)

    def at(self, number: np.uint64) -> Iterator[tuple[bytes, int]]:
        """The erased that hold this block, and where in them."""
        first, last = (np.searchsorted(self.numbers, number, side) for side in ("left", "right"))
        for place in self.places[first:last]:
            which = int(np.searchsorted(self.ends, place, "right"))
            start, end = int(self.ends[which - 1]) if which else 0, int(self.ends[which])
            if place + _BLOCK <= end:
                yield self.joined[start:end], int(place) - start


def _places(content: bytes, windows: _Windows) -> Iterator[tuple[int, bytes]]:
    blocks: Numbers = np.frombuffer(content[: len(content) // _BLOCK * _BLOCK], dtype="<u8")
    nearest = np.searchsorted(windows.numbers, blocks).clip(max=len(windows.numbers) - 1)
    for place in np.flatnonzero(windows.numbers[nearest] == blocks):
        for whole, at in windows.at(blocks[place]):
            start, run = _common(content, int(place) * _BLOCK, whole, at)
            if run >= SLICE:
                yield start, content[start : start + run]


def _common(content: bytes, place: int, whole: bytes, at: int) -> tuple[int, int]:
    """Where the run around a shared block begins in `content`, and its length."""
    before = 0
    while before < min(place, at) and content[place - before - 1] == whole[at - before - 1]:
        before += 1
    after = _BLOCK
    while at + after < len(whole) and place + after < len(content) and content[place + after] == whole[at + after]:
        after += 1
    return place - before, before + after
