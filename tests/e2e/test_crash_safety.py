"""Writers are killed at random moments, again and again on the same folder: what was acknowledged holds, and nothing
is half there."""

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

import pytest

from tests.e2e import inspecting
from tests.e2e.crashing import tags_of, text_of
from tests.e2e.processes import ROOT
from tests.waiting import SECONDS

ROUNDS = 190
FORGETTING = 60
"""Every so many rounds the vault is emptied first."""


@dataclass(slots=True)
class Ledger:
    """What the file must hold: words whose store was acknowledged, words whose deletion was, and those that may be."""

    there: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)

    def hear(self, message: dict[str, Any]) -> None:
        tried, put, drop = message["what"] == "try", set(message.get("put", ())), set(message.get("drop", ()))
        if message.get("forget"):
            put, drop = set(), self.there | self.open
        if tried:
            self.open |= put | drop
            self.there -= drop
        else:
            self.open -= drop | (put - self.gone)
            self.gone |= drop
            self.there |= put - self.gone

    def settle(self, rows: dict[str, inspecting.Row]) -> list[str]:
        """What the file holds against the ledger. Whatever was open is settled now, and stays so."""
        found = [f"{word} was acknowledged and is missing" for word in self.there - rows.keys()]
        found += [f"{word} was deleted and is there" for word in self.gone & rows.keys()]
        found += [f"{word} was never stored" for word in rows.keys() - self.there - self.gone - self.open]
        for word, row in rows.items():
            if (row.text, row.tags) != (text_of(word), tags_of(word)):
                found.append(f"{word} is half there")
        self.there |= self.open & rows.keys()
        self.gone |= self.open - rows.keys()
        self.open.clear()
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
            return 1_000, time.monotonic() + random.random() * 0.15
        return random.randrange(1, 30 * writers), time.monotonic() + 1.0


@pytest.fixture
def killer() -> Iterator[Killer]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.crashing"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        killer = Killer(process)
        listening = threading.Thread(target=killer.listen, name="killer")
        listening.start()
        yield killer
        assert process.stdin is not None
        process.stdin.close()
        listening.join(SECONDS)


def test_a_kill_at_any_moment_loses_nothing_acknowledged_and_leaves_nothing_half_done(tmp_path: Path, killer: Killer):
    seed = SystemRandom().getrandbits(32)
    print(f"seed {seed}")  # noqa: T201 — shown when it fails
    random, ledger, data, killed = Random(seed), Ledger(), tmp_path / "data", 0
    for number in range(ROUNDS):
        order = {
            "data": str(data),
            "seed": seed,
            "round": number,
            "writers": random.choice((1, 1, 2)),
            "there": random.sample(sorted(ledger.there), min(len(ledger.there), 2)),
            "gone": random.sample(sorted(ledger.gone), min(len(ledger.gone), 2)),
            "forget": number % FORGETTING == FORGETTING - 1,
        }
        killed += killer.round(order, random, ledger)
        if (data / "control.db").exists():
            assert inspecting.faults(data) == []
            assert ledger.settle(inspecting.memories(data)) == []
    assert killed >= ROUNDS
    assert len(ledger.there) > ROUNDS
    assert len(ledger.gone) > ROUNDS
