"""Writers that are made to be killed: a warm process that forks them, so that a round costs next to nothing.

Run as a program it reads one JSON object a line on stdin, forks that many writers on the folder it names, and passes
on what they say: what they are about to do, and what was acknowledged. The forking process never opens SQLite.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from archivist.app import App, assemble
from archivist.domain.access import Principal
from archivist.domain.errors import EmbedderUnavailable
from archivist.domain.ids import MemoryId, uuid7
from archivist.domain.memories import new_memory
from archivist.domain.times import utc_now
from archivist.embedders.embedder import Floats
from archivist.embedders.hashed import HashedEmbedder
from archivist.services.deletion import DELETE_ALL, DELETE_SELECTED
from archivist.settings import Settings
from archivist.storage.sqlite.stores import SqliteStores
from archivist.telemetry.logging import configure
from archivist.transfer import jsonl

TASKS = 4
AWAY = 0.15
"""The share of texts for which the embedder is away."""

SYLLABLES = ("ka", "lo", "mi", "ru", "te", "shi", "vo", "na", "pe", "dra", "zu", "fi")


def text_of(word: str) -> str:
    """The text that begins with `word`: always the same, mostly short, now and then over several pages of the file."""
    random = Random(word)
    count = random.choice((3, 8, 8, 20, 60, 60, 60, 1_000))
    return " ".join([word, *("".join(random.choices(SYLLABLES, k=3)) for _ in range(count))])


def tags_of(word: str) -> tuple[str, ...]:
    return tuple(f"tag{number}" for number in range(Random(word).randrange(4)))


class Moody(HashedEmbedder):
    """Now and then it does not answer."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    async def passages(self, texts: Sequence[str]) -> Sequence[Floats]:
        if self._random.random() < AWAY:
            raise EmbedderUnavailable("away")
        return await super().passages(texts)


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes until it is killed, and says what is tried and what was acknowledged."""

    app: App
    who: Principal
    name: str
    random: Random

    async def run(self) -> None:
        await asyncio.gather(*(self._go_on(number) for number in range(TASKS)))

    async def _go_on(self, task: int) -> None:
        acts = ((self._store, 70), (self._delete, 10), (self._import, 8), (self._embed, 8), (self._key, 4))
        names, weights = zip(*acts, strict=True)
        count = 0
        while True:
            count += 1
            [act] = self.random.choices(names, weights)
            await act(f"{self.name}x{task}x{count}")

    async def _store(self, word: str) -> None:
        say("try", put=[word])
        await self.app.memories.store(self.who, text=text_of(word), tags=tags_of(word))
        say("done", put=[word])

    async def _delete(self, _word: str) -> None:
        latest = await self.app.memories.recent(self.who, 200)
        if not latest:
            return
        chosen = self.random.sample(latest, min(len(latest), self.random.randrange(1, 5)))
        words = [memory.text.split(" ", 1)[0] for memory in chosen]
        say("try", drop=words)
        await self.app.deletion.delete(self.who, [memory.id for memory in chosen], DELETE_SELECTED)
        say("done", drop=words)

    async def _import(self, word: str) -> None:
        words = [f"{word}x{number}" for number in range(3)]
        say("try", put=words)
        await self.app.transfer.load(self.who, [self._line(one) for one in words])
        say("done", put=words)

    def _line(self, word: str) -> bytes:
        now = utc_now()
        id = MemoryId(uuid7(now))
        return jsonl.dump(new_memory(id, self.who.vault, b"", now, text=text_of(word), tags=tags_of(word)), [])

    async def _embed(self, _word: str) -> None:
        try:
            await self.app.embedding.catch_up(self.who.vault)
        except EmbedderUnavailable:
            return

    async def _key(self, word: str) -> None:
        _key, secret = await self.app.keys.create(self.who, name=word, scopes=self.who.scopes)
        say("done", key=secret)


def opened(data: Path, random: Random) -> App:
    """The services of the folder with its mirror, for an embedder of moods."""
    mirror = SqliteStores(data / "mirror")
    return assemble(SqliteStores(data), Moody(random), utc_now, Settings(data=data), mirror=mirror)


async def write(order: dict[str, Any], number: int) -> None:
    """What one writer does: look whether all is as it was acknowledged before, then write on."""
    random = Random(f"{order['seed']} {order['round']} {number}")
    app = opened(Path(order["data"]), random)
    await app.embedder.start()
    who = await app.local()
    await app.erasing.eraser.end_all(who.vault, utc_now())
    following = asyncio.create_task(app.mirroring.run())
    for words, is_there in ((order["there"], True), (order["gone"], False)):
        for word in words:
            rows = (await app.search.search(who, query=word)).rows
            found = any(row.memory.text.startswith(f"{word} ") for row in rows)
            say("seen", word=word, right=found is is_there)
    if order["forget"]:
        say("try", forget=True)
        await app.deletion.forget_all(who, DELETE_ALL)
        say("done", forget=True)
    await Writer(app, who, f"r{order['round']}w{number}", random).run()
    await following


def say(what: str, **facts: Any) -> None:
    """A line on stdout. It is one write, so lines of several processes never mix."""
    os.write(1, json.dumps({"what": what, **facts}).encode() + b"\n")


def _fork(run: Callable[[], Coroutine[Any, Any, None]]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        asyncio.run(run())
    except BaseException as error:
        say("failed", error=f"{type(error).__name__}: {error}")
    finally:
        os._exit(1)


def main() -> None:
    """Serve orders until stdin ends."""
    configure("error")  # stdout is for what the writers say
    for line in sys.stdin:
        order = json.loads(line)
        children = [_fork(partial(write, order, number)) for number in range(order["writers"])]
        for child in children:
            say("born", pid=child)
        for child in children:
            _, status = os.waitpid(child, 0)
            say("ended", pid=child, status=status)
        say("over")


if __name__ == "__main__":
    main()
