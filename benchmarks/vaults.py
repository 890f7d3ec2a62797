"""Vaults to measure in: filled in large batches, searched through the search service as a client's call is."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from archivist.app import App, assemble
from archivist.domain.access import ALL_SCOPES, LOCAL_OWNER, Principal
from archivist.domain.ids import MemoryId, VaultId, uuid7
from archivist.domain.memories import Memory, count_tokens, digest_of, findable_text, title_of
from archivist.domain.times import utc_now
from archivist.embedders.embedder import Embedder
from archivist.embedders.none import NoEmbedder
from archivist.search.entries import Entries
from archivist.search.keyword.sqlite_fts5 import SqliteFts5
from archivist.search.vault_index import VaultIndex
from archivist.settings import Settings
from archivist.storage import heads
from archivist.storage.stores import Stores
from benchmarks.datasets import Item

How = Literal["fused", "keyword", "vectors"]
BATCH = 500


@dataclass(frozen=True, slots=True)
class Filled:
    """A vault, and by which key each of its memories is known to the data set."""

    vault: VaultId
    keys: dict[MemoryId, str]
    index: VaultIndex


_NOTHING = Settings(data=Path("nothing-is-kept-here"))
"""For services that are only searched with: they ask for no secret, so no file is made."""


@dataclass(frozen=True, slots=True)
class Vaults:
    """`fused` asks the search service, `keyword` the same without a model, `vectors` the index without words."""

    stores: Stores
    embedder: Embedder
    _with_model: App = field(init=False)
    _without: App = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_with_model", assemble(self.stores, self.embedder, utc_now, _NOTHING))
        object.__setattr__(self, "_without", assemble(self.stores, NoEmbedder(), utc_now, _NOTHING))

    async def filled(self, items: Sequence[Item]) -> Filled:
        """A new vault that holds `items` in their order; their texts may repeat."""
        vault, secret = VaultId(uuid7(utc_now())), secrets.token_bytes(32)
        await self.stores.create(vault)
        db = await self.stores.vault(vault)
        await db.apply([heads.make(vault, secret), heads.set_space(vault, self.embedder.space)])
        memories = [_memory(vault, secret, item) for item in items]
        # one at a time: in a batch the company of a text moves its vector a little, and so the third digit of a row
        vectors = [(await self.embedder.passages([findable_text(memory)]))[0] for memory in memories]
        entries, head = Entries(SqliteFts5()), (await heads.read(db, vault)).head
        for start in range(0, len(memories), BATCH):
            some = zip(memories[start : start + BATCH], vectors[start : start + BATCH], strict=True)
            batch = [
                write
                for memory, made in some
                for write in (
                    *entries.put(memory, head, memory.created),
                    *entries.meaning(memory, made, self.embedder.space),
                )
            ]
            await db.apply(batch)
        keys = {memory.id: item.key for memory, item in zip(memories, items, strict=True)}
        return Filled(vault, keys, VaultIndex(vault, self.embedder.space, SqliteFts5()))

    async def search(
        self, filled: Filled, query: str, limit: int, how: How = "fused", *, neighbours: bool = False
    ) -> list[str]:
        """The keys of what is found, best first."""
        if how == "vectors":
            db, vector = await self.stores.vault(filled.vault), await self.embedder.query(query)
            hits = await filled.index.search(db, query_text="", query_vector=vector, limit=limit)
            return [filled.keys[hit.id] for hit in hits]
        who = Principal(LOCAL_OWNER, filled.vault, ALL_SCOPES, "cli", "")
        app = self._with_model if how == "fused" else self._without
        found = await app.search.search(who, query=query, limit=limit, neighbours=neighbours)
        return [filled.keys[row.memory.id] for row in found.rows]


def _memory(vault: VaultId, secret: bytes, item: Item) -> Memory:
    now = utc_now()
    return Memory(
        id=MemoryId(uuid7(now)),
        vault=vault,
        text=item.text,
        title=title_of(item.text),
        tokens=count_tokens(item.text),
        digest=digest_of(secret, item.text),
        created=now,
        updated=now,
        event=item.at,
    )
