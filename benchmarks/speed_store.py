"""How fast memories are kept over HTTP, on disk when answered, beside what the embedder alone could do.

Both are measured in turns on the same texts, so that a busy machine slows both; the share is the median of the turns.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import servers
from benchmarks.report import Row
from benchmarks.servers import Connection

LEAST_SHARE = {1: 85.0, 8: 90.0}
"""By number of clients: percent of the embedder's own rate, one text after the other, or all given at once."""

_TURNS = 8
_AT_ONCE = 64
"""Texts of a turn."""


def rows(texts: Sequence[str], cache: Path) -> list[Row]:
    """texts: all different."""
    with TemporaryDirectory(dir=cache / "bench") as folder:
        data = Path(folder) / "data"
        key = servers.new_key(data, "Personal", cache)
        command = [*servers.ARCHIVIST, "serve", "--data", str(data), "--port", "0"]
        with servers.started(command, Path(folder) / "serve.log", cache) as (_, port), ExitStack() as stack:
            connections = [stack.enter_context(Connection(port, key)) for _ in range(max(LEAST_SHARE))]
            servers.wait_until_ready(connections[0])
            embedder = stack.enter_context(_embedder(cache))
            return [_row(connections[:count], iter(texts[place::2]), embedder) for place, count in enumerate(LEAST_SHARE)]
