"""Why something is believed: what a reflection was built from, down to the raw memories, and what was built on it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from archivist.domain import budget
from archivist.domain.access import Principal
from archivist.domain.errors import InvalidArgument, NotFound
from archivist.domain.ids import MemoryId
from archivist.domain.limits import INSPECT_ABOVE, INSPECT_SOURCES, INSPECT_TOKENS
from archivist.domain.memories import Memory
from archivist.domain.operations import permit
from archivist.domain.queries import Ranked
from archivist.storage import lineage
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.lineage import Standing
from archivist.storage.stores import Stores

_ROOM = 2_000
"""So many tokens of sources there are always, however long the memory itself is."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """What a reflection was built from. edited: on an older text of it."""

    row: Ranked
    edited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A memory with what stands below and above it.

    sources: oldest first, those that are still here and fit into the answer; `truncated` if not all did. The counts
    are of all. first, last: the event times of the sources that are here; of a raw memory its own. Of a reflection
    without any source left only the end is known: its own event time.
    above: the reflections that were built from it, oldest first; `more_above` if not all are listed.
    """

    memory: Memory
    sources: Sequence[Source]
    sources_total: int
    sources_deleted: int
    sources_edited: int
    truncated: bool
    first: datetime | None
    last: datetime
    above: Sequence[Memory]
    more_above: bool


@dataclass(frozen=True, slots=True)
class Lineage:
    """The use case of looking behind a memory, one tier at a time."""

    stores: Stores

    async def inspect(self, who: Principal, id: str) -> Inspection:
        """A memory of this vault with its sources and with the reflections that it went into.

        Raises:
            InvalidArgument: not the form of an id.
            NotFound: no memory here has this id, whether or not there is one elsewhere.
        """
        permit(who, "inspect_memory")
        if _UUID.fullmatch(id) is None:
            raise InvalidArgument("memory_id", "must be a UUID, as search results and earlier inspections give it")
        db = await self.stores.vault(who.vault, writable=who.may_change)
        memory = await stored.find(db, who.vault, MemoryId(id.lower()))
        if memory is None:
            raise NotFound("no memory has this id; take one from a search result or an earlier inspection")
        standing = await lineage.standing(db, who.vault, memory.id)
        sources = await _sources(db, memory, standing.here[:INSPECT_SOURCES])
        above = await lineage.reflections_on(db, who.vault, memory.id)
        first, last = _span(memory, standing)
        return Inspection(
            memory=memory,
            sources=sources,
            sources_total=standing.total,
            sources_deleted=standing.total - len(standing.here),
            sources_edited=sum(source.edited for source in standing.here),
            truncated=len(sources) < len(standing.here),
            first=first,
            last=last,
            above=list((await stored.find_many(db, who.vault, above[:INSPECT_ABOVE])).values()),
            more_above=len(above) > INSPECT_ABOVE,
        )


async def _sources(db: Database, memory: Memory, listed: Sequence[lineage.Source]) -> list[Source]:
    """Those of `listed` that fit beside the memory itself."""
    room = max(INSPECT_TOKENS - budget.cost_of(memory), _ROOM)
    before = accumulate((source.tokens for source in listed), initial=0)
    near = [source for source, cost in zip(listed, before, strict=False) if cost < room]
    found = await stored.find_many(db, memory.vault, [source.id for source in near])
    edited = {source.id for source in near if source.edited}
    fitting = budget.fit([Ranked(one, None) for one in found.values()], room)
    return [Source(one, one.memory.id in edited) for one in fitting]


def _span(memory: Memory, standing: Standing) -> tuple[datetime | None, datetime]:
    if memory.tier == 1:
        return memory.event, memory.event
    if not standing.here:
        return None, memory.event
    return standing.here[0].event, standing.here[-1].event
