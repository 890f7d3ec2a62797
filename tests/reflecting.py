"""Reflections put into a vault below the services: memories of a tier, linked to what they were built from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from archivist.app import App
from archivist.domain.access import Principal
from archivist.domain.memories import Memory, digest_of
from archivist.search.entries import Entries
from archivist.search.keyword.sqlite_fts5 import SqliteFts5
from archivist.storage import heads, lineage
from tests.builders import NOON, a_memory

BATCH = "0193b000-0000-7000-8000-0000000000ba"


async def kept(
    app: App, who: Principal, number: int, text: str, *, sources: Sequence[Memory] = (), **changes: object
) -> Memory:
    """A memory in the vault of `who`, linked to each of `sources` in the version that is given."""
    db = await app.stores.vault(who.vault)
    standing = await heads.read(db, who.vault)
    digest = digest_of(standing.secret, text)
    memory = a_memory(number, vault=who.vault, text=text, digest=digest, **changes)
    links = [lineage.insert(who.vault, memory.id, one.id, one.version, BATCH) for one in sources]
    await db.apply([*Entries(SqliteFts5()).put(memory, standing.head, NOON), *links])
    return memory


@dataclass(frozen=True, slots=True)
class Tiers:
    """Four raw memories, a day apart; two made one reflection, two another; both of these made one of tier 3."""

    raw: Sequence[Memory]
    events: Sequence[Memory]
    top: Memory

    @property
    def everything(self) -> list[Memory]:
        return [*self.raw, *self.events, self.top]


async def three_tiers(app: App, who: Principal) -> Tiers:
    days = [NOON + timedelta(days=number) for number in range(4)]
    raw = [await kept(app, who, number, f"walrus fact {number}", event=day) for number, day in enumerate(days, 1)]
    events = [
        await kept(app, who, number, f"walrus event {number}", tier=2, importance=5, event=two[1].event, sources=two)
        for number, two in ((11, raw[:2]), (12, raw[2:]))
    ]
    top = await kept(app, who, 21, "walrus principle", tier=3, importance=9, event=days[3], sources=events)
    return Tiers(raw, events, top)
