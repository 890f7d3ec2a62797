"""An app signs in, in process: registered, asked about, allowed, given tokens. Every value can be another one."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import httpx2
import pytest

from archivist.app import OWNER, App
from archivist.domain.access import Principal, Scope
from archivist.domain.clients import Method
from archivist.domain.ids import CONTROL, VaultId
from archivist.server import asgi
from archivist.settings import Settings
from archivist.storage import heads
from archivist.storage.database import Write
from tests.builders import Clock
from tests.faces.mcp.talking import modern, post
from tests.faces.web.browsing_in_process import ANA, Hall, Person, an_app
from tests.people import challenge_of

HERE = "http://127.0.0.1:8765"
LOOPBACK = "http://127.0.0.1:33418/callback"
OUTSIDE = "https://app.example/callback"
VERIFIER = "v" * 43
READ, WRITE, REFLECT, DELETE = (scope.value for scope in Scope)
ALL = " ".join(Scope)
AUTHORIZE, TOKEN, REGISTER, REVOKE = "/oauth/authorize", "/oauth/token", "/oauth/register", "/oauth/revoke"
Answer = httpx2.Response


class Asked(HTMLParser):
    """A page that asks: `inputs` are those of its forms as (attributes), `text` what can be read on it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.inputs: list[dict[str, str]] = []
        self.links: list[str] = []
        self._words: list[str] = []
        self.feed(html)
        self.text = " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("input", "button"):
            self.inputs.append({"tag": tag, **given})
        if "href" in given and tag == "a":
            self.links.append(given["href"])

    def handle_data(self, data: str) -> None:
        self._words.append(data)

    def values(self, name: str, *, ticked: bool = False) -> list[str]:
        """The values of the inputs of that name, or only of those that are ticked."""
        found = [one for one in self.inputs if one.get("name") == name and one["tag"] == "input"]
        return [one.get("value", "") for one in found if not ticked or "checked" in one]

    def one(self, name: str) -> str:
        """The only value of that name."""
        [value] = self.values(name)
        return value


def answered(answer: Answer) -> dict[str, str]:
    """The parameters that a browser carries to the app."""
    assert answer.status_code == 303, (answer.status_code, answer.text)
    return {name: value for name, [value] in parse_qs(urlsplit(answer.headers["location"]).query).items()}


def fields(given: Mapping[str, Any]) -> str:
    """A form or query. None leaves a field out, a list repeats it, bytes are sent as they are."""
    pairs = [
        (name, one)
        for name, value in given.items()
        for one in (value if isinstance(value, list) else [value])
        if one is not None
    ]
    return urlencode(pairs, quote_via=quote)


def refused(answer: Answer, code: str, status: int = 400) -> bool:
    """An error of the RFC, in JSON, kept by nobody."""
    assert answer.headers["content-type"] == "application/json", answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert set(answer.json()) == {"error", "error_description"}
    return (answer.status_code, answer.json()["error"]) == (status, code)


@dataclass(slots=True)
class Flow:
    """One app and one person with a browser. What its methods are given replaces what they would send."""

    hall: Hall
    person: Person
    data: Path
    client: str = ""
    target: str = LOOPBACK
    address: str = "192.0.2.7"

    @property
    def app(self) -> App:
        return self.hall.app

    @property
    def clock(self) -> Clock:
        return self.hall.clock

    def question(self, **changes: Any) -> str:
        """The address that the app sends the browser to."""
        given = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": self.target,
            "scope": None,
            "state": "s",
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
        }
        return f"{AUTHORIZE}?{fields({**given, **changes})}"

    async def ask(self, **changes: Any) -> Answer:
        """What the person's browser gets there."""
        return await self.person.get(self.question(**changes))

    async def decide(self, page: Answer, decision: str = "allow", **changes: Any) -> Answer:
        """Post the form of a consent page, once it can have been read."""
        assert page.status_code == 200, page.text
        self.clock.move(seconds=1)
        asked = Asked(page.text)
        given = {
            "transaction": asked.one("transaction"),
            "vault": (asked.values("vault", ticked=True) or [None])[0],
            "scope": asked.values("scope", ticked=True),
            "decision": decision,
        }
        chosen = {name: value for name, value in {**given, **changes}.items() if value is not None}
        return await self.person.post(self.question(), chosen)

    async def code(self, *scopes: str, **changes: Any) -> str:
        """A code for what was allowed."""
        vault = changes.pop("vault", None)
        chosen = {"scope": list(scopes or (READ,)), **({"vault": vault} if vault else {})}
        return answered(await self.decide(await self.ask(**changes), **chosen))["code"]

    async def exchange(self, code: str | None, **changes: Any) -> Answer:
        """A code for tokens."""
        given = {
            "grant_type": "authorization_code",
            "client_id": self.client,
            "code": code,
            "code_verifier": VERIFIER,
            "redirect_uri": self.target,
        }
        return await self.call(TOKEN, {**given, **changes})

    async def refresh(self, token: str | None, **changes: Any) -> Answer:
        """The next tokens."""
        given = {"grant_type": "refresh_token", "client_id": self.client, "refresh_token": token}
        return await self.call(TOKEN, {**given, **changes})

    async def revoke(self, token: str | None, **changes: Any) -> Answer:
        """The app gives a token back."""
        return await self.call(REVOKE, {"token": token, "client_id": self.client, **changes})

    async def tokens(self, *scopes: str, **changes: Any) -> dict[str, Any]:
        """A whole sign-in: what the token endpoint answers in the end."""
        answer = await self.exchange(await self.code(*scopes, **changes))
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def call(self, path: str, form: Mapping[str, Any], **headers: str) -> Answer:
        """A form that the app posts by itself."""
        body, kind = fields(form).encode(), "application/x-www-form-urlencoded"
        return await self.request("POST", path, content=body, headers={"content-type": kind, **headers})

    async def register(self, **metadata: Any) -> Answer:
        """A registration, from wherever `address` is."""
        return await self.request("POST", REGISTER, json=metadata)

    async def request(self, method: str, path: str, **more: Any) -> Answer:
        """Anything that a program asks."""
        async with self.program() as http:
            return await http.request(method, path, **more)

    def program(self, **headers: str) -> httpx2.AsyncClient:
        """A client that keeps no cookies."""
        transport = httpx2.ASGITransport(app=self.hall.server, client=(self.address, 40000), raise_app_exceptions=False)
        return httpx2.AsyncClient(transport=transport, base_url=HERE, headers=headers)

    async def tool(self, token: str, name: str = "memory_status", path: str = "/mcp", **arguments: Any) -> Answer:
        """A tool is called with a token or key."""
        async with self.program(authorization=f"Bearer {token}") as http:
            return await post(http, modern("tools/call", name=name, arguments=arguments), path)

    async def lets_in(self, token: str, path: str = "/mcp") -> bool:
        """Whether a token opens anything."""
        async with self.program(authorization=f"Bearer {token}") as http:
            answer = await post(http, modern("tools/list"), path)
        assert answer.status_code in (200, 401), answer.text
        return answer.status_code == 200

    async def another(self, target: str = LOOPBACK, **metadata: Any) -> "Flow":
        """Another app, asking the same person."""
        answer = await self.register(redirect_uris=[target], **metadata)
        assert answer.status_code == 201, answer.text
        return replace(self, client=answer.json()["client_id"], target=target)

    async def confidential(self, method: Method = "client_secret_post") -> tuple["Flow", str]:
        """An app that an administrator made, and its secret."""
        made, secret = await self.app.clients.create(OWNER, name="Shop", redirect_uris=[OUTSIDE], method=method)
        return replace(self, client=made.client_id, target=OUTSIDE), secret

    def of(self, person: Person) -> "Flow":
        """The same app, asking somebody else."""
        return replace(self, person=person)

    async def principal(self, vault: str = "personal") -> Principal:
        """The person, as services see them."""
        return await self.hall.principal(ANA, vault)

    async def vault(self, name: str) -> VaultId:
        """A new vault of theirs."""
        return (await self.app.vaults.create(OWNER, name, "project")).id

    async def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """What lies in a table of the control database."""
        return await self.hall.rows(table)

    async def execute(self, statement: Any) -> None:
        """A change behind the back of the services, which their caches are told of."""
        control = await self.app.stores.control()
        await control.apply([heads.raise_seq(CONTROL, 1), Write(statement)])

    async def restart(self) -> None:
        """The same folder, opened anew; the browser keeps its cookies."""
        await self.app.close()
        self.hall.app = an_app(self.data, self.clock)
        await self.hall.app.start()
        self.hall.server = asgi(self.hall.app, Settings(data=self.data))
        self.person.server = self.hall.server


@asynccontextmanager
async def opened(data: Path, clock: Clock, **settings: Any) -> AsyncIterator[Flow]:
    """A server with those settings, Ana signed in, and an app that has registered if it may."""
    app = an_app(data, clock, **settings)
    await app.start()
    hall = Hall(app, asgi(app, Settings(data=data, **settings)), clock)
    if not await app.accounts.is_set_up(OWNER):
        await hall.set_up()
        await app.vaults.personal(OWNER)
    person = hall.browser()
    flow = Flow(hall, person, data)
    await person.sign_in()
    registered = await flow.register(client_name="An app", redirect_uris=[LOOPBACK])
    flow.client = registered.json().get("client_id", "")
    yield flow
    await flow.app.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def flow(tmp_path: Path, clock: Clock) -> AsyncIterator[Flow]:
    async with opened(tmp_path / "data", clock) as flow:
        yield flow


@pytest.fixture
async def outside(flow: Flow) -> Flow:
    """An app that returns to a site elsewhere."""
    return await flow.another(OUTSIDE, client_name="An app elsewhere")
