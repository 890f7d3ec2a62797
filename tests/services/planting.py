"""Memories that are put into a vault as they are: of any tier, at any event time, built on any others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from archivist.app import App
from archivist.domain.access import Principal
from archivist.domain.ids import MemoryId
from archivist.domain.memories import Memory, findable_text
from archivist.storage import heads, lineage

AT_ONCE = 500


async def plant(
    app: App,
    who: Principal,
    memories: Sequence[Memory],
    *,
    sources: Mapping[MemoryId, Sequence[MemoryId]] | None = None,
    meaning: bool = False,
) -> None:
    """Keep `memories` in the vault of `who`. sources: what reflections are built on. meaning: with vectors."""
    entries, space = app.memories.entries, app.embedder.space
    db = await app.stores.vault(who.vault)
    rest = iter(memories)
    while some := [replace(memory, vault=who.vault) for memory in islice(rest, AT_ONCE)]:
        head = (await heads.read(db, who.vault)).head
        vectors = await app.embedder.passages([findable_text(one) for one in some]) if meaning else [None] * len(some)
        batch = []
        for memory, made in zip(some, vectors, strict=True):
            batch += entries.put(memory, head, memory.created)
            batch += entries.meaning(memory, made, space) if meaning else []
            below = (sources or {}).get(memory.id, ())
            batch += [lineage.insert(who.vault, memory.id, source, 1, "a batch") for source in below]
        await db.apply(batch)
