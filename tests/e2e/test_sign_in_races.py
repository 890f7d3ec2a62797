"""Two servers on one folder: what may happen once happens once, and what is revoked at one is revoked at the other."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pyotp
import pytest

from archivist.app import OWNER, App, build
from archivist.domain.errors import ArchivistError
from archivist.services.sign_in import Visitor
from archivist.settings import Settings
from tests.e2e.connecting import PASSWORD, household
from tests.e2e.processes import Place
from tests.faces.mcp.talking import modern
from tests.waiting import SECONDS

pytestmark = pytest.mark.anyio
AT_ONCE = 50
ROUNDS = 4


@pytest.fixture
def place(tmp_path):
    """Without a model: nothing here is searched."""
    return Place(tmp_path / "data", {"ARCHIVIST_EMBEDDER": "none"})


@asynccontextmanager
async def two_servers(place: Place) -> AsyncIterator[Sequence[httpx2.AsyncClient]]:
    """A client of each, with a connection ready for every request that will go out at once."""
    limits = httpx2.Limits(max_connections=AT_ONCE)
    with place.serving() as one, place.serving() as two:
        async with (
            httpx2.AsyncClient(base_url=one.origin, timeout=SECONDS, limits=limits) as first,
            httpx2.AsyncClient(base_url=two.origin, timeout=SECONDS, limits=limits) as second,
        ):
            yield first, second


async def all_at_once(clients: Sequence[httpx2.AsyncClient], form: dict[str, str]) -> list[httpx2.Response]:
    """The same form AT_ONCE times, to the servers in turn, when everybody stands ready."""
    ready, answers = anyio.Event(), []

    async def one(http: httpx2.AsyncClient) -> None:
        await http.get("/health")
        await ready.wait()
        answers.append(await http.post("/oauth/token", data=form))

    async with anyio.create_task_group() as group:
        for number in range(AT_ONCE):
            group.start_soon(one, clients[number % len(clients)])
        await anyio.wait_all_tasks_blocked()
        ready.set()
    return answers


async def status(http: httpx2.AsyncClient, token: str) -> int:
    body, headers = modern("tools/call", name="memory_status", arguments={})
    sent = {"accept": "application/json", "authorization": f"Bearer {token}", **headers}
    return (await http.post("/mcp", json=body, headers=sent)).status_code


async def test_sec_063_of_fifty_refreshes_at_once_on_two_servers_all_get_the_same_pair(place):
    async with household(place.data) as home, two_servers(place) as servers:
        ready = await home.code()
        tokens = (await servers[0].post("/oauth/token", data=ready.exchange())).json()
        for _ in range(ROUNDS):
            answers = await all_at_once(servers, ready.refresh(tokens["refresh_token"]))
            assert {answer.status_code for answer in answers} == {200}
            pairs = {(answer.json()["access_token"], answer.json()["refresh_token"]) for answer in answers}
            assert len(pairs) == 1
            tokens = answers[0].json()
            assert [await status(http, tokens["access_token"]) for http in servers] == [200, 200]


async def test_sec_054_of_fifty_exchanges_of_one_code_on_two_servers_one_succeeds(place):
    async with household(place.data) as home, two_servers(place) as servers:
        for _ in range(ROUNDS):
            ready = await home.code()
            answers = await all_at_once(servers, ready.exchange())
            assert sorted(answer.status_code for answer in answers) == [200] + [400] * (AT_ONCE - 1)
            assert {answer.json()["error"] for answer in answers if answer.status_code == 400} == {"invalid_grant"}


async def test_sec_135_a_connection_ended_at_one_place_is_refused_by_both_servers_at_the_next_request(place):
    async with household(place.data) as home, two_servers(place) as servers:
        ready = await home.code()
        token = (await servers[0].post("/oauth/token", data=ready.exchange())).json()["access_token"]
        ended = anyio.Event()

        async def used(http: httpx2.AsyncClient) -> list[tuple[bool, int]]:
            """Whether it was known to be ended before the request went out, and what came back."""
            seen = []
            while not seen or not seen[-1][0]:
                known = ended.is_set()
                seen.append((known, await status(http, token)))
            return seen

        async def end() -> None:
            await home.app.connections.end(OWNER, ready.grant)
            ended.set()

        first, second, _ = await asyncio.gather(*(used(http) for http in servers), end())
        for seen in (first, second):
            assert {code for _, code in seen} <= {200, 401}
            assert [code for known, code in seen if known] == [401]


async def test_sec_136_a_revocation_that_was_answered_survives_kill_minus_nine(place):
    async with household(place.data) as home:
        ready = await home.code()
        with place.serving() as server:
            async with httpx2.AsyncClient(base_url=server.origin, timeout=SECONDS) as http:
                tokens = (await http.post("/oauth/token", data=ready.exchange())).json()
                form = {"token": tokens["refresh_token"], "client_id": ready.client}
                assert (await http.post("/oauth/revoke", data=form)).status_code == 200
                server.stop(signal.SIGKILL)
        with place.serving() as server:
            async with httpx2.AsyncClient(base_url=server.origin, timeout=SECONDS) as http:
                assert await status(http, tokens["access_token"]) == 401
                refreshed = await http.post("/oauth/token", data=ready.refresh(tokens["refresh_token"]))
                assert refreshed.json()["error"] == "invalid_grant"


async def test_sec_064_a_spent_refresh_token_is_known_after_kill_minus_nine(place):
    async with household(place.data) as home:
        ready = await home.code()
        with place.serving() as server:
            async with httpx2.AsyncClient(base_url=server.origin, timeout=SECONDS) as http:
                first = (await http.post("/oauth/token", data=ready.exchange())).json()
                second = (await http.post("/oauth/token", data=ready.refresh(first["refresh_token"]))).json()
                third = (await http.post("/oauth/token", data=ready.refresh(second["refresh_token"]))).json()
                server.stop(signal.SIGKILL)
        with place.serving() as server:
            async with httpx2.AsyncClient(base_url=server.origin, timeout=SECONDS) as http:
                again = await http.post("/oauth/token", data=ready.refresh(first["refresh_token"]))
                assert again.json()["error"] == "invalid_grant"
                assert await status(http, third["access_token"]) == 401
                last = await http.post("/oauth/token", data=ready.refresh(third["refresh_token"]))
                assert last.json()["error"] == "invalid_grant"


async def test_sec_016_of_many_who_use_the_set_up_link_at_once_in_two_processes_one_becomes_administrator(tmp_path):
    settings = Settings(data=tmp_path / "data", embedder="none")
    apps = [build(settings), build(settings)]
    try:
        link = await apps[0].accounts.set_up_link(OWNER)
        tries = [apps[number % 2].accounts.set_up(link or "", f"person {number}", PASSWORD) for number in range(8)]
        done = await asyncio.gather(*tries, return_exceptions=True)
        people = await apps[1].accounts.list(OWNER)
        assert len([one for one in done if not isinstance(one, Exception)]) == 1
        assert [user.administrator for user in people] == [True]
        assert await apps[0].accounts.set_up_link(OWNER) is None
    finally:
        for app in apps:
            await app.close()


@asynccontextmanager
async def two_processes(data: Path) -> AsyncIterator[Sequence[App]]:
    """The services of one folder twice, as two processes have them."""
    apps = [build(Settings(data=data, embedder="none")) for _ in range(2)]
    try:
        link = await apps[0].accounts.set_up_link(OWNER)
        await apps[0].accounts.set_up(link or "", "owner", PASSWORD)
        yield apps
    finally:
        for app in apps:
            await app.close()


async def succeeded(tries: Iterable[Awaitable[object]]) -> int:
    """How many of these, all begun at once, did not fail; every failure must be one that people are told."""
    done = await asyncio.gather(*tries, return_exceptions=True)
    failures = [one for one in done if isinstance(one, BaseException)]
    assert all(isinstance(failure, ArchivistError) for failure in failures), failures
    return len(done) - len(failures)


async def test_sec_022_of_many_who_use_one_invitation_at_once_in_two_processes_one_gets_in(tmp_path):
    async with two_processes(tmp_path / "data") as apps:
        link = await apps[0].accounts.invite(OWNER)
        tries = [apps[number % 2].accounts.join(link, f"guest {number}", PASSWORD) for number in range(6)]
        assert await succeeded(tries) == 1
        assert len(await apps[0].accounts.list(OWNER)) == 2


async def test_sec_018_of_many_who_use_one_recovery_link_at_once_in_two_processes_one_sets_the_password(tmp_path):
    async with two_processes(tmp_path / "data") as apps:
        link = await apps[0].accounts.recovery_link(OWNER, "owner")
        words = [f"a password of number {number}" for number in range(6)]
        assert await succeeded(apps[number % 2].accounts.recover(link, word) for number, word in enumerate(words)) == 1
        enter = [
            apps[0].sign_in.password(Visitor(address=f"192.0.2.{n}"), "owner", word) for n, word in enumerate(words)
        ]
        assert await succeeded(enter) == 1


async def test_sec_019_a_code_and_a_recovery_code_work_once_also_in_two_processes_at_once(tmp_path):
    async with two_processes(tmp_path / "data") as apps:
        here, [user] = Visitor(address="192.0.2.1"), await apps[0].accounts.list(OWNER)
        entered = await apps[0].sign_in.password(here, "owner", PASSWORD)
        _, who, _ = await apps[0].sign_in.session(entered.secret)
        offer = await apps[0].factors.offer(who, user.name)
        step = int(apps[0].factors.now().timestamp())
        recovery = await apps[0].factors.accept(who, offer.sealed, pyotp.TOTP(offer.secret).at(step), keep="")
        for code in (pyotp.TOTP(offer.secret).at(step + 30), recovery[0]):
            halves = [(app, await app.sign_in.outside(user.id, here)) for app in apps for _ in range(2)]
            assert await succeeded(app.sign_in.second_factor(half.session, here, code) for app, half in halves) == 1


async def test_sec_022_of_two_owners_who_leave_at_once_in_two_processes_one_stays(tmp_path):
    async with two_processes(tmp_path / "data") as apps:
        vault = await apps[0].vaults.create(OWNER, "shared", "project")
        user, _ = await apps[0].accounts.create(OWNER, "guest")
        entered = await apps[0].sign_in.outside(user.id, Visitor(address="192.0.2.1"))
        _, guest, _ = await apps[0].sign_in.session(entered.secret)
        await apps[0].accounts.accept(guest, await apps[0].members.invite(OWNER, vault.id, "owner"))
        leaving = [app.members.remove(who, vault.id, who.user) for app, who in zip(apps, (OWNER, guest), strict=True)]
        assert await succeeded(leaving) == 1
        assert len(await apps[0].vaults.list(OWNER)) + len(await apps[0].vaults.list(guest)) == 1
