"""Signing in through a real OpenID provider: linked first, known by issuer and subject, finished where it was begun."""

import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import httpx2
import pytest

from archivist.app import OWNER, App, build
from archivist.domain.times import utc_now
from archivist.server import asgi
from archivist.settings import Settings
from archivist.storage.people import users
from tests.clients.programs import environment, installed

pytestmark = pytest.mark.anyio
HERE = "http://127.0.0.1:8765"
CALLBACK = "/sign-in/outside/callback"
PASSWORD = "correct horse battery staple"
_FIELD = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')
_FORM = re.compile(r'<form[^>]*action="([^"]+)"')


@dataclass
class Tab:
    """A browser window: our pages in process, the provider's over the network, with the cookies of both."""

    ours: httpx2.AsyncClient
    theirs: httpx2.AsyncClient
    cookies: dict[str, str] = field(default_factory=dict)
    page: str = ""

    async def get(self, path: str) -> httpx2.Response:
        return self._seen(await self.ours.get(path, headers=self._sent()))

    async def post(self, path: str, **fields: Any) -> httpx2.Response:
        """A form of the page that was seen last, with all its hidden fields."""
        hidden = {name: unescape(value) for name, value in _FIELD.findall(self.page)}
        return self._seen(await self.ours.post(path, data={**hidden, **fields}, headers=self._sent()))

    async def at_the_provider(self, address: str, name: str) -> str:
        """Sign in there as `name`, agree, and come to where the browser is sent back."""
        answer = await self.theirs.get(address)
        for _ in range(12):
            if answer.is_redirect:
                target = urljoin(str(answer.request.url), answer.headers["location"])
                if target.startswith(HERE):
                    return target
                answer = await self.theirs.get(target)
                continue
            action, hidden = _FORM.search(answer.text), dict(_FIELD.findall(answer.text.replace('"/>', '">')))
            assert action, answer.text
            filled = {"login": name, "password": "any"} if hidden.get("prompt") == "login" else {}
            answer = await self.theirs.post(unescape(action[1]), data={**hidden, **filled})
        raise AssertionError("the provider did not send the browser back")

    def _sent(self) -> dict[str, str]:
        return {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}

    def _seen(self, answer: httpx2.Response) -> httpx2.Response:
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            if value.strip('"'):
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        self.page = answer.text
        return answer


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("provider")
    command = [installed("node"), str(Path(__file__).with_name("provider.mjs")), f"{HERE}{CALLBACK}"]
    with (home / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait()
    process.stdout.close()


@pytest.fixture
def settings(tmp_path, issuer) -> Settings:
    client = {"provider_client": "archivist", "provider_secret": "a secret for tests", "provider_name": "The House"}
    return Settings(data=tmp_path / "data", embedder="none", provider=issuer, **client)


@pytest.fixture
async def app(settings) -> AsyncIterator[App]:
    app = build(settings)
    await app.start()
    await app.accounts.set_up(await app.accounts.set_up_link(OWNER) or "", "ana", PASSWORD)
    yield app
    await app.close()


@pytest.fixture
async def open_tab(app, settings) -> AsyncIterator[Any]:
    tabs = []

    def made() -> Tab:
        ours = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=asgi(app, settings)), base_url=HERE)
        tabs.append(Tab(ours, httpx2.AsyncClient(trust_env=False)))
        return tabs[-1]

    yield made
    for tab in tabs:
        await tab.ours.aclose()
        await tab.theirs.aclose()


async def signed_in(tab: Tab) -> Tab:
    await tab.get("/sign-in")
    assert (await tab.post("/sign-in", name="ana", password=PASSWORD)).status_code == 303
    return tab


async def link(tab: Tab, name: str) -> httpx2.Response:
    """Link the account of whoever is signed in to `name` at the provider."""
    await tab.get("/app/account")
    leaving = await tab.post("/app/outside/link")
    assert leaving.status_code == 303, leaving.text
    return await tab.get(await tab.at_the_provider(leaving.headers["location"], name))


async def leaving_from(tab: Tab, path: str) -> str:
    """Where the button of the sign-in page that stands at `path` leads."""
    await tab.get(path)
    assert "The House" in tab.page
    answer = await tab.post("/sign-in/outside")
    assert answer.status_code == 303
    return str(answer.headers["location"])


async def test_whoever_linked_their_account_signs_in_through_the_provider(open_tab):
    assert (await link(await signed_in(open_tab()), "ana at work")).headers["location"] == "/app/account"
    other = open_tab()
    back = await other.at_the_provider(await leaving_from(other, "/sign-in"), "ana at work")
    answer = await other.get(back)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert (await other.get("/app/account")).status_code == 200
    assert "Sign out" in other.page


async def test_sec_020_the_page_of_the_app_that_waits_follows_in_the_same_browser(open_tab, app):
    await link(await signed_in(open_tab()), "ana at work")
    client = await app.clients.register({"client_name": "Waiter", "redirect_uris": ["http://127.0.0.1/cb"]}, "::1")
    asked = {
        "response_type": "code", "client_id": client.client_id, "redirect_uri": "http://127.0.0.1:9/cb",
        "code_challenge": "x" * 43, "code_challenge_method": "S256",
    }  # fmt: skip
    wanted = f"/oauth/authorize?{urlencode(asked)}"
    tab = open_tab()
    back = await tab.at_the_provider(await leaving_from(tab, wanted), "ana at work")
    assert (await tab.get(back)).headers["location"] == wanted
    assert (await tab.get(wanted)).status_code == 200
    assert "Waiter" in tab.page
    assert 'name="transaction"' in tab.page


async def test_sec_020_a_callback_in_another_browser_opens_nothing(open_tab):
    await link(await signed_in(open_tab()), "ana at work")
    begun, thief = open_tab(), open_tab()
    back = await begun.at_the_provider(await leaving_from(begun, "/sign-in"), "ana at work")
    await thief.get("/sign-in")
    stolen = await thief.get(back)
    assert stolen.status_code == 403
    assert "__Host-archivist-session" not in thief.cookies


async def test_sec_020_a_callback_works_once(open_tab):
    await link(await signed_in(open_tab()), "ana at work")
    tab = open_tab()
    back = await tab.at_the_provider(await leaving_from(tab, "/sign-in"), "ana at work")
    held = dict(tab.cookies)
    assert (await tab.get(back)).status_code == 303
    tab.cookies = held
    assert (await tab.get(back)).status_code == 403


@pytest.mark.parametrize("change", ["state", "code"])
async def test_sec_020_a_swapped_state_or_code_opens_nothing(open_tab, change):
    await link(await signed_in(open_tab()), "ana at work")
    tab = open_tab()
    back = urlsplit(await tab.at_the_provider(await leaving_from(tab, "/sign-in"), "ana at work"))
    query = {name: values[0] for name, values in parse_qs(back.query).items()} | {change: "another"}
    answer = await tab.get(f"{back.path}?{urlencode(query)}")
    assert answer.status_code == 403
    assert "__Host-archivist-session" not in tab.cookies


async def test_sec_020_somebody_who_is_not_linked_is_nobody_here_whatever_their_name(open_tab):
    tab = open_tab()
    back = await tab.at_the_provider(await leaving_from(tab, "/sign-in"), "ana")
    assert (await tab.get(back)).status_code == 403
    assert "__Host-archivist-session" not in tab.cookies


async def test_sec_020_the_same_subject_at_another_provider_is_somebody_else(open_tab, app):
    await link(await signed_in(open_tab()), "ana at work")
    known = await users.identities_of(await app.stores.control(), OWNER.user)
    assert len(known) == 1
    elsewhere = await users.by_identity(await app.stores.control(), "0" * 64)
    assert elsewhere is None


async def test_sec_020_linking_needs_a_fresh_local_sign_in(open_tab, app, monkeypatch):
    tab = await signed_in(open_tab())
    await tab.get("/app/account")
    later = utc_now() + timedelta(minutes=11)
    object.__setattr__(app.sign_in, "now", lambda: later)
    object.__setattr__(app.connections, "now", lambda: later)
    answer = await tab.post("/app/outside/link")
    assert answer.status_code == 403
    assert "password" in answer.text
    assert not await app.outside.linked(OWNER)


async def test_a_provider_that_does_not_answer_leaves_the_password(tmp_path):
    settings = Settings(data=tmp_path / "data", embedder="none", provider="http://127.0.0.1:9", provider_name="Gone")
    app = build(settings)
    await app.start()
    try:
        await app.accounts.set_up(await app.accounts.set_up_link(OWNER) or "", "ana", PASSWORD)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=asgi(app, settings)), base_url=HERE) as http:
            answer = await http.get("/sign-in")
        assert answer.status_code == 200
        assert "Gone" not in answer.text
    finally:
        await app.close()
