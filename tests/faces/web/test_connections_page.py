"""The pages of connections: which apps were let in, what each did, and its end."""

from dataclasses import replace

import pytest

from archivist.domain.errors import Unauthenticated
from tests.people import READ_WRITE, connected, visiting

pytestmark = pytest.mark.anyio
UNKNOWN = "0193b000-0000-7000-8000-0000000000fe"


async def let_in(hall, name="Reader", person="Ana"):
    """An app that somebody let into their personal vault."""
    who = await visiting(hall.app, (await hall.user(person)).id)
    vault = await hall.app.vaults.personal(who)
    return await connected(hall.app, hall.clock, replace(who, vault=vault.id), READ_WRITE, name=name)


async def test_the_first_page_says_what_to_do_when_no_app_is_connected(ana):
    assert "No app is connected yet" in await ana.shown("/app/connections")
    assert (await ana.get("/app/connections.json")).json() == {"connections": []}


async def test_sec_023_each_connection_stands_there_with_app_vault_rights_and_uses(hall, ana):
    reader = await let_in(hall)
    who = await hall.app.entering.authenticate(reader.access, "vault")
    hall.app.counting.note(who, "search_memories")
    await hall.app.counting.flush()
    page = await ana.shown("/app/connections")
    for text in ("Reader", "127.0.0.1", "personal", "read, save", f"/app/connections/{reader.grant}"):
        assert text in page
    [row] = (await ana.get("/app/connections.json")).json()["connections"]
    assert (row["app"], row["host"], row["tools"], row["vault"]) == ("Reader", "127.0.0.1", "/mcp", "personal")
    assert row["scopes"] == ["memories:read", "memories:write"]
    assert row["first_used"] == row["last_used"] == "2026-11-30T12:00:01.000000Z"


async def test_the_page_of_a_connection_says_what_it_did_and_how_often(hall, ana):
    reader = await let_in(hall)
    who = await hall.app.entering.authenticate(reader.access, "vault")
    for _ in range(3):
        hall.app.counting.note(who, "search_memories")
    hall.app.counting.note(who, "delete_memories", "insufficient_scope")
    await hall.app.counting.flush()
    await hall.app.memories.store(who, text="the text itself is shown nowhere")
    page = await ana.shown(f"/app/connections/{reader.grant}")
    assert "How often" in page
    assert "insufficient_scope" in page
    assert "the text itself" not in page
    found = (await ana.get(f"/app/connections/{reader.grant}.json")).json()
    assert {(one["action"], one["outcome"]): one["count"] for one in found["sums"]} == {
        ("search_memories", "done"): 3, ("delete_memories", "insufficient_scope"): 1,
    }  # fmt: skip
    assert {one["through"] for one in [*found["sums"], *found["activity"]]} == {"Reader"}
    assert {"delete_memories", "store_memory"} <= {one["action"] for one in found["activity"]}


async def test_sec_137_a_connection_ended_on_the_page_is_dead_on_the_next_request(hall, ana):
    reader = await let_in(hall)
    await hall.app.entering.authenticate(reader.access, "vault")
    await ana.get(f"/app/connections/{reader.grant}")
    answer = await ana.post(f"/app/connections/{reader.grant}/revoke")
    assert (answer.status_code, answer.headers["location"]) == (303, "/app/connections")
    with pytest.raises(Unauthenticated):
        await hall.app.entering.authenticate(reader.access, "vault")
    assert "Reader" not in await ana.shown("/app/connections")
    assert (await ana.post(f"/app/connections/{reader.grant}/revoke")).status_code == 404


async def test_looking_at_the_address_of_an_end_ends_nothing(hall, ana):
    reader = await let_in(hall)
    answer = await ana.get(f"/app/connections/{reader.grant}/revoke")
    assert (answer.status_code, answer.headers["location"]) == (303, "/app/connections")
    assert await hall.app.entering.authenticate(reader.access, "vault")


@pytest.mark.parametrize("forged", [{"csrf": ""}, {"csrf": "x" * 43}, {"csrf": ["one", "two"]}])
async def test_an_end_without_the_token_of_the_page_ends_nothing(hall, ana, forged):
    reader = await let_in(hall)
    answer = await ana.post(f"/app/connections/{reader.grant}/revoke", forged)
    assert answer.status_code in (400, 403)
    assert await hall.app.entering.authenticate(reader.access, "vault")


async def test_sec_170_a_connection_of_somebody_else_answers_byte_for_byte_as_none(hall, ana):
    reader = await let_in(hall)
    bob = await hall.joined()
    for method, path in (
        ("GET", "/app/connections/{}"),
        ("GET", "/app/connections/{}.json"),
        ("POST", "/app/connections/{}/revoke"),
    ):
        ask = bob.get if method == "GET" else bob.post
        foreign, unknown = await ask(path.format(reader.grant)), await ask(path.format(UNKNOWN))
        assert (foreign.status_code, foreign.content) == (404, unknown.content)
        assert unknown.status_code == 404
    assert await hall.app.entering.authenticate(reader.access, "vault")
    assert (await bob.get("/app/connections.json")).json() == {"connections": []}


async def test_what_an_app_calls_itself_is_text_and_nothing_else(hall, ana):
    await let_in(hall, name='<img src="x">"><script>alert(1)</script>')
    page = await ana.shown("/app/connections")
    assert "<img" not in page
    assert "<script>alert" not in page
