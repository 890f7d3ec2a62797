"""Keeping a memory, and the latest ones."""

import asyncio
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from archivist.domain import memories as rules
from archivist.domain.access import Principal, Scope
from archivist.domain.audit import entry
from archivist.domain.errors import Conflict, EmbedderUnavailable
from archivist.domain.ids import MemoryId
from archivist.domain.memories import Memory
from archivist.domain.operations import permit
from archivist.embedders.embedder import Embedder, Floats
from archivist.search.entries import Entries
from archivist.storage import audit, heads
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.stores import Stores


@dataclass(frozen=True, slots=True)
class Stored:
    """What a caller learns of a store. `receipt` proves it, and is no id: nothing can be deleted with it.

    A caller that may not read does not learn whether the text was there before: `duplicate` is False then.
    """

    receipt: str
    created: datetime
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Memories:
    """The memory use cases. `now` and `new_id` are given, so that tests decide them."""

    stores: Stores
    embedder: Embedder
    entries: Entries
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    vectors_wanted: Callable[[Principal], None]
    """Told when a memory was stored without its vectors."""

    async def store(self, who: Principal, *, text: str, tags: Sequence[str] = (), source_context: str = "") -> Stored:
        """The receipt of a memory that is on disk. An exact repeat of a text answers with the first one.

        Raises:
            InvalidArgument: a field is outside its range.
        """
        permit(who, "store_memory")
        db = await self.stores.vault(who.vault)
        standing = await heads.read(db, who.vault)
        id, now = MemoryId(self.new_id()), self.now()
        memory = rules.new_memory(
            id, who.vault, standing.secret, now, text=text, tags=tags, source_context=source_context
        )
        if first := await stored.by_repeat(db, who.vault, memory.digest):
            return _answer(who, standing.secret, first, memory)
        wanted = standing.space in ("", self.embedder.space)  # else another process makes them, in its space
        async with asyncio.TaskGroup() as group:
            making = group.create_task(self._vectors(memory, wanted=wanted))
            await asyncio.sleep(0)  # lets the embedder begin: its thread and this one work side by side
            kept = self.entries.put(memory, standing.head, now)
        vectors = making.result()
        batch = [
            *kept,
            *self.entries.meaning(memory, vectors, self.embedder.space),
            audit.insert(entry(who, self.new_id(), now, "store_memory", target=id)),
        ]
        try:
            await db.apply(batch)
        except Conflict:  # a twin of this request was faster, or the conflict is real
            if first := await stored.by_repeat(db, who.vault, memory.digest):
                return _answer(who, standing.secret, first, memory)
            raise
        if vectors is None:
            self.vectors_wanted(who)
        return _answer(who, standing.secret, memory, memory)

    async def recent(self, who: Principal, limit: int) -> Sequence[Memory]:
        """The newest memories of all tiers, newest first; archived ones are left out."""
        permit(who, "memory://vault/recent")
        return await stored.recent(await self._reading(who), who.vault, limit)

    async def _reading(self, who: Principal) -> Database:
        return await self.stores.vault(who.vault, writable=who.may_change)

    async def _vectors(self, memory: Memory, *, wanted: bool) -> Floats | None:
        """None if the embedder cannot answer now: the memory is kept anyway, and gets its vectors later."""
        if not wanted:
            return None
        try:
            return (await self.embedder.passages([rules.findable_text(memory)]))[0]
        except EmbedderUnavailable:
            return None


def _answer(who: Principal, secret: bytes, kept: Memory, asked: Memory) -> Stored:
    """What is said must not tell a caller without read what was there before."""
    shown = kept if Scope.READ in who.scopes else asked
    mark = hmac.new(secret, b"receipt:" + shown.id.encode(), "sha256").hexdigest()
    return Stored(f"receipt-{mark[:32]}", shown.created, shown is not asked)
