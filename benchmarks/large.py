"""Vaults of any size, filled below the embedder: real turns with some words exchanged, real vectors with some noise.

A filled folder is kept, so that the next run does not fill it again.
"""

import random
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np

from archivist.app import OWNER, App, assemble
from archivist.domain.ids import MemoryId, uuid7
from archivist.domain.memories import Memory, new_memory
from archivist.domain.times import utc_now
from archivist.embedders.embedder import Embedder, Floats
from archivist.embedders.none import NoEmbedder
from archivist.search.entries import Entries
from archivist.search.keyword.sqlite_fts5 import SqliteFts5
from archivist.settings import Settings
from archivist.storage import heads
from archivist.storage.database import Database
from archivist.storage.sqlite.stores import SqliteStores
from benchmarks.datasets import Item

EMPTY = "Empty"
"""A second vault of every folder, without memories."""

_BATCH = 10_000
_EXCHANGED = 0.25  # of the words of a text
_NOISE = 0.35  # length of what is added to a unit vector
_SPREAD = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Source:
    """What large vaults are made from: texts and their vectors, (n, d), of `space`."""

    texts: Sequence[str]
    vectors: Floats
    space: str


async def source(turns: Sequence[Item], embedder: Embedder) -> Source:
    """Short turns only: those that are one vector."""
    texts = [turn.text for turn in turns]
    made = [(text, rows[0]) for text, rows in zip(texts, await embedder.passages(texts), strict=True) if len(rows) == 1]
    return Source([text for text, _ in made], np.stack([vector for _, vector in made]), embedder.space)


async def folder_of(size: int, made_from: Source, bench: Path) -> Path:
    """A data folder whose personal vault holds `size` memories."""
    final, part = bench / f"vault-{size}", bench / f"vault-{size}.part"
    if final.exists():
        return final
    shutil.rmtree(part, ignore_errors=True)
    stores = SqliteStores(part)
    try:
        await _fill(assemble(stores, NoEmbedder(), utc_now, Settings(data=part)), size, made_from)
    finally:
        await stores.close()
    part.rename(final)
    return final


async def _fill(app: App, size: int, made_from: Source) -> None:
    vault = await app.vaults.personal(OWNER)
    await app.vaults.create(OWNER, EMPTY, "personal")
    db = await app.stores.vault(vault.id)
    await db.apply([heads.set_space(vault.id, made_from.space)])
    secret = (await heads.read(db, vault.id)).secret
    perturbed = _perturbed(made_from)
    for start in range(0, size, _BATCH):
        some = [next(perturbed) for _ in range(min(_BATCH, size - start))]
        now = utc_now() - _SPREAD * (1 - start / size)
        memories = [new_memory(MemoryId(uuid7(now)), vault.id, secret, now, text=text) for text, _ in some]
        await _keep(db, memories, np.stack([vector for _, vector in some]), made_from.space)
        if sys.stderr.isatty():
            print(f"\rfilling {start + len(some):,} of {size:,}", end="", file=sys.stderr, flush=True)


async def _keep(db: Database, memories: Sequence[Memory], vectors: Floats, space: str) -> None:
    entries = Entries(SqliteFts5())
    vault = memories[0].vault
    head = (await heads.read(db, vault)).head
    await db.apply(
        [
            write
            for memory, vector in zip(memories, vectors, strict=True)
            for write in (*entries.put(memory, head, memory.created), *entries.meaning(memory, vector[None, :], space))
        ]
    )


def _perturbed(made_from: Source) -> Iterator[tuple[str, Floats]]:
    """Texts, all different, and unit vectors, without end; the same ones every time."""
    dice, noise = random.Random(1), np.random.default_rng(1)
    words = [word for text in made_from.texts for word in text.split()]
    seen: set[str] = set()
    while True:
        chosen = dice.randrange(len(made_from.texts))
        told = made_from.texts[chosen].split(" ")
        text = " ".join(dice.choice(words) if dice.random() < _EXCHANGED else word for word in told)
        if text in seen:
            continue
        seen.add(text)
        vector = made_from.vectors[chosen]
        added = noise.standard_normal(len(vector), dtype=np.float32)
        moved = vector + added * (_NOISE / np.linalg.norm(added))
        yield text, (moved / np.linalg.norm(moved)).astype(np.float32)
