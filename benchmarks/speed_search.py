"""How long a search takes over HTTP, by size of the vault, and what it spends its processor time on."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean, median

from archivist.embedders.embedder import Embedder
from benchmarks import bandwidth, servers, stages
from benchmarks.large import EMPTY
from benchmarks.report import Row
from benchmarks.servers import Connection

MOST_CPU = {1_000: 2.5, 10_000: 4.0, 100_000: 16.0, 1_000_000: 70.0}
"""Milliseconds of processor time for one search, the embedding of the query left out."""

WARM = 100
"""Queries before the measured ones: a server in use has met the usual words."""

MEASURED = 300


@dataclass(frozen=True, slots=True)
class Measured:
    """Of each request its round trip and the server's processor time, in milliseconds."""

    trips: Sequence[float]
    cpu: Sequence[float]


def questions(asked: Sequence[str]) -> list[str]:
    """The queries of every run: each is asked once."""
    return random.Random(1).sample(asked, WARM + MEASURED)


async def rows(size: int, data: Path, queries: Sequence[str], embedder: Embedder, cache: Path) -> list[Row]:
    """The measurements of the vault of `size` memories in `data`.

    Before the vault is asked a query, an empty one is: that embeds it, so that what is then measured is all but the
    embedding, while every query is as new to the vault itself as a client's is.
    """
    served = _served(data, queries, cache)
    inside = await stages.shares(data, queries, WARM, embedder)
    trips, cpu = sorted(served.searches.trips), median(served.searches.cpu)
    values = {"p50": median(trips), "p95": trips[len(trips) * 95 // 100], "cpu": cpu, "mean": mean(served.searches.cpu)}
    parts = {name: inside[name] for name in ("vectors", "keywords", "fusion", "rows")}
    others = {"protocol": cpu - inside["services"], "embedding": served.embedding}
    machine = {"GB/s": bandwidth.gigabytes_per_second()}
    first = {"trip s": served.first[0], "cpu s": served.first[1], "RSS MB": served.resident}
    return [
        Row(f"search among {size:,}", values | parts | others | machine, most={"cpu": MOST_CPU[size]}, digits=2),
        Row(f"first search among {size:,} after a start", first, digits=2),
    ]


@dataclass(frozen=True, slots=True)
class _Served:
    searches: Measured
    embedding: float
    first: tuple[float, float]
    resident: float


def _served(data: Path, queries: Sequence[str], cache: Path) -> _Served:
    keys = servers.new_key(data, cache), servers.new_key(data, cache, EMPTY)
    command = [*servers.ARCHIVIST, "serve", "--data", str(data), "--port", "0"]
    with servers.started(command, data / "serve.log", cache) as (pid, port):
        with Connection(port, keys[0]) as full, Connection(port, keys[1]) as empty:
            servers.wait_until_ready(empty)
            new = measured(pid, empty, "search_memories", [{"query": query} for query in queries])
            again = measured(pid, empty, "search_memories", [{"query": query} for query in queries])
            first = measured(pid, full, "search_memories", [{"query": queries[0]}])
            searches = measured(pid, full, "search_memories", [{"query": query} for query in queries])
        resident = servers.resident_megabytes(pid)
    return _Served(
        Measured(searches.trips[WARM:], searches.cpu[WARM:]),
        median(new.cpu) - median(again.cpu),
        (first.trips[0] / 1000, first.cpu[0] / 1000),
        resident,
    )


def measured(pid: int, connection: Connection, tool: str, calls: Sequence[dict[str, str]]) -> Measured:
    """One call after the other."""
    return exchanged(pid, connection, [connection.spelled(tool, arguments) for arguments in calls])


def exchanged(pid: int, connection: Connection, messages: Sequence[bytes]) -> Measured:
    """One request after the other. What the server still does after an answer counts for the next request."""
    trips, clock = [], [servers.processor_seconds(pid)]
    for message in messages:
        started = time.perf_counter()
        connection.exchange(message)
        trips.append(1000 * (time.perf_counter() - started))
        clock.append(servers.processor_seconds(pid))
    return Measured(trips, [1000 * (after - before) for before, after in pairwise(clock)])
