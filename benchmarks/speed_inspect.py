"""What looking behind a memory costs: processor time of the service, by how much stands below and above the memory."""

import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from archivist.app import App, assemble
from archivist.domain.ids import MemoryId, VaultId, uuid7
from archivist.domain.memories import Memory, count_tokens, digest_of, title_of
from archivist.domain.times import utc_now
from archivist.embedders.none import NoEmbedder
from archivist.search.entries import Entries
from archivist.search.keyword.sqlite_fts5 import SqliteFts5
from archivist.settings import Settings
from archivist.storage import heads, lineage
from archivist.storage.database import Database, Write
from archivist.storage.sqlite.stores import SqliteStores
from benchmarks.report import Row

SIZE = 100_000
MOST_CPU = 5.0
_EVENT, _TOP, _EACH = 150, 40, 5  # sources of a tier 2 and of a tier 3 reflection; reflections on each batch
_CALLS = 50
_BATCH = 10_000
_LAYERS = (
    (1, SIZE, 0),
    (2, SIZE // _EVENT * _EACH, _EVENT),
    (3, SIZE // _EVENT // _TOP * _EACH, _TOP),
)
"""The tiers: how many memories, and from how many of the tier below each of them is built."""

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_TEXT = "Fact {} of the harbour: the ferry to the island leaves at seven in winter and at six in summer."


async def rows(filled: Path) -> list[Row]:
    """Milliseconds, medians. filled: as `folder` gives it."""
    app = _app(filled)
    try:
        return [await _row(app, tier, what) for tier, what in ((1, "a raw memory"), (2, "tier 2"), (3, "tier 3"))]
    finally:
        await app.close()


async def _row(app: App, tier: int, what: str) -> Row:
    who = await app.local()
    found = (await app.search.by_date(who, start="2000-01-01", tiers=[tier], max_tokens=200_000)).rows
    id, spent = found[len(found) // 2].memory.id, []
    for _ in range(_CALLS):
        started = time.process_time()
        seen = await app.lineage.inspect(who, id)
        spent.append(1000 * (time.process_time() - started))
    values = {"sources": float(len(seen.sources)), "above": float(len(seen.above)), "cpu": median(spent)}
    return Row(f"inspect {what} among {SIZE:,}", values, most={"cpu": MOST_CPU})


def _app(folder: Path) -> App:
    return assemble(SqliteStores(folder), NoEmbedder(), utc_now, Settings(data=folder))


async def folder(bench: Path) -> Path:
    """A data folder with SIZE raw memories and the reflections on them, filled once and kept in `bench`."""
    final, part = bench / f"lineage-{SIZE}", bench / f"lineage-{SIZE}.part"
    if not final.exists():
        shutil.rmtree(part, ignore_errors=True)
        app = _app(part)
        who = await app.local()
        await _fill(await app.stores.vault(who.vault), who.vault)
        await app.close()
        part.rename(final)
    return final


async def _fill(db: Database, vault: VaultId) -> None:
    """Memories a minute apart, layer by layer; _EACH of them are built from the same ones below."""
    standing, entries, below = await heads.read(db, vault), Entries(SqliteFts5()), list[Memory]()
    for tier, count, size in _LAYERS:
        made = [_memory(vault, standing.secret, tier, number) for number in range(count)]
        for start in range(0, count, _BATCH):
            batch: list[Write] = []
            for number, memory in enumerate(made[start : start + _BATCH], start):
                sources = below[number // _EACH * size :][:size]
                links = [lineage.insert(vault, memory.id, one.id, 1, "batch") for one in sources]
                batch += [*entries.put(memory, standing.head, memory.created), *links]
            await db.apply(batch)
        below = made


def _memory(vault: VaultId, secret: bytes, tier: int, number: int) -> Memory:
    now = _BEGIN + timedelta(minutes=number)
    text = _TEXT.format(number) * tier
    return Memory(
        id=MemoryId(uuid7(now)),
        vault=vault,
        text=text,
        title=title_of(text),
        tokens=count_tokens(text),
        digest=digest_of(secret, text),
        created=now,
        updated=now,
        event=now,
        tier=tier,
        importance=None if tier == 1 else 5,
    )
