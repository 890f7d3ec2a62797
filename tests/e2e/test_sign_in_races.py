"""Two servers on one folder: what may happen once happens once, and what is revoked at one is revoked at the other."""

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest

from archivist.app import OWNER, build
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
