"""The page on which an owner approves that a program empties a vault, and the choice whether anybody is asked."""

import re
from dataclasses import replace
from html import unescape

import pytest

from archivist.domain.approvals import LIFE
from archivist.domain.errors import ApprovalRequired
from archivist.domain.sessions import FRESH
from archivist.services.deletion import DELETE_ALL
from tests.faces.web.browsing_in_process import PASSWORD
from tests.people import founded, joined, visiting

pytestmark = pytest.mark.anyio
ROLES = ["viewer", "member", "admin", "owner"]


@pytest.fixture
async def work(hall):
    """A vault of Ana's with two memories, in which an owner is asked."""
    work = await founded(hall.app, await visiting(hall.app, (await hall.user()).id), "Work")
    for text in ("one fact", "another fact"):
        await hall.app.memories.store(work, text=text)
    await hall.app.approvals.choose(work, work.vault, "on")
    return work


@pytest.fixture
async def key(hall, work):
    """A key for it, as the services see whoever holds it."""
    made, _ = await hall.app.keys.create(work, name="laptop hook", scopes=work.scopes)
    return replace(work, credential="key", credential_id=made.id)


@pytest.fixture
async def path(hall, key):
    """Where the question is decided."""
    with pytest.raises(ApprovalRequired) as caught:
        await hall.app.deletion.forget_all(key, DELETE_ALL)
    return caught.value.link.removeprefix("http://127.0.0.1:8765")


async def goes_through(hall, key):
    try:
        await hall.app.deletion.forget_all(key, DELETE_ALL)
    except ApprovalRequired:
        return False
    return True


async def total(hall, work):
    return (await hall.app.status.of(work)).memories


async def test_the_page_says_what_would_go_and_who_asks(ana, path):
    page = unescape(await ana.shown(path))
    for said in ("Delete everything in", "Work", "2 memories", "laptop hook", "Ana", "Nothing has been deleted yet"):
        assert said in page


async def test_what_is_approved_goes_through_once(hall, ana, work, key, path):
    await ana.shown(path)
    answer = await ana.post(f"{path}/approve", {"word": " Delete "})
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    assert "Go back to your assistant" in await ana.shown(path)
    assert await total(hall, work) == 2
    assert await goes_through(hall, key)
    assert not await goes_through(hall, key)
    assert (await ana.get(path)).status_code == 404


async def test_what_is_refused_does_not_go_through(hall, ana, work, key, path):
    await ana.shown(path)
    answer = await ana.post(f"{path}/refuse")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/app/vaults/{work.vault}")
    assert (await ana.get(path)).status_code == 404
    assert (await ana.post(f"{path}/approve", {"word": "delete"})).status_code == 404
    assert not await goes_through(hall, key)
    assert await total(hall, work) == 2


async def test_an_approval_is_taken_back(hall, ana, key, path):
    await ana.shown(path)
    await ana.post(f"{path}/approve", {"word": "delete"})
    assert "Take it back" in await ana.shown(path)
    await ana.post(f"{path}/refuse")
    assert not await goes_through(hall, key)


@pytest.mark.parametrize("word", ["", "yes", "delet", "DELETE ALL"])
async def test_without_the_word_nothing_is_approved_and_the_page_says_so(hall, ana, key, path, word):
    await ana.shown(path)
    answer = await ana.post(f"{path}/approve", {"word": word})
    assert answer.status_code == 400
    assert "Type the word delete" in answer.text
    assert not await goes_through(hall, key)


async def test_sec_011_an_old_session_is_asked_for_the_password_and_then_carried_on(hall, ana, key, path):
    ana_later = hall.browser()
    await ana_later.sign_in()
    hall.clock.move(seconds=FRESH.total_seconds())
    with pytest.raises(ApprovalRequired) as caught:
        await hall.app.deletion.forget_all(key, DELETE_ALL)
    path = caught.value.link.removeprefix("http://127.0.0.1:8765")
    await ana_later.shown(path)
    answer = await ana_later.post(f"{path}/approve", {"word": "delete"})
    assert answer.status_code == 403
    assert "Confirm it is you" in answer.text
    assert not await goes_through(hall, key)
    carried = dict(re.findall(r'type="hidden" name="(word)" value="([^"]*)"', answer.text))
    answer = await ana_later.post(f"{path}/approve", {**carried, "password": PASSWORD})
    assert answer.status_code == 303
    assert await goes_through(hall, key)


async def test_sec_011_the_choice_needs_a_fresh_sign_in(hall, ana, work):
    await ana.shown(f"/app/vaults/{work.vault}")
    hall.clock.move(seconds=FRESH.total_seconds())
    answer = await ana.post(f"/app/vaults/{work.vault}/approval", {"approval": "off"})
    assert (answer.status_code, "Confirm it is you" in answer.text) == (403, True)
    assert (await hall.app.vaults.held(work, work.vault)).vault.approval == "on"


async def test_whoever_is_not_signed_in_gets_the_sign_in_form_there_and_decides_nothing(hall, key, path):
    nobody = hall.browser()
    assert "Sign in" in (await nobody.get(path)).text
    for act in ("approve", "refuse"):
        assert (await nobody.post(f"{path}/{act}", {"word": "delete"})).status_code in (200, 401, 403)
    assert not await goes_through(hall, key)
    signed = await nobody.sign_in(path=path)
    assert (signed.status_code, signed.headers["location"]) == (303, path)
    assert "laptop hook" in await nobody.shown(path)


async def test_a_form_of_another_page_or_browser_decides_nothing(hall, ana, key, path):
    await ana.shown(path)
    for fields, headers in (({"csrf": "x"}, {}), ({}, {"sec_fetch_site": "cross-site"})):
        for act in ("approve", "refuse"):
            assert (await ana.post(f"{path}/{act}", {"word": "delete", **fields}, **headers)).status_code == 403
    assert "Keep everything" in await ana.shown(path)
    assert not await goes_through(hall, key)


@pytest.mark.parametrize("role", [None, *ROLES])
async def test_only_owners_and_admins_see_and_decide_it(hall, work, key, path, role):
    bob = await hall.joined()
    if role:
        await joined(hall.app, work, await visiting(hall.app, (await hall.user("Bob")).id), work.vault, role)
    await bob.get("/app/account")
    may = role in ("admin", "owner")
    assert (await bob.get(path)).status_code == (200 if may else 404)
    assert (await bob.post(f"{path}/approve", {"word": "delete"})).status_code == (303 if may else 404)
    assert await goes_through(hall, key) == may


async def test_a_question_that_ran_out_is_gone(hall, ana, key, path):
    hall.clock.move(seconds=LIFE.total_seconds())
    await ana.sign_in()
    assert (await ana.get(path)).status_code == 404
    assert not await goes_through(hall, key)


async def test_the_page_of_the_vault_leads_to_what_waits_and_its_owner_chooses(hall, ana, work, key, path):
    own = f"/app/vaults/{work.vault}"
    assert f'href="{path}"' in await ana.shown(own)
    answer = await ana.post(f"{own}/approval", {"approval": "off"})
    assert (answer.status_code, answer.headers["location"]) == (303, own)
    assert (await ana.get(f"{own}.json")).json()["vault"]["approval"] == "off"
    assert await goes_through(hall, key)
    answer = await ana.post(f"{own}/approval", {"approval": "sometimes"})
    assert (answer.status_code, "Choose one of the answers" in answer.text) == (400, True)


@pytest.mark.parametrize("role", ["viewer", "member", "admin"])
async def test_others_than_owners_are_told_the_choice_and_cannot_change_it(hall, work, path, role):
    bob = await hall.joined()
    await joined(hall.app, work, await visiting(hall.app, (await hall.user("Bob")).id), work.vault, role)
    page = await bob.shown(f"/app/vaults/{work.vault}")
    assert "Owners can change that" in page
    assert (path in page) == (role == "admin")
    assert (await bob.post(f"/app/vaults/{work.vault}/approval", {"approval": "off"})).status_code == 403
    assert (await hall.app.vaults.held(work, work.vault)).vault.approval == "on"


async def test_an_address_that_only_takes_forms_leads_back(ana, path):
    for act in ("approve", "refuse"):
        assert (await ana.get(f"{path}/{act}")).status_code == 303
