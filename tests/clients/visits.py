"""What a client is asked to do, and what it saw: one visit is one connection, opened and closed again."""

import os
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.people import Person, browser
from tests.clients.programs import environment

STATS = "memory://vault/stats"
"""The first of the resources; each client that can reads it."""


@dataclass(frozen=True, slots=True)
class Web:
    """The server at its address, entered with a key."""

    url: str
    key: str


@dataclass(frozen=True, slots=True)
class Local:
    """The command that a client starts by itself and talks to over stdio."""

    command: Sequence[str]


@dataclass(frozen=True, slots=True)
class Signed:
    """The server at its address, entered by signing in: apps keep what they get for it in the home of the errand."""

    url: str
    person: Person

    def environment(self, home: Path, **more: str) -> dict[str, str]:
        """What a program gets that opens this person's browser."""
        opened = browser(self.person, home)
        env = environment(home, **more, **opened)
        return {**env, "PATH": os.pathsep.join([str(Path(opened["BROWSER"]).parent), env["PATH"]])}


Target = Web | Local | Signed
Call = tuple[str, dict[str, Any]]
"""A tool and its arguments."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What the client reported. Answers are as it gives them to its user or model: text that holds JSON or prose.

    revision: "" if the client does not tell. tools, resources, read: empty if it did not look around.
    """

    revision: str
    answers: list[str]
    tools: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)
    read: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that nobody can know who did not read it. The question does not hold the answer."""

    place: str = field(default_factory=lambda: f"Port{secrets.token_hex(4)}")
    phrase: str = field(default_factory=lambda: f"heron-{secrets.token_hex(6)}")

    @property
    def storing(self) -> Call:
        return "store_memory", {
            "content": f"The gate of the boathouse in {self.place} opens with the word {self.phrase}."
        }

    @property
    def asking(self) -> Call:
        return "search_memories", {"query": f"Which word opens the boathouse gate in {self.place}?"}


@dataclass(frozen=True, slots=True)
class Errand:
    """What to do on a visit. look: also list the tools and resources, and read the first of these.

    later: by how many seconds the app's own clock has gone on, for those of which it can be told.
    """

    target: Target
    calls: Sequence[Call]
    home: Path
    look: bool
    later: int = 0


def surroundings(target: Target, home: Path, **more: str) -> dict[str, str]:
    """The environment of a program that goes there."""
    return target.environment(home, **more) if isinstance(target, Signed) else environment(home, **more)


Visitor = Callable[[Errand], Awaitable[Visit]]
"""A client: it connects, does the errand from the home directory given, and leaves."""
