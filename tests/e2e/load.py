"""Clients that keep a server busy, and what they were told is kept."""

import threading

import httpx2

from tests.e2e.callers import Call, Refusal
from tests.waiting import SECONDS

CLIENTS = 4
AT_FIRST = 40
"""Acknowledged stores after which the load counts as begun."""


class Load:
    """Clients that store until they are refused; `kept` is what they were told is kept."""

    def __init__(self, call: Call) -> None:
        self.kept: set[str] = set()
        self.refused: list[Exception] = []
        self._enough = threading.Semaphore(0)
        self._call = call
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(CLIENTS)]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()
        for _ in range(AT_FIRST):
            assert self._enough.acquire(timeout=SECONDS)

    def end(self) -> None:
        for thread in self._threads:
            thread.join(SECONDS)

    def _run(self, number: int) -> None:
        count = 0
        try:
            while True:
                count += 1
                text = f"fact {number} {count}"
                self._call("store_memory", content=text)
                self.kept.add(text)
                self._enough.release()
        except (httpx2.TransportError, Refusal) as error:
            self.refused.append(error)
