"""Two servers and a stdio process on one vault: no call fails, and each sees at once what the others acknowledged."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random, SystemRandom

from tests.e2e import inspecting
from tests.e2e.callers import SELECTED, Call, over_http, over_stdio
from tests.e2e.processes import Place
from tests.waiting import SECONDS

RUN_SECONDS = 30.0
LEAST = 20
"""Of each kind of act, over all processes; a loaded machine makes many times as many."""


@dataclass(slots=True)
class Shared:
    """What was acknowledged so far, by anybody: ids by word, and the words whose deletion was; under one lock."""

    there: dict[str, str] = field(default_factory=dict)
    leaving: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    wrong: list[str] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)

    def count(self, what: str) -> None:
        with self.lock:
            self.done[what] = self.done.get(what, 0) + 1


@dataclass(slots=True)
class Actor:
    """One task in front of one process: stores, searches for what others did, deletes."""

    name: str
    call: Call
    shared: Shared
    random: Random
    until: float

    def run(self) -> None:
        acts: tuple[Callable[[str], None], ...] = (self._store, self._store, self._look, self._miss, self._delete)
        count = 0
        try:
            while time.monotonic() < self.until and not self.shared.wrong:
                count += 1
                self.random.choice(acts)(f"{self.name}q{count}q{self.random.getrandbits(40):x}")
        except Exception as error:  # whatever it is, it reached a caller
            self.shared.wrong.append(f"{self.name}: {type(error).__name__} {error}")

    def _store(self, word: str) -> None:
        self.call("store_memory", content=f"The code word of the day is {word}.")
        found = self._search(word)
        with self.shared.lock:
            if word in found:
                self.shared.there[word] = found[word]
            else:
                self.shared.wrong.append(f"{self.name} does not find its own {word}")
        self.shared.count("stored")

    def _look(self, _word: str) -> None:
        with self.shared.lock:
            known = list(self.shared.there)
        if not known:
            return
        word = self.random.choice(known[-20:])
        found = self._search(word)
        with self.shared.lock:
            if word not in found and word not in self.shared.leaving:
                self.shared.wrong.append(f"{self.name} does not find {word}")
        self.shared.count("found")

    def _miss(self, _word: str) -> None:
        with self.shared.lock:
            gone = self.shared.gone[-20:]
        if not gone:
            return
        word = self.random.choice(gone)
        if word in self._search(word):
            self.shared.wrong.append(f"{self.name} finds {word} after its deletion")
        self.shared.count("missed")

    def _delete(self, _word: str) -> None:
        with self.shared.lock:
            if not self.shared.there:
                return
            word = self.random.choice(list(self.shared.there))
            id = self.shared.there.pop(word)
            self.shared.leaving.add(word)
        done = self.call("delete_memories", memory_ids=[id], confirmation=SELECTED)
        with self.shared.lock:
            if done["deleted_ids"] != [id]:
                self.shared.wrong.append(f"{self.name} could not delete {word}: {done}")
            self.shared.gone.append(word)
        self.shared.count("deleted")

    def _search(self, word: str) -> dict[str, str]:
        """The ids of what a search for `word` finds, by the code word in it."""
        rows = self.call("search_memories", query=word, limit=5)["results"]
        return {row["text"].removesuffix(".").rpartition(" ")[2]: row["id"] for row in rows}


def test_two_servers_and_a_stdio_process_see_each_others_acknowledged_acts_at_once(place: Place):
    seed = SystemRandom().getrandbits(32)
    print(f"seed {seed}")  # noqa: T201 — shown when it fails
    key, shared = place.key(), Shared()
    with ExitStack() as stack:
        calls = {f"server{number}": _server(stack, place, key) for number in (1, 2)}
        calls["stdio"] = stack.enter_context(over_stdio(place))
        until = time.monotonic() + RUN_SECONDS
        actors = [
            Actor(f"{name}n{number}", call, shared, Random(f"{seed} {name} {number}"), until)
            for name, call in calls.items()
            for number in (1, 2)
        ]
        threads = [threading.Thread(target=actor.run, name=actor.name) for actor in actors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(RUN_SECONDS + SECONDS)
        assert shared.wrong == []
        assert all(shared.done.get(what, 0) >= LEAST for what in ("stored", "found", "missed", "deleted")), shared.done
        for call in calls.values():
            assert call("memory_status")["totalMemories"] == len(shared.there)
    assert inspecting.faults(place.data) == []
    assert {row.id for row in inspecting.memories(place.data)} == set(shared.there.values())


def _server(stack: ExitStack, place: Place, key: str) -> Call:
    server = stack.enter_context(place.serving())
    return stack.enter_context(over_http(server.origin, key))
