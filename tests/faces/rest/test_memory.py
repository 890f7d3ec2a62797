"""`/v1/memory/{id}`: one memory with its lineage, and its deletion, by keys and access tokens."""

from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest

from archivist.app import OWNER
from archivist.domain.access import ALL_SCOPES, Scope
from archivist.services.derived import LIFE
from tests.builders import an_id
from tests.faces.mcp.talking import HERE
from tests.people import arrived, connected, founded
from tests.reflecting import three_tiers

pytestmark = pytest.mark.anyio
RAW, EVENT, TOP, UNKNOWN = an_id(1), an_id(11), an_id(21), an_id(99)


@dataclass(frozen=True, slots=True)
class Program:
    """Somebody's program, with a credential."""

    http: httpx2.AsyncClient
    credential: str

    async def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.credential}", **more.pop("headers", {})}
        return await self.http.request(method, f"/v1/memory/{path}", headers=headers, **more)

    async def preview(self, id: str = RAW) -> Any:
        answer = await self.ask("GET", f"{id}/derived")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def delete_derived(self, handle: str, id: str = RAW) -> httpx2.Response:
        return await self.ask("DELETE", id, params={"derived": handle})


@pytest.fixture
async def http(server):
    transport = httpx2.ASGITransport(app=server, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=HERE) as http:
        yield http


@pytest.fixture
async def local(app):
    return replace(await app.local(), scopes=ALL_SCOPES)


async def with_key(app, http, who, *scopes: Scope) -> Program:
    _, secret = await app.keys.create(who, name="program", scopes=frozenset(scopes) or ALL_SCOPES)
    return Program(http, secret)


@pytest.fixture
async def program(app, http, local):
    await three_tiers(app, local)
    return await with_key(app, http, local)


async def here(app, who) -> set[str]:
    return {memory.id for memory in await app.memories.recent(who, 99)}


async def test_a_memory_is_shown_with_what_it_was_built_from_and_what_it_went_into(program):
    answer = await program.ask("GET", EVENT)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    found = answer.json()
    assert [source["id"] for source in found["sources"]] == [an_id(1), an_id(2)]
    assert [one["id"] for one in found["consolidated_into"]] == [TOP]
    del found["sources"], found["consolidated_into"]
    assert found == {
        "memory_id": EVENT,
        "tier": 2,
        "importance": 5,
        "text": "walrus event 11",
        "created_at": "2026-12-01T12:00:00.000000Z",
        "source_context": "",
        "tags": [],
        "sources_total": 2,
        "sources_deleted": 0,
        "sources_edited": 0,
        "truncated": False,
        "covers": {"from": "2026-11-30T12:00:00.000000Z", "to": "2026-12-01T12:00:00.000000Z"},
        "consolidated_into_truncated": False,
    }


async def test_a_deleted_memory_is_gone_and_what_stays_of_it_is_named(app, program, local):
    answer = await program.ask("DELETE", RAW)
    assert answer.status_code == 200
    assert answer.json() == {
        "deleted_ids": [RAW],
        "reflections_kept": [EVENT, TOP],
        "primary_cleared": True,
        "mirror_cleared": True,
        "mirror": "disabled",
        "state": "erased",
    }
    assert (await program.ask("GET", RAW)).status_code == 404
    assert RAW not in await here(app, local)


async def test_what_was_previewed_goes_with_everything_derived(app, program, local):
    shown = await program.preview()
    assert [(one["id"], one["tier"], one["text"]) for one in shown["memories"]] == [(RAW, 1, "walrus fact 1")]
    assert [one["id"] for one in shown["reflections"]] == [TOP, EVENT]
    assert (shown["total"], shown["expires_at"]) == (3, "2026-11-30T12:05:00.000000Z")
    answer = await program.delete_derived(shown["handle"])
    assert (answer.status_code, answer.json()["deleted_ids"]) == (200, [TOP, EVENT, RAW])
    assert await here(app, local) == {an_id(n) for n in (2, 3, 4, 12)}


async def test_a_program_that_may_not_read_sees_no_text(app, http, local):
    await three_tiers(app, local)
    blind = await with_key(app, http, local, Scope.DELETE)
    shown = await blind.preview()
    assert [set(one) for one in shown["memories"] + shown["reflections"]] == [{"id", "tier"}] * 3
    assert (await blind.delete_derived(shown["handle"])).status_code == 200


@pytest.mark.parametrize(
    ("asked", "lacking"),
    [
        (("GET", RAW), Scope.READ),
        (("GET", f"{RAW}/derived"), Scope.DELETE),
        (("DELETE", RAW), Scope.DELETE),
        (("DELETE", f"{RAW}?derived=x"), Scope.DELETE),
    ],
)
async def test_a_right_that_is_missing_is_named_and_nothing_is_done(app, http, local, asked, lacking):
    await three_tiers(app, local)
    program = await with_key(app, http, local, *(ALL_SCOPES - {lacking}))
    answer = await program.ask(*asked)
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    assert lacking.value in answer.headers["www-authenticate"]
    assert len(await here(app, local)) == 7


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/derived"), ("DELETE", "")])
async def test_sec_170_foreign_and_unknown_ids_are_answered_alike(app, http, program, method, path):
    other = replace(await app.local(), vault=(await app.vaults.create(OWNER, "other", "project")).id, scopes=ALL_SCOPES)
    stranger = await with_key(app, http, other)
    told = [await stranger.ask(method, f"{id}{path}") for id in (RAW, UNKNOWN)]
    assert [answer.status_code for answer in told] == [404, 404]
    assert told[0].content == told[1].content


@pytest.mark.parametrize(("method", "path"), [("GET", "x"), ("GET", "x/derived"), ("DELETE", "receipt-0123")])
async def test_what_is_no_id_is_told_so(program, method, path):
    answer = await program.ask(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, 400)


@pytest.mark.parametrize("query", ["derive=x", "derived=a&derived=b", "derived=a&x=1", "reset=true"])
async def test_a_parameter_that_is_not_meant_so_deletes_nothing(app, program, local, query):
    assert (await program.ask("DELETE", f"{RAW}?{query}")).status_code == 400
    assert len(await here(app, local)) == 7


async def test_sec_187_a_handle_is_for_its_address_its_caller_and_its_time_and_works_once(
    app, http, program, local, clock
):
    handle = (await program.preview())["handle"]
    another = await with_key(app, http, local)
    refusals = [
        await another.delete_derived(handle),
        await program.delete_derived(handle, EVENT),
        await program.delete_derived(handle[:-2]),
        await program.delete_derived(""),
    ]
    clock.move(seconds=LIFE.total_seconds() + 1)
    refusals.append(await program.delete_derived(handle))
    assert len(await here(app, local)) == 7
    fresh = (await program.preview())["handle"]
    assert (await program.delete_derived(fresh)).status_code == 200
    refusals.append(await program.delete_derived(fresh))
    assert {(one.status_code, one.text) for one in refusals} == {(409, refusals[0].text)}
    assert "preview again" in refusals[0].text


async def test_access_tokens_open_it_and_those_of_the_other_tool_set_do_not(app, http, clock):
    who = await founded(app, await arrived(app, "ana"), "home")
    await three_tiers(app, who)
    ours = await connected(app, clock, who)
    theirs = await connected(app, clock, who, toolset="coding", name="Coder")
    assert (await Program(http, ours.access).ask("GET", RAW)).status_code == 200
    assert (await Program(http, theirs.access).ask("GET", RAW)).status_code == 401


async def test_an_account_key_opens_no_memory(app, http, program, local):
    _, secret = await app.keys.create(local, name="backend", scopes=ALL_SCOPES, kind="account")
    answer = await Program(http, secret).ask("GET", RAW)
    assert (answer.status_code, "opens no vault" in answer.text) == (401, True)


@pytest.mark.parametrize(("method", "path"), [("GET", RAW), ("GET", f"{RAW}/derived"), ("DELETE", RAW)])
@pytest.mark.usefixtures("program")
async def test_nobody_without_a_credential_learns_or_deletes_anything(app, http, local, method, path):
    for headers in ({}, {"authorization": "Bearer mk_wrong"}, {"cookie": "session=x"}):
        answer = await http.request(method, f"/v1/memory/{path}", headers=headers)
        assert answer.status_code == 401
        assert "resource_metadata=" in answer.headers["www-authenticate"]
    assert len(await here(app, local)) == 7
