"""Coming in and going out: where each address leads, and what one-time links lead to."""

import re
from dataclasses import replace

import pytest

from archivist.app import OWNER
from archivist.domain.access import Scope
from tests.faces.mcp.conversations import Person as Assistant
from tests.faces.web.browsing_in_process import ANA, BOB, DEVICE, PASSWORD, SESSION, Hall, Person

pytestmark = pytest.mark.anyio

CHOSEN = {"password": PASSWORD, "again": PASSWORD}
NEW = {"decision": "new", "name": BOB, **CHOSEN}


async def led(person: Person, path: str) -> str | None:
    answer = await person.get(path)
    assert answer.status_code == 303
    return answer.headers["location"]


async def test_the_first_address_leads_to_the_sign_in_page_and_later_to_the_connections(hall, ana):
    assert await led(hall.browser(), "/") == "/sign-in"
    assert [await led(ana, path) for path in ("/", "/app", "/sign-in")] == ["/app/connections"] * 3


async def test_a_server_that_is_not_set_up_says_how_to_do_it(bare):
    answer = await bare.browser().get("/")
    assert answer.status_code == 503
    assert "This server is not set up yet" in answer.text
    assert "one-time link" in answer.text


async def test_the_page_that_was_wanted_is_shown_after_signing_in(hall):
    person = hall.browser()
    assert "<h1>Sign in</h1>" in await person.shown("/app/account?tab=1")
    answer = await person.post("/app/account?tab=1", {"name": "ana", "password": PASSWORD})
    assert answer.headers["location"] == "/app/account?tab=1"
    assert "<h1>Account</h1>" in await person.shown("/app/account?tab=1")


async def test_a_wrong_password_keeps_the_name_that_was_typed(hall):
    answer = await hall.browser().sign_in("ana", "wrong wrong wrong")
    assert answer.status_code == 401
    assert 'value="ana"' in answer.text
    assert "The name or the password is wrong." in answer.text


async def test_signing_out_leads_to_the_sign_in_page_also_twice(hall, ana):
    twin = ana.twin()
    assert (await ana.post("/sign-out")).headers["location"] == "/sign-in"
    assert (await twin.post("/sign-out")).headers["location"] == "/sign-in"
    assert (await ana.get("/sign-out")).headers["location"] == "/sign-in"


async def test_a_known_browser_keeps_its_mark_when_somebody_signs_out_and_in_again(hall, ana):
    mark = ana.cookies[DEVICE]
    await ana.post("/sign-out")
    await ana.sign_in()
    assert ana.cookies[DEVICE] == mark


async def test_who_waits_for_the_second_step_can_use_another_account(hall, ana):
    await hall.with_factor(ana)
    person = hall.browser()
    await person.sign_in()
    await person.get("/sign-in")
    assert (await person.post("/sign-out")).headers["location"] == "/sign-in"
    assert "<h1>Sign in</h1>" in await person.shown("/sign-in")


# Set up


async def test_the_first_account_finds_what_keys_have_stored_before(bare):
    async with Assistant.connected(bare.app, bare.server, *Scope) as assistant:
        await assistant.store("Stored before anybody signed up.")
    link = await bare.app.accounts.set_up_link(OWNER)
    page = await bare.browser().shown(f"/set-up/{link}")
    assert "1 vault with 1 memory is here already and will be yours." in page
    person = await bare.set_up()
    assert await person.is_in()
    who = await bare.principal()
    assert (await bare.app.status.of(replace(who, scopes=frozenset({Scope.READ})))).memories == 1


async def test_whoever_sets_up_has_a_personal_vault(bare):
    await bare.set_up()
    assert [vault.name for vault in await bare.app.vaults.list(await bare.principal())] == ["personal"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": ""}, "It must be 1 to 100 printable characters."),
        ({"password": "short", "again": "short"}, "It must be 12 to 256 characters."),
        ({"again": "something else"}, "It differs from the first one"),
    ],
)
async def test_a_mistake_is_told_beside_its_field_and_the_link_stays_good(bare, changes, sentence):
    link = await bare.app.accounts.set_up_link(OWNER)
    person = bare.browser()
    await person.get(f"/set-up/{link}")
    answer = await person.post(f"/set-up/{link}", {"name": ANA, **CHOSEN, **changes})
    assert answer.status_code == 400
    assert sentence in answer.text
    assert PASSWORD not in answer.text
    assert (await person.post(f"/set-up/{link}", {"name": ANA, **CHOSEN})).status_code == 303


# Invitations


async def into_notes(hall: Hall, role: str = "member") -> str:
    ana = await hall.principal()
    notes = await hall.app.vaults.create(ana, "notes", "project")
    return await hall.app.members.invite(ana, notes.id, role)


async def test_an_invitation_without_a_vault_makes_an_account_with_a_vault_of_its_own(hall):
    page = await hall.browser().shown(f"/invitation/{await hall.app.accounts.invite(OWNER)}")
    assert "<h1>Join this server</h1>" in page
    bob = await hall.joined()
    assert await bob.is_in()
    assert [vault.name for vault in await hall.app.vaults.list(await hall.principal(BOB))] == ["personal"]
    assert (await hall.user(BOB)).administrator is False


async def test_an_invitation_into_a_vault_says_which_and_as_what(hall):
    page = await hall.browser().shown(f"/invitation/{await into_notes(hall)}")
    assert "Join <bdi>notes</bdi>" in page
    assert "<bdi>Ana</bdi> invites you" in page
    assert "<dd>Member " in page


async def test_somebody_with_an_account_signs_in_and_joins(hall):
    await hall.joined()
    link, bob = await into_notes(hall, "viewer"), hall.browser()
    await bob.get(f"/invitation/{link}")
    answer = await bob.post(f"/invitation/{link}", {"decision": "sign-in"})
    where = answer.headers["location"]
    assert "<h1>Sign in</h1>" in await bob.shown(where)
    answer = await bob.post(where, {"name": BOB, "password": PASSWORD})
    assert "Join as <bdi>Bob</bdi>" in await bob.shown(answer.headers["location"])
    answer = await bob.post(f"/invitation/{link}", {"decision": "join"})
    notes = (await hall.principal(BOB, "notes")).vault
    assert answer.headers["location"] == f"/app/vaults/{notes}"
    assert (await hall.app.vaults.roles(await hall.principal(BOB)))[notes] == "viewer"


async def test_somebody_who_is_signed_in_can_take_another_account_for_it(hall, ana):
    link = await into_notes(hall)
    await ana.get(f"/invitation/{link}")
    answer = await ana.post(f"/invitation/{link}", {"decision": "another-account"})
    assert answer.headers["location"] == f"/invitation/{link}?sign-in"
    assert SESSION not in ana.cookies
    assert "<h1>Sign in</h1>" in await ana.shown(answer.headers["location"])


async def test_who_is_in_the_vault_already_is_told_so(hall, ana):
    link = await into_notes(hall)
    await ana.get(f"/invitation/{link}")
    answer = await ana.post(f"/invitation/{link}", {"decision": "join"})
    assert answer.status_code == 409
    assert "You are in this vault already" in answer.text


async def test_an_account_that_was_made_for_somebody_only_wants_a_password(hall):
    _, link = await hall.app.accounts.create(OWNER, "Cyd")
    person = hall.browser()
    page = await person.shown(f"/invitation/{link}")
    assert "Choose a password" in page
    assert 'name="name"' not in page
    assert (await person.post(f"/invitation/{link}", {**CHOSEN, "decision": "new", "name": "Eve"})).status_code == 303
    assert await person.is_in()
    assert [user.name for user in await hall.app.accounts.list(OWNER)].count("Cyd") == 1
    assert (await hall.browser().sign_in("Cyd")).status_code == 303


async def test_an_account_made_in_the_browser_of_another_one_ends_the_session_of_that(hall, ana):
    link, old = await hall.app.accounts.invite(OWNER), ana.twin()
    await ana.get(f"/invitation/{link}")
    assert (await ana.post(f"/invitation/{link}", NEW)).status_code == 303
    assert "<bdi>Bob</bdi>" in await ana.shown("/app/account")
    assert not await old.is_in()


async def test_a_name_that_is_taken_leaves_the_invitation_good(hall):
    link, person = await hall.app.accounts.invite(OWNER), hall.browser()
    await person.get(f"/invitation/{link}")
    answer = await person.post(f"/invitation/{link}", {**NEW, "name": "ana"})
    assert answer.status_code == 409
    assert "taken here" in answer.text
    assert (await person.post(f"/invitation/{link}", NEW)).status_code == 303


# Recovery


async def test_a_recovery_link_is_for_one_account_and_signs_its_person_in(hall):
    link, person = await hall.app.accounts.recovery_link(OWNER, ANA), hall.browser()
    assert "For the account <bdi>Ana</bdi>" in await person.shown(f"/recovery/{link}")
    answer = await person.post(f"/recovery/{link}", {"password": "another good one", "again": "another good one"})
    assert answer.headers["location"] == "/app/connections"
    assert await person.is_in()


async def test_a_link_for_an_account_that_was_switched_off_meanwhile_leads_nowhere(hall):
    await hall.joined()
    link = await hall.app.accounts.recovery_link(OWNER, BOB)
    await hall.app.accounts.set_disabled(OWNER, BOB, disabled=True)
    answer = await hall.browser().get(f"/recovery/{link}")
    assert answer.status_code == 404
    assert not re.search(BOB, answer.text)
