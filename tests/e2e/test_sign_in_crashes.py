"""Servers are killed in the middle of exchanges, refreshes and sign-offs: what was acknowledged holds, and nothing is
half granted."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import httpx2
import pytest

from archivist.domain import secrets
from tests.e2e import inspecting
from tests.e2e.connecting import Ready, household
from tests.e2e.processes import Place, Server
from tests.faces.mcp.talking import modern
from tests.waiting import SECONDS

pytestmark = pytest.mark.anyio

ROUNDS, APPS = 3, 6

HALF = {
    "a token without its connection": (
        'SELECT count(*) FROM tokens t LEFT JOIN grants g ON g.vault = t.vault AND g.id = t."grant" WHERE g.id IS NULL'
    ),
    "a code that was not spent, and tokens from it": (
        "SELECT count(*) FROM codes c JOIN tokens t ON t.family = c.family WHERE c.spent IS NULL"
    ),
    "a code that was spent, and no tokens from it": (
        "SELECT count(*) FROM codes c WHERE c.spent IS NOT NULL AND c.failures = 0"
        " AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.family = c.family)"
    ),
    "a refresh that was spent, without its successor": (
        "SELECT count(*) FROM tokens t WHERE t.spent IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM tokens s WHERE s.digest = t.successor)"
    ),
    "a family with two refresh tokens that live": (
        "SELECT count(*) FROM (SELECT 1 FROM tokens WHERE kind = 'refresh' AND spent IS NULL AND ended IS NULL"
        " GROUP BY family HAVING count(*) > 1)"
    ),
    "a token that lives on after its connection": (
        'SELECT count(*) FROM tokens t JOIN grants g ON g.vault = t.vault AND g.id = t."grant"'
        " WHERE g.ended IS NOT NULL AND t.ended IS NULL"
    ),
}


@dataclass(slots=True)
class Acknowledged:
    """What servers have answered. `kills` is called once there are enough answers."""

    left: int
    kills: Callable[[], object]
    spent: list[Ready] = field(default_factory=list)
    issued: set[str] = field(default_factory=set)
    given_back: set[str] = field(default_factory=set)

    def answer(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.kills()


async def visit(http: httpx2.AsyncClient, ready: Ready, random: Random, known: Acknowledged) -> None:
    """An app exchanges its code, refreshes again and again, and now and then gives its tokens back."""
    answer = await http.post("/oauth/token", data=ready.exchange())
    assert answer.status_code == 200, answer.text
    known.spent.append(ready)
    while True:
        tokens = answer.json()
        known.issued.add(tokens["access_token"])
        known.answer()
        if random.random() < 0.1:
            form = {"token": tokens["refresh_token"], "client_id": ready.client}
            assert (await http.post("/oauth/revoke", data=form)).status_code == 200
            known.given_back.add(tokens["access_token"])
            known.answer()
            return
        answer = await http.post("/oauth/token", data=ready.refresh(tokens["refresh_token"]))
        assert answer.status_code == 200, answer.text


async def until_killed(visit: Awaitable[None]) -> None:
    with suppress(httpx2.TransportError):
        await visit


def half_done(data: Path) -> list[str]:
    with inspecting.looking(data / "control.db") as connection:
        return [what for what, count in HALF.items() if connection.execute(count).fetchone()[0]]


def ended(data: Path) -> set[str]:
    """The digests of access tokens that are over."""
    with inspecting.looking(data / "control.db") as connection:
        found = connection.execute("SELECT digest FROM tokens WHERE kind = 'access' AND ended IS NOT NULL")
        return {digest for (digest,) in found.fetchall()}


async def lets_in(http: httpx2.AsyncClient, token: str) -> bool:
    body, headers = modern("tools/call", name="memory_status", arguments={})
    sent = {"accept": "application/json", "authorization": f"Bearer {token}", **headers}
    return (await http.post("/mcp", json=body, headers=sent)).status_code == 200


def client_of(server: Server) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=server.origin, timeout=SECONDS)


async def test_a_kill_in_the_middle_of_exchanges_and_refreshes_leaves_nothing_half_granted(tmp_path: Path):
    place, seed = Place(tmp_path / "data", {"ARCHIVIST_EMBEDDER": "none"}), SystemRandom().getrandbits(32)
    print(f"seed {seed}")  # noqa: T201 — shown when it fails
    random = Random(seed)
    async with household(place.data) as home:
        for _ in range(ROUNDS):
            ready: list[Any] = [await home.code() for _ in range(APPS)]
            with place.serving() as server:
                known = Acknowledged(
                    random.randrange(1, 60), lambda server=server: server.started.signal(signal.SIGKILL)
                )
                async with client_of(server) as http:
                    visits = [visit(http, one, Random(random.random()), known) for one in ready]
                    await asyncio.wait_for(asyncio.gather(*map(until_killed, visits)), SECONDS)
                server.stop(signal.SIGKILL)
            assert half_done(place.data) == []
            assert inspecting.faults(place.data) == []
            await still_so(place, known)


async def still_so(place: Place, known: Acknowledged) -> None:
    """What was answered before the kill is so after it."""
    over = ended(place.data)
    with place.serving() as server:
        async with client_of(server) as http:
            for token in known.issued:
                assert await lets_in(http, token) is (secrets.digest(token) not in over)
            assert not [token for token in known.given_back if await lets_in(http, token)]
            for ready in known.spent:
                again = await http.post("/oauth/token", data=ready.exchange())
                assert again.json()["error"] == "invalid_grant"
        server.stop()
