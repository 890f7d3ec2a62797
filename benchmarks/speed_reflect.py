"""What reflecting and forgetting cost in a large vault: processor time of the services, without embedding."""

import shutil
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from archivist.app import App, assemble
from archivist.domain.access import Principal
from archivist.domain.times import utc_now
from archivist.embedders.none import NoEmbedder
from archivist.services.deletion import DELETE_ALL
from archivist.settings import Settings
from archivist.storage.sqlite.stores import SqliteStores
from benchmarks.report import Row
from benchmarks.speed_inspect import SIZE

MOST_CPU = 50.0
MOST_SECONDS = 10.0
_BATCHES = 12
_ENTRIES = [{"text": f"Ana decided something of weight, number {number}.", "importance": 5} for number in range(5)]


async def rows(filled: Path, bench: Path) -> list[Row]:
    """filled: a data folder with SIZE raw memories; it is copied, and stays as it is."""
    with TemporaryDirectory(dir=bench) as place:
        folder = Path(place) / "data"
        shutil.copytree(filled, folder)
        app = assemble(
            SqliteStores(folder), NoEmbedder(), utc_now, Settings(data=folder), mirror=SqliteStores(folder / "mirror")
        )
        try:
            who = await app.local()
            return [await _reflecting(app, who), await _copying(app, who), await _forgetting(app, who)]
        finally:
            await app.close()


async def _reflecting(app: App, who: Principal) -> Row:
    """Full batches one after the other; the first is not counted."""
    out, back, sizes = [], [], []
    for _ in range(_BATCHES):
        started = time.process_time()
        taken = await app.reflections.checkout(who, tier=1)
        between = time.process_time()
        if taken.batch is None:
            raise RuntimeError("nothing is left to reflect on")
        await app.reflections.commit(who, taken.batch.id, _ENTRIES)
        out.append(1000 * (between - started))
        back.append(1000 * (time.process_time() - between))
        sizes.append(len(taken.memories))
    both = median(one + other for one, other in zip(out[1:], back[1:], strict=True))
    values = {"memories": median(sizes), "checkout": median(out[1:]), "commit": median(back[1:]), "cpu": both}
    return Row(f"a batch of {SIZE:,}", values, most={"cpu": MOST_CPU})


async def _copying(app: App, who: Principal) -> Row:
    started = time.perf_counter()
    await app.mirror.follow(who.vault)
    seconds = time.perf_counter() - started
    return Row(f"mirror {SIZE:,} anew", {"seconds": seconds, "a second": SIZE / seconds})


async def _forgetting(app: App, who: Principal) -> Row:
    started = time.perf_counter()
    done = await app.deletion.forget_all(who, DELETE_ALL)
    values = {"memories": float(done.memories), "seconds": time.perf_counter() - started}
    return Row(f"forget {SIZE:,}", values, most={"seconds": MOST_SECONDS})
