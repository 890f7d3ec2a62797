"""What the mirror costs those who store, and how far behind it is when they stop.

Two servers, one with a mirror and one without, take turns with the same number of texts, so that a busy machine slows
both; the cost is the median of the turns.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import servers
from benchmarks.report import Row
from benchmarks.servers import Connection

MOST_COST = 10.0
MOST_LAG = 1.0
SECONDS = 60.0
"""How long the server with the mirror stores, all turns together."""

_TURNS = 6


def rows(turns: Sequence[str], cache: Path) -> list[Row]:
    """turns: texts to store, each of them with a number, so that all are different."""
    with TemporaryDirectory(dir=cache / "bench") as folder, ExitStack() as stack:
        with_mirror, without = (
            _started(stack, Path(folder) / name, cache, mirror)
            for name, mirror in (("with", "mirror"), ("without", "none"))
        )
        left = (f"{turn} ({number})" for number in count(1) for turn in turns)
        for warm in (with_mirror, without):
            _store(warm, islice(left, 30))
        costs: list[float] = []
        rates: list[float] = []
        stored = 0
        for _ in range(_TURNS):
            several, took = _for_a_while(with_mirror, left, SECONDS / _TURNS)
            alone = _store(without, islice(left, several))
            rates.append(several / took)
            costs.append(100 * (1 - alone / took))
            stored += several
        lag = _seconds_behind(with_mirror, left)
    values = {"stored": float(stored), "a second": median(rates), "cost %": median(costs), "lag s": lag}
    return [Row("store with a mirror", values, most={"cost %": MOST_COST, "lag s": MOST_LAG})]


@dataclass(frozen=True, slots=True)
class _Server:
    port: int
    key: str

    def connected(self) -> Connection:
        """A connection of its own for each turn: a server ends one that is idle for long."""
        return Connection(self.port, self.key)


def _started(stack: ExitStack, data: Path, cache: Path, mirror: str) -> _Server:
    key = servers.new_key(data, cache)
    (data / "archivist.toml").write_text(f'mirror = "{mirror}"\n', encoding="utf-8")
    command = [*servers.ARCHIVIST, "serve", "--data", str(data), "--port", "0"]
    _, port = stack.enter_context(servers.started(command, data.with_suffix(".log"), cache))
    server = _Server(port, key)
    with server.connected() as connection:
        servers.wait_until_ready(connection)
    return server


def _store(server: _Server, texts: Iterator[str]) -> float:
    """The seconds it takes to store them one after the other."""
    with server.connected() as connection:
        started = time.perf_counter()
        for text in texts:
            connection.call("store_memory", content=text)
        return time.perf_counter() - started


def _for_a_while(server: _Server, texts: Iterator[str], seconds: float) -> tuple[int, float]:
    """How many could be stored, and in how many seconds."""
    with server.connected() as connection:
        several, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            connection.call("store_memory", content=next(texts))
            several += 1
        return several, time.perf_counter() - started


def _seconds_behind(server: _Server, texts: Iterator[str]) -> float:
    """Seconds after the last store until the mirror has it."""
    with server.connected() as connection:
        connection.call("store_memory", content=next(texts))
        started = time.perf_counter()
        while connection.call("memory_status")["mirror"] != "current":
            time.sleep(0.01)
        return time.perf_counter() - started
