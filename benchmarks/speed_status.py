"""What the protocol costs: `memory_status` beside a bare JSON route, in turns, so that both meet the same machine."""

import sys
from pathlib import Path
from statistics import median

from benchmarks import servers
from benchmarks.report import Row
from benchmarks.servers import Connection
from benchmarks.speed_search import exchanged

MOST_TIMES = 5.0
_ROUNDS = 20
_AT_ONCE = 50


def row(data: Path, cache: Path) -> Row:
    """Milliseconds of processor time for a request, medians, and how many times the bare one ours is."""
    key = servers.new_key(data, cache)
    ours = [*servers.ARCHIVIST, "serve", "--data", str(data), "--port", "0"]
    bare = [sys.executable, "-m", "benchmarks.bare"]
    with (
        servers.started(ours, data / "serve.log", cache) as (our_pid, our_port),
        servers.started(bare, data / "bare.log", cache) as (bare_pid, bare_port),
        Connection(our_port, key) as our,
        Connection(bare_port) as other,
    ):
        servers.wait_until_ready(our)
        status, plain = [our.spelled("memory_status", {})] * _AT_ONCE, [other.plain("/status")] * _AT_ONCE
        mine: list[float] = []
        theirs: list[float] = []
        for number in range(_ROUNDS + 1):
            one, two = exchanged(our_pid, our, status), exchanged(bare_pid, other, plain)
            if number:  # the first round warms both up
                mine += one.cpu
                theirs += two.cpu
    cpu, yardstick = median(mine), median(theirs)
    values = {"cpu": cpu, "bare cpu": yardstick, "times": cpu / yardstick}
    return Row("memory_status", values, most={"times": MOST_TIMES}, digits=2)
