"""No secret comes out twice: a whole server is used with secrets of every kind, and then all that it said is searched.

What it said: every answer but the one that hands a secret out, every line of its log, and every file of its data.
"""

import re
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pyotp
import pytest

from archivist.app import OWNER, App, build
from archivist.domain.access import Scope
from archivist.domain.times import utc_now
from archivist.settings import Settings
from tests.e2e.leftovers import SLICE, traces
from tests.e2e.processes import Place
from tests.faces.mcp.talking import modern
from tests.faces.web.browsing_in_process import Person
from tests.people import challenge_of
from tests.security.signing_in import VERIFIER
from tests.waiting import SECONDS, eventually

pytestmark = pytest.mark.anyio
TARGET = "http://127.0.0.1:9/callback"
PASSWORD, SECOND_PASSWORD = "harbour violet umbrella 17", "lantern orchard saddle 23"
PAGES = [
    "/", "/sign-in", "/app/connections", "/app/keys", "/app/vaults", "/app/account", "/app/activity",
    "/app/activity?vault=server", "/app/people", "/app/connections.json", "/app/keys.json", "/app/vaults.json",
    "/app/activity.json", "/app/activity.json?vault=server", "/nowhere", "/health",
    "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp",
]  # fmt: skip


@dataclass(slots=True)
class Heard:
    """Every secret there is, by what it is; and all that was answered apart from the answers that handed one out."""

    secrets: dict[str, str] = field(default_factory=dict)
    answers: list[bytes] = field(default_factory=list)

    def take(self, **found: str) -> None:
        assert all(len(secret) >= SLICE or name.startswith("recovery_code") for name, secret in found.items())
        self.secrets |= found

    def answer(self, answer: httpx2.Response) -> httpx2.Response:
        """Remember all of an answer."""
        shown = [f"{name}: {value}" for name, value in answer.headers.items() if name != "set-cookie"]
        self.answers.append("\n".join([str(answer.status_code), *shown, answer.text]).encode())
        return answer


class Browser(Person):
    """A browser that comes over the network. What it is given in cookies is a secret, too."""

    origin: str
    heard: Heard

    async def ask(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> httpx2.Response:
        own = {"user-agent": self.agent, **({"cookie": self.cookie} if self.cookies else {}), **(headers or {})}
        async with httpx2.AsyncClient(base_url=self.origin, timeout=SECONDS) as http:
            answer = await http.request(method, path, headers=own, **more)
        self._keep(answer)
        for name, value in self.cookies.items():
            self.heard.take(**{f"{name} {value[:8]}": value})
        return answer


@dataclass(slots=True)
class Stage:
    """A server on its own folder, with a second process that stands for its operator's command line."""

    origin: str
    app: App
    heard: Heard

    def browser(self) -> Browser:
        person = Browser(server=None)  # type: ignore[arg-type] — it asks over the network
        person.origin, person.heard = self.origin, self.heard
        return person

    async def call(self, method: str, path: str, credential: str, header: str = "authorization", **more: Any) -> Any:
        """A program's request. Its answer is searched unless `handing` says that it hands a secret out."""
        handing = more.pop("handing", False)
        value = f"Bearer {credential}" if header == "authorization" else credential
        headers = {"accept": "application/json", **more.pop("headers", {}), **({header: value} if credential else {})}
        async with httpx2.AsyncClient(base_url=self.origin, timeout=SECONDS) as http:
            answer = await http.request(method, path, headers=headers, **more)
        return answer if handing else self.heard.answer(answer)


@asynccontextmanager
async def staged(place: Place, heard: Heard) -> AsyncIterator[Stage]:
    app = build(Settings(data=place.data, embedder="none"))
    try:
        with place.serving("--no-set-up-link") as server:
            yield Stage(server.origin, app, heard)
            assert server.stop() == 0
            heard.answers.append(server.started.everything().encode())
            heard.answers.append("".join(server.started.heard).encode())
    finally:
        await app.close()


async def test_sec_127_no_secret_is_in_an_answer_a_log_line_or_a_file_after_it_was_handed_out(tmp_path: Path):
    place = Place(tmp_path / "data", {"ARCHIVIST_EMBEDDER": "none", "ARCHIVIST_LOG_LEVEL": "debug"})
    heard = Heard()
    async with staged(place, heard) as stage:
        ana = await people(stage)
        await keys(stage, ana)
        await app_that_connects(stage, ana)
        await confidential_app(stage)
        await misplaced(stage)
        await look_around(stage, ana)
    kinds = {re.sub(r"[ \d].*", "", name) for name in heard.secrets}
    assert kinds >= {
        "set_up", "invitation", "recovery", "password", "otp", "recovery_code", "key", "account", "minted", "rotated",
        "code", "access", "refresh", "next_refresh", "client", "transaction", "__Host-archivist-session",
        "__Host-archivist-device",
    }  # fmt: skip
    assert leaks(heard, place.data) == []


def leaks(heard: Heard, data: Path) -> list[str]:
    """Where any secret, or a long part of one, is found."""
    whole = {name: secret.encode() for name, secret in heard.secrets.items()}
    said = data.parent / "said"
    said.mkdir(exist_ok=True)
    for number, answer in enumerate(heard.answers):
        (said / f"answer {number}").write_bytes(answer)
    assert len(heard.answers) > 40
    long = [secret for secret in whole.values() if len(secret) >= SLICE]
    short = [
        f"{path.name}: {name}"
        for path in [*said.iterdir(), *data.rglob("*")]
        if path.is_file()
        for name, secret in whole.items()
        if len(secret) < SLICE and secret in path.read_bytes()
    ]
    return [*traces(said, long), *traces(data, long), *short]


async def people(stage: Stage) -> Browser:
    """The first account, one that is invited, one that is recovered; a second factor and its codes."""
    set_up = await stage.app.accounts.set_up_link(OWNER) or ""
    ana = stage.browser()
    await ana.get(f"/set-up/{set_up}")
    await ana.post(f"/set-up/{set_up}", {"name": "Ana", "password": PASSWORD, "again": PASSWORD})
    await ana.get("/app/vaults")
    await ana.post("/app/vaults", {"name": "Garden", "kind": "project"})
    [garden] = [one for one in (await ana.get("/app/vaults.json")).json()["vaults"] if one["name"] == "Garden"]
    page = (await ana.post(f"/app/vaults/{garden['id']}/invitations", {"role": "member"})).text
    invitation = found(r"/invitation/([^<\"]+)", page)
    stage.heard.answer(await stage.browser().get("/invitation/avl_" + "x" * 43))
    bob = stage.browser()
    await bob.get(f"/invitation/{invitation}")
    fields = {"decision": "new", "name": "Bob", "password": SECOND_PASSWORD, "again": SECOND_PASSWORD}
    assert (await bob.post(f"/invitation/{invitation}", fields)).status_code == 303
    recovery = await stage.app.accounts.recovery_link(OWNER, "Bob")
    await bob.get(f"/recovery/{recovery}")
    await bob.post(f"/recovery/{recovery}", {"password": SECOND_PASSWORD[::-1], "again": SECOND_PASSWORD[::-1]})
    stage.heard.take(set_up=set_up, invitation=invitation, recovery=recovery, password=PASSWORD)
    stage.heard.take(password_2=SECOND_PASSWORD, password_3=SECOND_PASSWORD[::-1])
    await second_factor(stage, bob)
    return ana


async def second_factor(stage: Stage, bob: Browser) -> None:
    await bob.sign_in("Bob", SECOND_PASSWORD[::-1])
    page = (await bob.get("/app/two-factor")).text
    offer = unescape(found(r'name="offer" value="([^"]+)"', page))
    otp = found(r'<p class="once" tabindex="0"><code>([A-Z2-7 ]+)</code>', page).replace(" ", "")
    code = pyotp.TOTP(otp).at(utc_now())
    answer = await bob.post("/app/two-factor", {"offer": offer, "code": code})
    codes = re.findall(r"<li><code>([a-z0-9-]+)</code></li>", answer.text)
    assert len(codes) == 10, answer.status_code
    stage.heard.take(otp=otp, offer=offer, **{f"recovery_code {number}": code for number, code in enumerate(codes)})
    await bob.post("/sign-out")
    await bob.sign_in("Bob", SECOND_PASSWORD[::-1])
    await bob.get("/sign-in")
    stage.heard.answer(await bob.post("/sign-in", {"recovery_code": "wrong-wrong"}))
    assert (await bob.post("/sign-in", {"recovery_code": codes[0]})).status_code == 303
    stage.heard.answer(await bob.get("/app/account"))


async def keys(stage: Stage, ana: Browser) -> None:
    """Keys of each kind: made on the page, renewed, minted; used, refused, ended."""
    [personal] = [one for one in (await ana.get("/app/vaults.json")).json()["vaults"] if one["name"] != "Garden"]
    form = {"name": "laptop", "vault": personal["id"], "expires": "90", "scope": list(Scope)}
    key = found(r"<code>(mk_\w+)</code>", (await ana.post("/app/keys", form)).text)
    [row] = (await ana.get("/app/keys.json")).json()["keys"]
    rotated = found(r"<code>(mk_\w+)</code>", (await ana.post(f"/app/keys/{row['id']}/rotate")).text)
    _, account = await stage.app.keys.create(
        await stage.app.local(), name="backend", scopes=frozenset(Scope), kind="account"
    )
    made = (await stage.call("POST", "/v1/keys", account, json={"name": "user:1"}, handing=True)).json()
    stage.heard.take(key=key, rotated=rotated, account=account, minted=made["key"])
    await stage.call("GET", "/v1/keys", account, "x-api-key")
    await stage.call("DELETE", f"/v1/keys/{made['id']}", account, "x-memory-key")
    for credential in (key, rotated, account, made["key"], f"{key}:read"):
        await use(stage, credential)
        await stage.call("GET", "/v1/keys", credential)
    stage.heard.answer(await ana.post(f"/app/keys/{row['id']}/revoke"))
    await use(stage, key)


async def app_that_connects(stage: Stage, ana: Browser) -> None:
    """An app from its registration over refreshes to a token that was shown twice."""
    answer = await stage.call("POST", "/oauth/register", "", json={"client_name": "App", "redirect_uris": [TARGET]})
    client = answer.json()["client_id"]
    asked = urlencode({
        "response_type": "code", "client_id": client, "redirect_uri": TARGET, "state": "x", "scope": " ".join(Scope),
        "code_challenge": challenge_of(VERIFIER), "code_challenge_method": "S256",
    })  # fmt: skip
    page = (await ana.get(f"/oauth/authorize?{asked}")).text
    transaction = found(r'name="transaction" value="([^"]+)"', page)
    vault = found(r'name="vault" value="([0-9a-f-]{36})"', page.replace("\n", " "))
    form = {"transaction": transaction, "vault": vault, "scope": list(Scope), "decision": "allow"}

    async def allowed() -> str:
        sent = await ana.post(f"/oauth/authorize?{asked}", form)
        return sent.headers.get("location", "") if sent.status_code == 303 else ""

    code = parse_qs(urlsplit(await eventually(allowed, "the question can be answered")).query)["code"][0]
    exchange = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "redirect_uri": TARGET}
    first = await tokens(stage, client, exchange)
    refresh = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    second = await tokens(stage, client, refresh)
    stage.heard.take(
        transaction=transaction, code=code, access=first["access_token"], refresh=first["refresh_token"],
        next_access=second["access_token"], next_refresh=second["refresh_token"],
    )  # fmt: skip
    for token in (first["access_token"], second["access_token"], second["refresh_token"], code):
        await use(stage, token)
    [row] = (await ana.get("/app/connections.json")).json()["connections"]
    for end in ("", ".json"):
        stage.heard.answer(await ana.get(f"/app/connections/{row['id']}{end}"))
    for spent in (exchange, {**refresh, "scope": "memories:read"}):
        await stage.call("POST", "/oauth/token", "", data={"client_id": client, **spent})
    await use(stage, second["access_token"])
    await stage.call("POST", "/oauth/revoke", "", data={"client_id": client, "token": second["refresh_token"]})


async def tokens(stage: Stage, client: str, form: Mapping[str, str]) -> Mapping[str, str]:
    answer = await stage.call("POST", "/oauth/token", "", data={"client_id": client, **form}, handing=True)
    assert answer.status_code == 200, answer.text
    given: Mapping[str, str] = answer.json()
    return given


async def confidential_app(stage: Stage) -> None:
    client, secret = await stage.app.clients.create(
        OWNER, name="Confidential", redirect_uris=[TARGET], method="client_secret_post"
    )
    stage.heard.take(client=secret)
    for given in (secret, f"{secret}x"):
        form = {"client_id": client.client_id, "client_secret": given, "grant_type": "refresh_token"}
        await stage.call("POST", "/oauth/token", "", data={**form, "refresh_token": "avr_" + "x" * 43})


async def use(stage: Stage, credential: str) -> None:
    """Tools with it, whether it opens them or not."""
    for tool, arguments in (("memory_status", {}), ("store_memory", {"content": "a fact"}), ("nothing", {"a": 1})):
        body, headers = modern("tools/call", name=tool, arguments=arguments)
        for path in ("/mcp", "/mcp/coding"):
            await stage.call("POST", path, credential, json=body, headers=headers)


async def misplaced(stage: Stage) -> None:
    """Every secret once in each place where it does not belong."""
    async with httpx2.AsyncClient(base_url=stage.origin, timeout=SECONDS) as http:
        for secret in dict(stage.heard.secrets).values():
            for path in ("/nowhere", "/mcp", "/app/keys.json", "/app/activity.json"):
                stage.heard.answer(await http.get(path, params={"token": secret, "before": secret}))
            for header in ("authorization", "x-api-key"):
                carried = {header: secret.replace(" ", "-")}
                stage.heard.answer(await http.get("/v1/keys", headers=carried))


async def look_around(stage: Stage, ana: Browser) -> None:
    """Every page and list that there is, and what the command line shows."""
    rows = (await ana.get("/app/vaults.json")).json()["vaults"]
    more = [f"/app/vaults/{row['id']}{end}" for row in rows for end in ("", ".json")]
    activity = [f"/app/activity{end}?vault={row['id']}" for row in rows for end in ("", ".json")]
    for path in [*PAGES, *more, *activity]:
        stage.heard.answer(await ana.get(path))
    stage.heard.answers.append(repr(await stage.app.keys.list(OWNER)).encode())
    stage.heard.answers.append(repr(await stage.app.connections.list(OWNER)).encode())
    stage.heard.answers.append(repr(await stage.app.accounts.list(OWNER)).encode())


def found(pattern: str, page: str) -> str:
    match = re.search(pattern, page)
    assert match, page
    return match[1]


@pytest.mark.parametrize("where", ["answer", "file", "part", "recovery"])
def test_a_secret_that_came_out_would_be_found(tmp_path: Path, where: str):
    secret, code = "mk_" + "q7" * 24, "abcde-fghjk"
    heard = Heard({"key": secret, "recovery_code 1": code}, [b"nothing"] * 50)
    (tmp_path / "data").mkdir()
    assert leaks(heard, tmp_path / "data") == []
    shutil.rmtree(tmp_path / "said")
    text = {"answer": secret, "file": secret, "part": secret[8 : 8 + SLICE], "recovery": code}[where]
    if where == "answer":
        heard.answers.append(f"a page with {text}".encode())
    else:
        (tmp_path / "data" / "control.db").write_bytes(b"\x00\x01" + text.encode() + b"\x00")
    assert leaks(heard, tmp_path / "data") != []
