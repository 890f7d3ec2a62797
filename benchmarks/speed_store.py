"""How fast memories are kept over HTTP, on disk when answered, beside what the embedder alone could do.

Both are measured in turns on the same texts, so that a busy machine slows both; the share is the median of the turns.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import servers
from benchmarks.report import Row
from benchmarks.servers import Connection

LEAST_SHARE = {1: 85.0, 8: 90.0}
"""By number of clients: percent of the embedder's own rate, one text after the other, or all given at once."""

_TURNS = 6
_AT_ONCE = 96
"""Texts of a turn."""


def rows(texts: Sequence[str], cache: Path) -> list[Row]:
    """texts: all different."""
    with TemporaryDirectory(dir=cache / "bench") as folder:
        data = Path(folder) / "data"
        key = servers.new_key(data, cache)
        command = [*servers.ARCHIVIST, "serve", "--data", str(data), "--port", "0"]
        log = Path(folder) / "serve.log"
        with servers.started(command, log, cache) as (pid, port), _embedder(cache) as embedder:
            server = _Server(pid, port, key)
            with Connection(port, key) as connection:
                servers.wait_until_ready(connection)
            return [
                _row(server, embedder, clients, texts[place :: len(LEAST_SHARE)])
                for place, clients in enumerate(LEAST_SHARE)
            ]


@dataclass(frozen=True, slots=True)
class _Server:
    pid: int
    port: int
    key: str

    def store(self, clients: int, texts: Sequence[str]) -> list[float]:
        """Store every text, each client one after the other; the round trips in milliseconds."""

        def one_after_the_other(_client: int) -> list[float]:
            trips = []
            with Connection(self.port, self.key) as connection:
                while (text := next(left, None)) is not None:
                    message = connection.spelled("store_memory", {"content": text})
                    started = time.perf_counter()
                    connection.exchange(message)
                    trips.append(1000 * (time.perf_counter() - started))
            return trips

        left = iter(texts)  # each takes what no other has taken
        with ThreadPoolExecutor(clients) as threads:
            return [trip for trips in threads.map(one_after_the_other, range(clients)) for trip in trips]


@dataclass(frozen=True, slots=True)
class _Embedder:
    """The embedder alone in a process of its own."""

    process: "subprocess.Popen[str]"

    def embed(self, clients: int, texts: Sequence[str]) -> float:
        """The seconds it takes: one text after the other, or all given at once where there are several clients."""
        asked, answers = self.process.stdin, self.process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(json.dumps({"texts": texts, "together": clients > 1}) + "\n")
        asked.flush()
        return float(answers.readline())


@contextmanager
def _embedder(cache: Path) -> Iterator[_Embedder]:
    command = [sys.executable, "-m", "benchmarks.embedding_rate", str(cache / "models")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield _Embedder(process)
        process.terminate()


@dataclass(frozen=True, slots=True)
class _Turn:
    """Texts per second of the server and of the embedder, milliseconds of processor time that each took for a text."""

    stored: float
    embedded: float
    cpu: float
    embedder_cpu: float
    trips: Sequence[float]


def _turn(server: _Server, embedder: _Embedder, clients: int, texts: Sequence[str]) -> _Turn:
    before = servers.processor_seconds(embedder.process.pid)
    alone = embedder.embed(clients, texts)
    between, started = servers.processor_seconds(embedder.process.pid), servers.processor_seconds(server.pid)
    at = time.perf_counter()
    trips = server.store(clients, texts)
    took, spent = time.perf_counter() - at, servers.processor_seconds(server.pid) - started
    count = len(texts)
    return _Turn(count / took, count / alone, 1000 * spent / count, 1000 * (between - before) / count, trips)


def _row(server: _Server, embedder: _Embedder, clients: int, texts: Sequence[str]) -> Row:
    """The first turn is not counted: it warms both up."""
    chunks = [texts[start : start + _AT_ONCE] for start in range(0, _AT_ONCE * (_TURNS + 1), _AT_ONCE)]
    turns = [_turn(server, embedder, clients, chunk) for chunk in chunks][1:]
    trips = sorted(trip for turn in turns for trip in turn.trips)
    values = {
        "a second": median(turn.stored for turn in turns),
        "p50": median(trips),
        "p95": trips[len(trips) * 95 // 100],
        "cpu": median(turn.cpu for turn in turns),
        "embedder": median(turn.embedded for turn in turns),
        "its cpu": median(turn.embedder_cpu for turn in turns),
        "share": 100 * median(turn.stored / turn.embedded for turn in turns),
    }
    return Row(f"store, {clients} at a time", values, least={"share": LEAST_SHARE[clients]})
