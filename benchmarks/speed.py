"""How fast it is: searching by size of the vault, storing, the protocol alone, starting. Each beside its bound."""

import sys
from functools import partial
from pathlib import Path

from archivist.embedders.builtin import BuiltinEmbedder
from benchmarks import datasets, large, speed_search, speed_status, speed_stdio, speed_store
from benchmarks.embeddings import RememberedEmbedder
from benchmarks.large import Source
from benchmarks.report import Row

ROOT = Path(__file__).resolve().parent.parent


async def measure(data: Path, cache: Path) -> list[Row]:
    """All speed rows, with turns of the dialogues in `data` and the built-in model. Times are in milliseconds.

    Vaults are filled once, which takes minutes, and kept in `cache`.
    """
    bench = cache / "bench"
    bench.mkdir(parents=True, exist_ok=True)
    conversations = datasets.conversations(data / "locomo10.json")
    turns = [turn for conversation in conversations for turn in conversation.turns]
    queries = speed_search.questions([one.text for each in conversations for one in each.questions])
    model = BuiltinEmbedder(cache / "models", on_progress=partial(print, file=sys.stderr))
    await model.start()
    await model.settle()
    embedder = RememberedEmbedder(model, bench)
    try:
        source = await large.source(turns, embedder)
        for query in queries:
            await embedder.query(query)
        rows = await searches(source, queries, embedder, cache)
    finally:
        embedder.save()
        await model.close()
    smallest = await large.folder_of(min(speed_search.MOST_CPU), source, bench)
    texts = list(dict.fromkeys(turn.text for turn in turns))
    rows.append(speed_status.row(smallest, cache))
    return [*rows, *speed_store.rows(texts, cache), *speed_stdio.rows(smallest, ROOT, cache)]


async def searches(source: Source, queries: list[str], embedder: RememberedEmbedder, cache: Path) -> list[Row]:
    rows = []
    for size in speed_search.MOST_CPU:
        folder = await large.folder_of(size, source, cache / "bench")
        rows += await speed_search.rows(size, folder, queries, embedder, cache)
    return rows
