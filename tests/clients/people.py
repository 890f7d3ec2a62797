"""The person whose memories the clients ask for: their account, the browser on their computer, what they allowed."""

import json
import shlex
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from archivist.app import OWNER, App, build
from archivist.domain.clients import client_digest
from archivist.settings import Settings
from tests.clients.programs import ROOT

NAME, PASSWORD, VAULT = "Ana", "correct horse battery", "Boathouse"
READ, WRITE = "memories:read", "memories:write"
_BROWSERS = ("xdg-open", "x-www-browser", "www-browser", "sensible-browser", "firefox", "open")
_SCRIPT = """#!/bin/sh
cd {root}
{environment} exec {python} -m tests.clients.fake_browser "$1" </dev/null >>{said} 2>&1
"""
"""It goes on until its person has decided: a browser that ended at once would be taken for one that did not start."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who sits before the browser. allows: the rights that they tick when they are asked; the last ones for ever."""

    allows: Sequence[str] = (f"{READ} {WRITE}",)
    vault: str = VAULT


@dataclass(frozen=True, slots=True)
class Question:
    """A question that was decided. asked: the address that the app opened; page: the words of the consent page."""

    asked: str
    page: str
    allowed: Sequence[str]
    answer: str

    @property
    def parameters(self) -> dict[str, str]:
        """What the app asked for."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.asked).query).items()}


@dataclass(frozen=True, slots=True)
class Connection:
    """What an app was allowed: its vault is told by name."""

    id: str
    vault: str
    scopes: frozenset[str]


def browser(person: Person, home: Path) -> dict[str, str]:
    """The environment in which whatever opens a browser opens that of this person."""
    folder = home / "browser"
    folder.mkdir(exist_ok=True)
    known = {
        "PERSON_NAME": NAME,
        "PERSON_PASSWORD": PASSWORD,
        "PERSON_VAULT": person.vault,
        "PERSON_ALLOWS": ";".join(person.allows),
        "PERSON_JOURNAL": str(_journal(home)),
    }
    environment = " ".join(f"{name}={shlex.quote(value)}" for name, value in known.items())
    said = shlex.quote(str(folder / "said"))
    text = _SCRIPT.format(root=shlex.quote(str(ROOT)), environment=environment, python=sys.executable, said=said)
    for name in _BROWSERS:
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    # Without a desktop of its own, `xdg-open` would find the browser of this machine, and only then BROWSER.
    desktop = dict.fromkeys(("XDG_DATA_DIRS", "XDG_CONFIG_DIRS"), str(folder))
    return {"BROWSER": str(folder / "xdg-open"), "DISPLAY": ":0", **desktop}


def questions(home: Path) -> list[Question]:
    """What the person was asked so far, by the apps of this home, in its order."""
    journal = _journal(home)
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [Question(**json.loads(line)) for line in lines]


async def settle(data: Path) -> None:
    """Makes the account, and the vault that they pick later, in a folder that no server has seen."""
    async with _opened(data) as app:
        link = await app.accounts.set_up_link(OWNER)
        assert link
        await app.accounts.set_up(link, NAME, PASSWORD)
        await app.vaults.create(OWNER, VAULT, "project")


async def connections(data: Path, home: Path) -> list[Connection]:
    """Those of the person that the apps of this home have, the last allowed first. A server may run on the data."""
    theirs = {client_digest(question.parameters["client_id"]) for question in questions(home)}
    async with _opened(data) as app:
        names = {vault.id: vault.name for vault in await app.vaults.list(OWNER)}
        found = [connection.grant for connection in await app.connections.list(OWNER)]
        return [Connection(one.id, names[one.vault], one.scopes) for one in found if one.client in theirs]


@asynccontextmanager
async def _opened(data: Path) -> AsyncIterator[App]:
    app = build(Settings(data=data, embedder="none"))
    await app.start()
    try:
        yield app
    finally:
        await app.close()


def _journal(home: Path) -> Path:
    return home / "browser" / "journal"
