"""Remembers the vectors of benchmark texts on disk, so that a second run takes seconds."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from archivist.embedders.embedder import Embedder, Floats, State


class RememberedEmbedder:
    """`embedder`, asked once for each text; `save` keeps its answers in `folder`, by space."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self._path = folder / f"vectors-{hashlib.sha256(embedder.space.encode()).hexdigest()[:12]}.npz"
        self._known: dict[str, Floats] = {}
        if self._path.exists():
            with np.load(self._path) as arrays:
                self._known = {key: arrays[key] for key in arrays.files}

    @property
    def space(self) -> str:
        return self._embedder.space

    @property
    def state(self) -> State:
        return self._embedder.state

    @property
    def reason(self) -> str:
        return self._embedder.reason

    async def passages(self, texts: Sequence[str]) -> Sequence[Floats]:
        missing = [text for text in dict.fromkeys(texts) if _key("passage", text) not in self._known]
        for text, vectors in zip(missing, await self._embedder.passages(missing), strict=True):
            self._known[_key("passage", text)] = vectors
        return [self._known[_key("passage", text)] for text in texts]

    async def query(self, text: str) -> Floats:
        key = _key("query", text)
        if key not in self._known:
            self._known[key] = await self._embedder.query(text)
        return self._known[key]

    async def start(self) -> None:
        await self._embedder.start()

    async def settle(self) -> None:
        await self._embedder.settle()

    async def close(self) -> None:
        await self._embedder.close()

    def save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(self._path, **self._known)  # type: ignore[arg-type]  # the stub takes the names for options


def _key(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind}\n{text}".encode()).hexdigest()
