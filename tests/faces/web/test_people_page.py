"""`/app/people`: what an administrator sees of the people, and does for and about them."""

import re

import pytest

from archivist.app import OWNER
from tests.faces.web.browsing_in_process import ANA, BOB, HERE, PASSWORD, Hall

pytestmark = pytest.mark.anyio

OURS = "https://app.example/client.json"


def link_of(text: str, kind: str) -> str:
    [link] = re.findall(rf"<code>({HERE}/{kind}/avl_[A-Za-z0-9_-]+)</code>", text)
    return str(link).removeprefix(HERE)


async def test_the_list_shows_who_there_is_and_nothing_of_what_they_store(hall, ana):
    bob = await hall.joined()
    hall.clock.move(days=2)
    await bob.get("/app/account")
    page = await ana.sign_in()
    page = await ana.shown("/app/people")
    assert "2 people" in page
    assert "you, administrator" in page
    rows = re.findall(r"<tr role=\"row\".*?</tr>", page, re.DOTALL)
    [row] = [row for row in rows if f">{BOB}<" in row]
    assert "2 days ago" in row


async def test_only_administrators_see_it(hall):
    bob = await hall.joined()
    assert (await bob.get("/app/people")).status_code == 403
    assert "/app/people" not in await bob.shown("/app/account")


async def test_an_invitation_is_shown_once_and_works(hall, ana):
    made = await ana.post("/app/people/invitations")
    path = link_of(made.text, "invitation")
    assert path not in await ana.shown("/app/people")
    assert "Join this server" in await hall.browser().shown(path)


async def test_a_recovery_link_is_shown_once_and_works(hall, ana):
    await hall.joined()
    made = await ana.post(f"/app/people/{(await hall.user(BOB)).id}/recovery")
    assert "Recovery link for <bdi>Bob</bdi>" in made.text
    assert "For the account <bdi>Bob</bdi>" in await hall.browser().shown(link_of(made.text, "recovery"))


async def test_somebody_is_switched_off_and_on_again(hall, ana):
    await hall.joined()
    bob = (await hall.user(BOB)).id
    assert (await ana.post(f"/app/people/{bob}/disable")).status_code == 303
    assert "switched off" in await ana.shown("/app/people")
    assert (await hall.browser().sign_in(BOB)).status_code == 401
    assert (await ana.post(f"/app/people/{bob}/enable")).status_code == 303
    assert (await hall.browser().sign_in(BOB)).status_code == 303


async def test_everything_of_somebody_is_ended_and_they_can_sign_in_again(hall, ana):
    bob = await hall.joined()
    assert (await ana.post(f"/app/people/{(await hall.user(BOB)).id}/end")).status_code == 303
    assert not await bob.is_in()
    assert (await bob.sign_in(BOB)).status_code == 303


async def test_a_second_step_is_taken_away_from_somebody_who_lost_it(hall, ana):
    bob = await hall.joined()
    assert "Take the second step away" not in await ana.shown("/app/people")
    await hall.with_factor(bob)
    assert "Take the second step away" in await ana.shown("/app/people")
    assert (await ana.post(f"/app/people/{(await hall.user(BOB)).id}/factor")).status_code == 303
    assert (await hall.browser().sign_in(BOB, PASSWORD, "/app/account")).headers["location"] == "/app/account"
    assert "Take the second step away" not in await ana.shown("/app/people")


@pytest.mark.parametrize("act", ["disable", "enable", "end", "factor", "recovery"])
async def test_nothing_is_done_to_somebody_who_is_not_there(hall, ana, act):
    assert (await ana.post(f"/app/people/nobody/{act}")).status_code == 404


async def test_an_administrator_does_not_lock_themselves_out(hall, ana):
    answer = await ana.post(f"/app/people/{(await hall.user(ANA)).id}/disable")
    assert answer.status_code == 400
    assert await ana.is_in()


# Blocked apps


async def an_app(hall: Hall, target: str) -> str:
    client = await hall.app.clients.register({"client_name": "Chat", "redirect_uris": [target]}, "192.0.2.1")
    return client.client_id


@pytest.mark.parametrize("named", ["{id}", "chat.example", "CHAT.example"])
async def test_an_app_is_blocked_by_its_id_or_its_host_and_unblocked(hall, ana, named):
    client_id = await an_app(hall, "https://chat.example/callback")
    other = await an_app(hall, "https://other.example/callback")
    assert (await ana.post("/app/people/blocked", {"app": named.format(id=client_id)})).status_code == 303
    page = await ana.shown("/app/people")
    assert f"<code>{client_id}</code>" in page
    assert "<bdi>Ana</bdi></td>" in page
    assert other not in page
    assert (await ana.post("/app/people/blocked/remove", {"app": client_id})).status_code == 303
    assert client_id not in await ana.shown("/app/people")


async def test_an_app_that_never_asked_cannot_be_named(hall, ana):
    answer = await ana.post("/app/people/blocked", {"app": OURS})
    assert answer.status_code == 404
    assert "No app of that address" in answer.text
    assert f'value="{OURS}"' in answer.text


async def test_who_blocked_an_app_on_the_command_line_is_called_the_operator(hall, ana):
    client_id = await an_app(hall, "https://chat.example/callback")
    await hall.app.clients.set_blocked(OWNER, client_id, blocked=True)
    assert "whoever runs this server" in await ana.shown("/app/people")
