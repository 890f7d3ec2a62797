"""Browsers in process: each keeps its cookies as a browser would, and posts the forms of the pages that it has seen."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pyotp
import pytest
from starlette.types import ASGIApp

from archivist.app import OWNER, App, assemble
from archivist.domain.access import ALL_SCOPES, Principal
from archivist.domain.ids import CONTROL
from archivist.domain.users import User
from archivist.embedders.hashed import HashedEmbedder
from archivist.server import asgi
from archivist.services.passwords import Hashing
from archivist.settings import Settings
from archivist.storage import heads
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import Clock

HERE = "http://127.0.0.1:8765"
SESSION, DEVICE = "__Host-archivist-session", "__Host-archivist-device"
ANA, BOB = "Ana", "Bob"
PASSWORD = "correct horse battery"
CHEAP = Hashing(memory_kib=8, time=1, at_once=1)
"""Passwords that cost nothing to check; only tests of the cost itself need the real ones."""

_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


def an_app(data: Path, clock: Clock, hashing: Hashing = CHEAP, **settings: Any) -> App:
    """The services over a data folder; call it again for what a restart makes of the same folder."""
    stores = SqliteStores(data, now=clock)
    return assemble(stores, HashedEmbedder(), clock, Settings(data=data, **settings), hashing=hashing)


@dataclass(slots=True)
class Person:
    """A browser with nobody signed in yet. `csrf` is the token of the last page that had one."""

    server: ASGIApp
    address: str = "192.0.2.1"
    agent: str = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0"
    cookies: dict[str, str] = field(default_factory=dict)
    csrf: str = ""

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        """What the browser gets; redirects are not followed."""
        return await self.ask("GET", path, headers=headers)

    async def post(self, path: str, fields: Mapping[str, Any] | None = None, **headers: str) -> httpx2.Response:
        """Post a form of the page that was seen last; a `csrf` among the fields is sent instead of its own."""
        return await self.ask("POST", path, headers=headers, data={"csrf": self.csrf, **(fields or {})})

    async def ask(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> httpx2.Response:
        """Any request; names of headers are written with `_` for `-`. Cookies of the answer are kept."""
        own = {"user-agent": self.agent, **({"cookie": self.cookie} if self.cookies else {})}
        given = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        transport = httpx2.ASGITransport(app=self.server, client=(self.address, 50000), raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=HERE, headers=own) as http:
            answer = await http.request(method, path, headers=given, **more)
        self._keep(answer)
        return answer

    async def shown(self, path: str) -> str:
        """The text of a page that must be there."""
        answer = await self.get(path)
        assert answer.status_code == 200, (path, answer.status_code)
        return answer.text

    async def sign_in(self, name: str = ANA, password: str = PASSWORD, path: str = "/sign-in") -> httpx2.Response:
        """Name and password into the form that stands at `path`."""
        await self.get(path)
        return await self.post(path, {"name": name, "password": password})

    async def is_in(self) -> bool:
        """Whether the pages of somebody who is signed in are shown."""
        return "Sign out" in (await self.get("/app/account")).text

    def twin(self) -> "Person":
        """Another browser with the same cookies: somebody copied them."""
        return Person(self.server, self.address, self.agent, dict(self.cookies), self.csrf)

    @property
    def cookie(self) -> str:
        """The `Cookie` header of the next request."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _keep(self, answer: httpx2.Response) -> None:
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            if not value.strip('"') or "max-age=0" in line.lower():
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        if found := _CSRF.search(answer.text):
            self.csrf = unescape(found[1])


@dataclass(slots=True)
class Hall:
    """A server, its clock, and who comes to it."""

    app: App
    server: ASGIApp
    clock: Clock

    def browser(self, address: str = "192.0.2.1") -> Person:
        """A new browser, as nobody has used it before."""
        return Person(self.server, address)

    async def set_up(self, name: str = ANA) -> Person:
        """The first account, made by its link; its person is signed in."""
        link = await self.app.accounts.set_up_link(OWNER)
        person = self.browser()
        await person.get(f"/set-up/{link}")
        answer = await person.post(f"/set-up/{link}", {"name": name, "password": PASSWORD, "again": PASSWORD})
        assert answer.status_code == 303, answer.text
        await person.get("/app/account")
        return person

    async def joined(self, name: str = BOB) -> Person:
        """Somebody with an account of their own, made by an invitation, and signed in."""
        link = await self.app.accounts.invite(OWNER)
        person = self.browser()
        await person.get(f"/invitation/{link}")
        fields = {"decision": "new", "name": name, "password": PASSWORD, "again": PASSWORD}
        answer = await person.post(f"/invitation/{link}", fields)
        assert answer.status_code == 303, answer.text
        await person.get("/app/account")
        return person

    async def user(self, name: str = ANA) -> User:
        """The account of that name."""
        return next(user for user in await self.app.accounts.list(OWNER) if user.name == name)

    async def principal(self, name: str = ANA, vault: str = "personal") -> Principal:
        """Somebody in one of their vaults, as the services see them."""
        who = Principal((await self.user(name)).id, CONTROL, ALL_SCOPES, "cli", "local")
        found = await self.app.vaults.named(who, vault)
        return Principal(who.user, found.id, ALL_SCOPES, "cli", "local")

    async def with_factor(self, person: Person) -> tuple["pyotp.TOTP", Sequence[str]]:
        """Turns the second step of somebody on; what their app makes codes with, and the recovery codes."""
        page = await person.shown("/app/two-factor")
        offer = re.search(r'name="offer" value="([^"]+)"', page)
        secret = re.search(r'<p class="once" tabindex="0"><code>([A-Z2-7 ]+)</code>', page)
        assert offer, page
        assert secret, page
        totp = pyotp.TOTP(secret[1].replace(" ", ""))
        answer = await person.post("/app/two-factor", {"offer": unescape(offer[1]), "code": self.code(totp)})
        assert answer.status_code == 200, answer.text
        return totp, re.findall(r"<li><code>([a-z0-9-]+)</code></li>", answer.text)

    def code(self, totp: "pyotp.TOTP") -> str:
        """What their app shows now."""
        return totp.at(int(self.clock.now.timestamp()))

    async def head(self) -> object:
        """Where the log of the control database stands: the same again means that nothing was changed."""
        return (await heads.read(await self.app.stores.control(), CONTROL)).head

    async def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """Everything in a table of the control database."""
        import sqlalchemy as sa  # what lies in the file, whatever the repositories make of it

        control = await self.app.stores.control()
        return [dict(row) for row in await control.read(sa.text(f"select * from {table}"))]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def bare(tmp_path: Path, clock: Clock) -> AsyncIterator[Hall]:
    """A server that nobody has set up."""
    app = an_app(tmp_path / "data", clock)
    await app.start()
    yield Hall(app, asgi(app, Settings(data=tmp_path / "data")), clock)
    await app.close()


@pytest.fixture
async def hall(bare: Hall) -> Hall:
    """A server with Ana, its administrator."""
    await bare.set_up()
    return bare


@pytest.fixture
async def ana(hall: Hall) -> Person:
    """Ana in a browser, just signed in."""
    person = hall.browser()
    await person.sign_in()
    await person.get("/app/account")
    return person
