"""Taking everything out of a vault, and putting it into one."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from archivist.domain.access import Principal
from archivist.domain.audit import entry
from archivist.domain.errors import Conflict, Unavailable
from archivist.domain.memories import Memory
from archivist.domain.operations import permit
from archivist.search.entries import Entries
from archivist.storage import audit, heads, lineage, tombstones
from archivist.storage import memories as stored
from archivist.storage.database import Database, Write
from archivist.storage.stores import Stores
from archivist.transfer import jsonl

PAGE = 500
BATCH = 100
TRIES = 3

Line = tuple[Memory, Sequence[jsonl.Source]]


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the lines. already: the same id or text was here. deleted: it was deleted here, and stays so."""

    stored: int = 0
    already: int = 0
    deleted: int = 0

    def __add__(self, other: "Imported") -> "Imported":
        return Imported(self.stored + other.stored, self.already + other.already, self.deleted + other.deleted)


@dataclass(frozen=True, slots=True)
class Transfer:
    """The export and import use cases."""

    stores: Stores
    entries: Entries
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    vectors_wanted: Callable[[Principal], None]

    async def export(self, who: Principal) -> AsyncIterator[bytes]:
        """The vault as JSON lines, oldest id first: the same vault gives the same bytes."""
        permit(who, "export")
        control = await self.stores.control()
        await control.apply([audit.insert(entry(who, self.new_id(), self.now(), "export"))])
        db = await self.stores.vault(who.vault, writable=who.may_change)
        after = None
        while page := await stored.page(db, who.vault, after, PAGE):
            built_from = await lineage.sources(db, who.vault, [memory.id for memory in page])
            for memory in page:
                links = built_from.get(memory.id, ())
                yield jsonl.dump(memory, [jsonl.Source(link.child, link.child_version, link.batch) for link in links])
            after = page[-1].id

    async def load(
        self, who: Principal, lines: Iterable[bytes], progress: Callable[[Imported], None] = lambda _so_far: None
    ) -> Imported:
        """Put exported lines in. They are found by words at once; vectors follow.

        Every batch of lines lands whole or not at all, so an import that was cut off can be run again.

        Raises:
            InvalidArgument: a line is wrong; it names the line and the field. The batches before it are stored.
        """
        permit(who, "import")
        db = await self.stores.vault(who.vault)
        secret = (await heads.read(db, who.vault)).secret
        numbered = enumerate(lines, start=1)
        total = Imported()
        while chunk := list(islice(numbered, BATCH)):
            read = [jsonl.load(line, number, who.vault, secret) for number, line in chunk if line.strip()]
            total += await self._store(db, who, read)
            progress(total)
            self.vectors_wanted(who)
        return total

    async def _store(self, db: Database, who: Principal, lines: Sequence[Line]) -> Imported:
        for _ in range(TRIES):
            fresh, result = await _sorted_out(db, who, lines)
            if not fresh:
                return result
            try:
                await db.apply(await self._batch(db, who, fresh))
            except Conflict:  # somebody stored one of these meanwhile: look again
                continue
            return result
        raise Unavailable("others write the same memories at the same time; run the import again")

    async def _batch(self, db: Database, who: Principal, fresh: Sequence[Line]) -> list[Write]:
        head, now = (await heads.read(db, who.vault)).head, self.now()
        batch: list[Write] = []
        for memory, sources in fresh:
            batch += [*self.entries.put(memory, head, now), *self.entries.meaning(memory, None, "")]
            batch += [lineage.insert(who.vault, memory.id, s.id, s.version, s.batch) for s in sources]
        act = entry(who, self.new_id(), now, "import", count=len(fresh))
        return [*batch, audit.insert(act)]


async def _sorted_out(db: Database, who: Principal, lines: Sequence[Line]) -> tuple[list[Line], Imported]:
    """The lines that are new here, and the counts that hold once these are stored."""
    ids, digests = [memory.id for memory, _ in lines], [memory.digest for memory, _ in lines]
    here = set(await stored.existing(db, who.vault, ids))
    texts = set(await stored.repeats(db, who.vault, digests))
    dead = await tombstones.among(db, who.vault, ids, digests)
    fresh: list[Line] = []
    already = deleted = 0
    for memory, sources in lines:
        if memory.id in dead or memory.digest in dead:
            deleted += 1
        elif memory.id in here or (memory.unique_text and memory.digest in texts):
            already += 1
        else:
            here.add(memory.id)
            if memory.unique_text:
                texts.add(memory.digest)
            fresh.append((memory, sources))
    return fresh, Imported(len(fresh), already, deleted)
