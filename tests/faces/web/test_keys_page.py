"""The pages of keys: made with what is ticked and no more, shown once, renewed and ended."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from archivist.domain.access import ALL_SCOPES, Scope
from archivist.domain.errors import Unauthenticated
from archivist.domain.keys import SHOWN
from archivist.domain.sessions import FRESH
from tests.people import READ, READ_WRITE, founded, joined, visiting

pytestmark = pytest.mark.anyio
MADE = re.compile(r"<code>(mk_[0-9A-Za-z_]+)</code>")
TICKED = re.compile(r'name="scope" value="(memories:[a-z]+)"( checked)?')


def made(page: str) -> str:
    """The key that a page shows."""
    found = MADE.search(page)
    assert found, page
    return found[1]


async def ask(hall, person, **more):
    vault = (await hall.principal()).vault
    return await person.post("/app/keys", {"name": "laptop", "vault": vault, "expires": "90", **more})


async def test_on_the_page_reading_alone_is_ticked(ana):
    assert [name for name, ticked in TICKED.findall(await ana.shown("/app/keys")) if ticked] == [Scope.READ]


async def test_a_key_is_made_shown_and_works(hall, ana):
    answer = await ask(hall, ana, scope=["memories:read", "memories:write"])
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    who = await hall.app.entering.authenticate(made(answer.text), "vault")
    assert (who.scopes, who.vault) == (READ_WRITE, (await hall.principal()).vault)
    assert "http://127.0.0.1:8765/mcp" in answer.text


async def test_sec_127_a_key_is_shown_once_and_later_only_its_first_characters(hall, ana):
    secret = made((await ask(hall, ana, scope="memories:read")).text)
    for path in (
        "/app/keys",
        "/app/keys.json",
        "/app/activity",
        f"/app/activity?vault={(await hall.principal()).vault}",
    ):
        page = await ana.shown(path)
        assert secret not in page
        assert secret[SHOWN:] not in page
    assert f"{secret[:SHOWN]}…" in await ana.shown("/app/keys")


@pytest.mark.parametrize("scopes", [["memories:read"], ["memories:write", "memories:delete"], list(ALL_SCOPES)])
async def test_sec_125_a_key_made_on_the_page_has_what_was_ticked_and_nothing_else(hall, ana, scopes):
    secret = made((await ask(hall, ana, scope=scopes)).text)
    assert (await hall.app.entering.authenticate(secret, "vault")).scopes == set(scopes)
    assert secret.startswith("mk_ro_") is (scopes == ["memories:read"])


async def test_nothing_ticked_makes_no_key_and_keeps_what_was_typed(hall, ana):
    answer = await ask(hall, ana)
    assert answer.status_code == 400
    assert "Tick what it may do" in answer.text
    assert 'value="laptop"' in answer.text
    assert [name for name, ticked in TICKED.findall(answer.text) if ticked] == []
    assert await hall.rows("keys") == []


@pytest.mark.parametrize(("choice", "days"), [("30", 30), ("90", 90), ("365", 365), ("never", None)])
async def test_a_key_ends_when_it_was_chosen_to(hall, ana, choice, days):
    await ask(hall, ana, scope="memories:read", expires=choice)
    [listed] = await hall.app.keys.list(await hall.principal())
    assert listed.key.expires == (None if days is None else hall.clock() + timedelta(days=days))


@pytest.mark.parametrize("wrong", [
    {"expires": "36500"}, {"expires": ""}, {"name": "x" * 101}, {"name": "two\nlines"}, {"scope": "memories:all"},
    {"vault": ""}, {"vault": "0193b000-0000-7000-8000-00000000000b"}, {"vault": "../control"},
])  # fmt: skip
async def test_what_the_form_does_not_offer_makes_no_key(hall, ana, wrong):
    answer = await ask(hall, ana, **{"scope": "memories:read", **wrong})
    assert answer.status_code == 400
    assert 'class="mistake"' in answer.text
    assert await hall.rows("keys") == []


async def test_a_field_that_comes_twice_makes_no_key(hall, ana):
    answer = await ask(hall, ana, scope="memories:read", name=["one", "two"])
    assert answer.status_code == 400
    assert await hall.rows("keys") == []


async def test_sec_011_a_key_from_a_stale_session_asks_for_the_password_and_carries_on(hall, ana):
    await ana.get("/app/keys")
    hall.clock.move(seconds=FRESH.total_seconds())
    answer = await ask(hall, ana, scope=["memories:read", "memories:delete"])
    assert answer.status_code == 403
    assert "To make this key, type your password once more" in answer.text
    assert await hall.rows("keys") == []
    carried = [(name, value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', answer.text)]
    assert ("scope", "memories:delete") in carried
    wrong = await ask(hall, ana, scope=["memories:read", "memories:delete"], password="not the password")
    assert wrong.status_code == 401
    assert await hall.rows("keys") == []
    right = await ask(hall, ana, scope=["memories:read", "memories:delete"], password="correct horse battery")
    assert right.status_code == 200
    who = await hall.app.entering.authenticate(made(right.text), "vault")
    assert who.scopes == {Scope.READ, Scope.DELETE}
    assert await ana.is_in()


async def test_whoever_showed_who_they_are_stays_signed_in_when_the_act_cannot_be(hall, ana):
    await ana.get("/app/keys")
    hall.clock.move(seconds=FRESH.total_seconds())
    answer = await ana.post("/app/keys/no-such-key/rotate", {"password": "correct horse battery"})
    assert answer.status_code == 404
    assert await ana.is_in()


async def test_sec_128_a_key_is_renewed_and_the_page_says_how_long_the_old_one_works(hall, ana):
    old = made((await ask(hall, ana, scope=["memories:read", "memories:write"])).text)
    [listed] = await hall.app.keys.list(await hall.principal())
    assert "works on for 24 hours" in await ana.shown("/app/keys")
    answer = await ana.post(f"/app/keys/{listed.key.id}/rotate")
    new = made(answer.text)
    assert "works on for 24 hours" in answer.text
    for secret in (old, new):
        assert (await hall.app.entering.authenticate(secret, "vault")).scopes == READ_WRITE
    hall.clock.move(hours=24)
    with pytest.raises(Unauthenticated):
        await hall.app.entering.authenticate(old, "vault")
    assert await hall.app.entering.authenticate(new, "vault")


async def test_sec_011_renewing_a_key_in_a_stale_session_changes_nothing(hall, ana):
    await ask(hall, ana, scope="memories:read")
    [listed] = await hall.app.keys.list(await hall.principal())
    hall.clock.move(seconds=FRESH.total_seconds())
    head = await hall.head()
    answer = await ana.post(f"/app/keys/{listed.key.id}/rotate")
    assert (answer.status_code, "To renew this key" in answer.text) == (403, True)
    assert await hall.head() == head


async def test_sec_023_a_key_ended_in_another_browser_is_dead_on_the_next_request(hall, ana):
    secret = made((await ask(hall, ana, scope="memories:read")).text)
    await hall.app.entering.authenticate(secret, "vault")
    other = hall.browser()
    await other.sign_in()
    await other.get("/app/keys")
    [listed] = await hall.app.keys.list(await hall.principal())
    answer = await other.post(f"/app/keys/{listed.key.id}/revoke")
    assert (answer.status_code, answer.headers["location"]) == (303, "/app/keys")
    with pytest.raises(Unauthenticated):
        await hall.app.entering.authenticate(secret, "vault")
    assert "ended just now" in re.sub("<[^>]+>", "", await ana.shown("/app/keys"))


async def test_sec_023_the_list_says_name_vault_rights_dates_and_uses(hall, ana):
    await ask(hall, ana, scope="memories:read")
    [listed] = await hall.app.keys.list(await hall.principal())
    me = await hall.principal()
    hall.app.counting.note(replace(me, credential="key", credential_id=listed.key.id), "search_memories")
    await hall.app.counting.flush()
    hall.clock.move(days=3)
    await ana.sign_in()
    page = await ana.shown("/app/keys")
    assert "laptop" in page
    assert "personal" in page
    assert "3 days ago" in page
    [row] = (await ana.get("/app/keys.json")).json()["keys"]
    assert row["first_used"] == row["last_used"] == "2026-11-30T12:00:00.000000Z"
    assert (row["name"], row["vault"], row["scopes"]) == ("laptop", "personal", ["memories:read"])
    assert row["expires"].startswith("2027-02-28")


async def test_somebody_with_fewer_rights_in_a_vault_makes_no_key_with_more(hall, ana):
    bob = await hall.joined()
    ana_here = await founded(hall.app, await visiting(hall.app, (await hall.user()).id), "shared")
    bob_here = await joined(
        hall.app, ana_here, await visiting(hall.app, (await hall.user("Bob")).id), ana_here.vault, "viewer"
    )
    await bob.get("/app/keys")
    fields = {"vault": bob_here.vault, "expires": "90", "scope": ["memories:read", "memories:write"]}
    answer = await bob.post("/app/keys", fields)
    assert (answer.status_code, "Your role in that vault" in answer.text) == (403, True)
    assert await hall.rows("keys") == []
    answer = await bob.post("/app/keys", {**fields, "scope": "memories:read"})
    assert (await hall.app.entering.authenticate(made(answer.text), "vault")).scopes == READ


async def test_sec_170_a_key_of_somebody_else_answers_byte_for_byte_as_none(hall, ana):
    await ask(hall, ana, scope="memories:read")
    [listed] = await hall.app.keys.list(await hall.principal())
    bob = await hall.joined()
    head = await hall.head()
    for act in ("revoke", "rotate"):
        foreign = await bob.post(f"/app/keys/{listed.key.id}/{act}")
        unknown = await bob.post(f"/app/keys/0193b000-0000-7000-8000-0000000000fe/{act}")
        assert (foreign.status_code, foreign.content) == (404, unknown.content)
        assert unknown.status_code == 404
    assert await hall.head() == head
