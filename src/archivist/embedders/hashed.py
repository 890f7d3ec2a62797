"""A stand-in without a model: texts are alike as far as they share words. For tests that are not about meaning."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from archivist.domain.errors import EmbedderUnavailable
from archivist.embedders.debias import unit
from archivist.embedders.embedder import Floats, State
from archivist.embedders.windows import both_ends, stretches

DIMENSION = 384
_WORD = re.compile(r"[\u3040-\u9fff]|\w+|[^\w\s]")


class HashedEmbedder:
    """Each word (a CJK character, a symbol) adds 1 or -1 in one of the dimensions, as its hash says."""

    def __init__(self) -> None:
        self._status: tuple[State, str] = "preparing", "the stand-in has not been started"

    @property
    def space(self) -> str:
        return "hashed/384"

    @property
    def state(self) -> State:
        return self._status[0]

    @property
    def reason(self) -> str:
        return self._status[1]

    async def passages(self, texts: Sequence[str]) -> Sequence[Floats]:
        self._require_ready()
        return [np.stack([_vector(window) for window in stretches(text)]) for text in texts]

    async def query(self, text: str) -> Floats:
        self._require_ready()
        return unit(np.sum([_vector(window) for window in both_ends(text)], axis=0))

    async def start(self) -> None:
        self._status = "ready", "a stand-in that compares words; for tests"

    async def settle(self) -> None: ...

    async def close(self) -> None:
        self._status = "failed", "the stand-in has been stopped"

    def _require_ready(self) -> None:
        if self.state != "ready":
            raise EmbedderUnavailable(self.reason)


def _vector(text: str) -> Floats:
    """The first dimension is kept for a mark that every text has, so that no vector is zero."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[0] = 0.1
    for word in _WORD.findall(text.casefold()):
        number = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=4).digest())
        vector[1 + number % (DIMENSION - 1)] += 1 if number >> 31 else -1
    return unit(vector)
