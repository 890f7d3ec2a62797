"""What a search is made of: processor time by stage, measured in this process over the services alone."""

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import iscoroutinefunction
from pathlib import Path
from statistics import median
from typing import Any

from archivist.app import assemble
from archivist.domain.times import utc_now
from archivist.embedders.embedder import Embedder
from archivist.search.keyword.postings import Postings
from archivist.search.vault_index import VaultIndex
from archivist.search.vector.exact import Matrix
from archivist.services.search import Search
from archivist.settings import Settings
from archivist.storage import memories as stored
from archivist.storage.sqlite.stores import SqliteStores

_STAGES: Sequence[tuple[Any, str, str]] = (
    (Search, "search", "services"),
    (VaultIndex, "search", "index"),
    (VaultIndex, "_nearest", "vectors"),
    (Matrix, "cosines", "vectors"),
    (Postings, "search", "keywords"),
    (stored, "find_many", "rows"),
)
"""Where a stage is carried out. `services` holds all others, `index` those that are no rows."""


async def shares(data: Path, queries: Sequence[str], warm: int, embedder: Embedder) -> dict[str, float]:
    """Milliseconds of processor time that a search takes in each stage: medians over `queries[warm:]`.

    embedder: knows every query already, so that asking it costs nothing.
    """
    stores = SqliteStores(data)
    app = assemble(stores, embedder, utc_now, Settings(data=data))
    who = await app.local()
    spent: list[dict[str, float]] = []
    try:
        with _watched() as clock:
            for query in queries:
                clock.clear()
                await app.search.search(who, query=query)
                spent.append(dict(clock))
    finally:
        await stores.close()
    return _by_stage(spent[warm:])


def _by_stage(spent: Sequence[dict[str, float]]) -> dict[str, float]:
    def milliseconds(of: Callable[[dict[str, float]], float]) -> float:
        return 1000 * median(of(one) for one in spent)

    return {
        "vectors": milliseconds(lambda one: one["vectors"]),
        "keywords": milliseconds(lambda one: one["keywords"]),
        "fusion": milliseconds(lambda one: one["index"] - one["vectors"] - one["keywords"]),
        "rows": milliseconds(lambda one: one["services"] - one["index"]),
        "services": milliseconds(lambda one: one["services"]),
    }


@contextmanager
def _watched() -> Iterator[dict[str, float]]:
    """While it lasts, every stage adds the processor time that it takes, of all threads, to the clock it gives."""
    clock: dict[str, float] = {}
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in _STAGES]
    for owner, name, stage in _STAGES:
        setattr(owner, name, _timed(getattr(owner, name), clock, stage))
    try:
        yield clock
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)


def _timed(function: Callable[..., Any], clock: dict[str, float], stage: str) -> Callable[..., Any]:
    def add(started: float) -> None:
        clock[stage] = clock.get(stage, 0.0) + time.process_time() - started

    @functools.wraps(function)
    async def later(*given: Any, **named: Any) -> Any:
        started = time.process_time()
        try:
            return await function(*given, **named)
        finally:
            add(started)

    @functools.wraps(function)
    def at_once(*given: Any, **named: Any) -> Any:
        started = time.process_time()
        try:
            return function(*given, **named)
        finally:
            add(started)

    return later if iscoroutinefunction(function) else at_once
