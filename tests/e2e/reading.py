"""A reader in a process of its own that comes and goes: opens the file, holds a short read, lets go.

Run as a program with the file's path, until stdin ends; then it prints how often it came.
"""

import sys
import threading
from pathlib import Path
from random import Random

from tests.e2e.inspecting import looking

STAYS_SECONDS, AWAY_SECONDS = 0.05, 0.15
"""At the longest."""


def main() -> None:
    """Come and go. How long it stays is what it is for, not something that is waited for."""
    path, random, ended, count = Path(sys.argv[1]), Random(7), threading.Event(), 0
    listening = threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True)
    listening.start()
    while not ended.wait(random.random() * AWAY_SECONDS):
        with looking(path) as connection:
            connection.execute("SELECT count(*), sum(length(text)) FROM memories").fetchone()
            ended.wait(random.random() * STAYS_SECONDS)
        count += 1
    print(count)  # noqa: T201 — what the test reads


if __name__ == "__main__":
    main()
