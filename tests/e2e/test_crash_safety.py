"""Writers are killed at random moments, again and again on the same folder: what was acknowledged holds, and nothing
is half there."""

import asyncio
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import httpx2
import pytest

from archivist.domain.ids import VaultId
from archivist.domain.times import utc_now
from tests.e2e import inspecting
from tests.e2e.callers import SELECTED, Call, over_http
from tests.e2e.crashing import opened, tags_of, text_of
from tests.e2e.processes import ROOT, Place
from tests.mirrors import differences
from tests.waiting import SECONDS

ROUNDS = 195
SERVERS = 7
FORGETTING = 80
"""Every so many rounds the vault is emptied first."""


@dataclass(slots=True)
class Ledger:
    """What must be: words whose store was acknowledged, and whose deletion was. `open` ones may be either."""

    there: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    leaving: set[str] = field(default_factory=set)

    def hear(self, message: dict[str, Any]) -> None:
        tried, put, drop = message["what"] == "try", set(message.get("put", ())), set(message.get("drop", ()))
        if message.get("forget"):
            put, drop = set(), self.there | self.open
        if tried:
            self.open |= put | drop
            self.leaving |= drop
            self.there -= drop
        else:
            kept = put - self.gone - self.leaving  # another task may be deleting it before its writer says it is kept
            self.open -= drop | kept
            self.gone |= drop
            self.leaving -= drop
            self.there |= kept

    def settle(self, data: Path) -> list[str]:
        """What the folder holds against the ledger. Whatever was open is settled now, and stays so."""
        rows = {row.text.split(" ", 1)[0]: row for row in inspecting.memories(data)}
        found = [f"{word} was acknowledged and is missing" for word in self.there - rows.keys()]
        found += [f"{word} was deleted and is there" for word in self.gone & rows.keys()]
        found += [f"{word} was never stored" for word in rows.keys() - self.there - self.gone - self.open]
        for word, row in rows.items():
            if (row.text, row.tags) != (text_of(word), tags_of(word)):
                found.append(f"{word} is half there")
        self.there |= self.open & rows.keys()
        self.gone |= self.open - rows.keys()
        self.open.clear()
        self.leaving.clear()
        return found


@dataclass(slots=True)
class Killer:
    """The forking process, and what its writers say."""

    process: "subprocess.Popen[bytes]"
    said: "queue.SimpleQueue[dict[str, Any]]" = field(default_factory=queue.SimpleQueue)

    def listen(self) -> None:
        for line in self.process.stdout or ():
            self.said.put(json.loads(line))

    def round(self, order: dict[str, Any], random: Random, ledger: Ledger) -> int:
        """One round: writers are forked, killed one after the other, and heard out. Returns how many were killed."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()
        living: list[int] = []
        acts, moment = self._doom(random, order["writers"])
        killed = 0
        while True:
            try:
                message = self.said.get(timeout=max(0, moment - time.monotonic()) if living else SECONDS)
            except queue.Empty:
                message = {"what": "time"}
            match message["what"]:
                case "over":
                    return killed
                case "born":
                    living.append(message["pid"])
                case "failed":
                    raise AssertionError(message["error"])
                case "seen":
                    assert message["right"], f"a search is wrong about {message['word']}"
                case "ended":
                    assert message["status"] == signal.SIGKILL, f"a writer ended by itself: {message['status']}"
                case "done" | "try":
                    ledger.hear(message)
                    acts -= message["what"] == "done"
            if len(living) == order["writers"] - killed and living and (acts <= 0 or time.monotonic() >= moment):
                os.kill(living.pop(), signal.SIGKILL)
                killed += 1
                acts, moment = self._doom(random, order["writers"])

    def _doom(self, random: Random, writers: int) -> tuple[int, float]:
        """After how many acknowledgements, or at which moment at the latest, the next writer is killed."""
        if random.random() < 0.3:
            return 1_000, time.monotonic() + random.random() * 0.2
        return random.randrange(1, 25), time.monotonic() + 0.5


@pytest.fixture
def killer() -> Iterator[Killer]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.crashing"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        killer = Killer(process)
        listening = threading.Thread(target=killer.listen, name="killer")
        listening.start()
        try:
            yield killer
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # with the writers of a round that was cut short
            listening.join(SECONDS)


def test_a_kill_at_any_moment_loses_nothing_acknowledged_and_leaves_nothing_half_done(tmp_path: Path, killer: Killer):
    seed = SystemRandom().getrandbits(32)
    print(f"seed {seed}")  # noqa: T201 — shown when it fails
    random, ledger, data, killed = Random(seed), Ledger(), tmp_path / "data", 0
    for number in range(ROUNDS):
        forgets = number % FORGETTING == FORGETTING - 1
        writers = 1 if forgets else random.choice((1, 1, 2))
        looks = 2 if writers == 1 else 0  # another writer may delete what is looked for
        order = {
            "data": str(data),
            "seed": seed,
            "round": number,
            "writers": writers,
            "there": random.sample(sorted(ledger.there), min(len(ledger.there), looks)),
            "gone": random.sample(sorted(ledger.gone), min(len(ledger.gone), looks)),
            "forget": forgets,
        }
        killed += killer.round(order, random, ledger)
        if (data / "control.db").exists():
            assert inspecting.faults(data) == []
            assert ledger.settle(data) == []
    assert killed >= ROUNDS
    assert ledger.there
    assert ledger.gone
    vault = asyncio.run(_caught_up(data))
    assert inspecting.faults(data / "mirror") == []
    assert differences(data, data / "mirror", vault) == []


async def _caught_up(data: Path) -> VaultId:
    """What the next process does: ends deletions that were cut off, and follows."""
    app = opened(data, Random(0))
    who = await app.local()
    await app.erasing.eraser.end_all(who.vault, utc_now())
    await app.mirroring.catch_up()
    await app.close()
    return who.vault


@dataclass(slots=True)
class Client:
    """Stores and deletes over HTTP until the server is gone."""

    call: Call
    name: str
    random: Random
    ledger: Ledger
    lock: threading.Lock
    acknowledged: "queue.SimpleQueue[None]"

    def run(self) -> None:
        mine: list[str] = []
        count = 0
        try:
            while True:
                count += 1
                if mine and self.random.random() < 0.3:
                    self._delete(mine.pop(self.random.randrange(len(mine))))
                else:
                    self._store(f"{self.name}x{count}")
                    mine.append(f"{self.name}x{count}")
        except httpx2.TransportError:
            return

    def _store(self, word: str) -> None:
        self._hear("try", put=[word])
        self.call("store_memory", content=text_of(word), tags=list(tags_of(word)))
        self._hear("done", put=[word])

    def _delete(self, word: str) -> None:
        rows = self.call("search_memories", query=word)["results"]
        [id] = [row["id"] for row in rows if row["text"].startswith(f"{word} ")]
        self._hear("try", drop=[word])
        self.call("delete_memories", memory_ids=[id], confirmation=SELECTED)
        self._hear("done", drop=[word])

    def _hear(self, what: str, **words: list[str]) -> None:
        with self.lock:
            self.ledger.hear({"what": what, **words})
        if what == "done":
            self.acknowledged.put(None)


def test_a_kill_of_the_server_loses_nothing_that_clients_were_told_is_kept(place: Place):
    seed = SystemRandom().getrandbits(32)
    print(f"seed {seed}")  # noqa: T201 — shown when it fails
    random, ledger, lock = Random(seed), Ledger(), threading.Lock()
    key = place.key()
    for number in range(SERVERS):
        acknowledged: queue.SimpleQueue[None] = queue.SimpleQueue()
        with place.serving() as server, over_http(server.origin, key) as call:
            threads = [
                threading.Thread(
                    target=Client(
                        call, f"s{number}c{client}", Random(f"{seed} {number} {client}"), ledger, lock, acknowledged
                    ).run
                )
                for client in range(4)
            ]
            for thread in threads:
                thread.start()
            for _ in range(random.randrange(5, 30)):
                acknowledged.get(timeout=SECONDS)
            server.started.kill()
            for thread in threads:
                thread.join(SECONDS)
        assert inspecting.faults(place.data) == []
        assert ledger.settle(place.data) == []
    assert ledger.gone
