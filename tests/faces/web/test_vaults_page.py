"""The pages of vaults: making them, and who is in them with which role."""

import re
from dataclasses import replace
from html import unescape

import pytest

from archivist.domain.sessions import FRESH
from archivist.server import asgi
from archivist.settings import Settings
from tests.faces.web.browsing_in_process import PASSWORD
from tests.people import founded, joined, visiting

pytestmark = pytest.mark.anyio
UNKNOWN = "0193b000-0000-7000-8000-00000000000b"
LINK = re.compile(r"<code>(https?://[^<]+/invitation/[^<]+)</code>")


@pytest.fixture
async def shared(hall):
    """A vault of Ana's."""
    return await founded(hall.app, await visiting(hall.app, (await hall.user()).id), "shared")


@pytest.fixture
async def bob(hall):
    """Somebody with an account, in no vault of Ana's."""
    return await hall.joined()


async def let_in(hall, shared, role):
    """Bob, in that vault."""
    return await joined(hall.app, shared, await visiting(hall.app, (await hall.user("Bob")).id), shared.vault, role)


async def roles(hall, shared):
    return {one.name: one.member.role for one in await hall.app.members.list(shared, shared.vault)}


async def test_a_vault_is_made_and_listed_with_its_numbers(hall, ana):
    answer = await ana.post("/app/vaults", {"name": " Garden ", "kind": "organization"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/app/vaults")
    found = {row["name"]: row for row in (await ana.get("/app/vaults.json")).json()["vaults"]}
    garden = found["Garden"]
    assert (garden["kind"], garden["role"], garden["members"], garden["memories"]) == ("organization", "owner", 1, 0)
    who = replace(await hall.principal(), vault=garden["id"])
    await hall.app.memories.store(who, text="a first memory")
    await hall.app.memories.store(who, text="a second memory")
    page = await ana.shown("/app/vaults")
    assert "Garden" in page
    assert "with 2 memories" in await ana.shown(f"/app/vaults/{garden['id']}")


WRONG = [
    ({"name": "", "kind": "project"}, 400, "must be 1..100 printable characters"),
    ({"name": "x" * 101, "kind": "project"}, 400, "must be 1..100 printable characters"),
    ({"name": "Garden", "kind": "secret"}, 400, "must be one of personal, project, organization"),
    ({"name": "Garden"}, 400, "must be one of"),
    ({"name": "SHARED", "kind": "project"}, 409, "You have a vault of that name already"),
]


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_vault_that_cannot_be_is_not_made_and_the_page_says_why(hall, ana, shared, wrong):
    fields, status, said = wrong
    before = await hall.rows("vaults")
    answer = await ana.post("/app/vaults", fields)
    assert answer.status_code == status
    assert said in unescape(answer.text)
    assert await hall.rows("vaults") == before


async def test_an_invitation_is_shown_once_and_lets_somebody_in(hall, ana, bob, shared):
    answer = await ana.post(f"/app/vaults/{shared.vault}/invitations", {"role": "member"})
    assert answer.status_code == 200
    found = LINK.search(answer.text)
    assert found
    link = found[1]
    path = link.removeprefix("http://127.0.0.1:8765")
    for page in (
        await ana.shown(f"/app/vaults/{shared.vault}"),
        (await ana.get(f"/app/vaults/{shared.vault}.json")).text,
    ):
        assert path.rpartition("/")[2] not in page
    assert "1 open invitation" in await ana.shown(f"/app/vaults/{shared.vault}")
    await bob.get(path)
    assert (await bob.post(path, {"decision": "join"})).status_code == 303
    assert await roles(hall, shared) == {"Ana": "owner", "Bob": "member"}


@pytest.mark.parametrize("public", ["https://memory.example.org", ""])
async def test_an_invitation_leads_where_the_settings_say_and_never_where_a_request_says(hall, ana, shared, public):
    ana.server = asgi(hall.app, Settings(data=hall.app.keyring._path.parent, public_url=public))
    host = "memory.example.org" if public else "localhost:8765"
    answer = await ana.post(
        f"/app/vaults/{shared.vault}/invitations", {"role": "viewer"}, host=host, x_forwarded_host="evil.example"
    )
    found = LINK.search(answer.text)
    assert found, answer.text
    assert found[1].startswith(f"{public or 'http://127.0.0.1:8765'}/invitation/")


async def test_sec_022_a_withdrawn_invitation_lets_nobody_in(hall, ana, bob, shared):
    link = await hall.app.members.invite(shared, shared.vault, "viewer")
    [open_] = await hall.app.members.invitations(shared, shared.vault)
    answer = await ana.post(f"/app/vaults/{shared.vault}/invitations/{open_.id}/withdraw")
    assert answer.status_code == 303
    assert "open invitation" not in await ana.shown(f"/app/vaults/{shared.vault}")
    assert (await bob.get(f"/invitation/{link}")).status_code == 404


async def test_a_role_is_changed_and_a_member_removed(hall, ana, bob, shared):
    who = await let_in(hall, shared, "viewer")
    own = f"/app/vaults/{shared.vault}"
    answer = await ana.post(f"{own}/members/{who.user}/role", {"role": "admin"})
    assert (answer.status_code, answer.headers["location"]) == (303, own)
    assert await roles(hall, shared) == {"Ana": "owner", "Bob": "admin"}
    assert "Your role is administrator" in await bob.shown(own)
    assert (await ana.post(f"{own}/members/{who.user}/remove")).status_code == 303
    assert await roles(hall, shared) == {"Ana": "owner"}
    assert (await bob.get(own)).status_code == 404


async def test_a_member_leaves_and_sees_the_vault_no_more(hall, bob, shared):
    await let_in(hall, shared, "admin")
    answer = await bob.post(f"/app/vaults/{shared.vault}/leave")
    assert (answer.status_code, answer.headers["location"]) == (303, "/app/vaults")
    assert shared.vault not in await bob.shown("/app/vaults")
    assert await roles(hall, shared) == {"Ana": "owner"}


ACTS = ["leave", "members/{me}/remove", "members/{me}/role"]


@pytest.mark.parametrize("act", ACTS)
async def test_sec_022_the_last_owner_stays_and_the_page_says_why(hall, ana, bob, shared, act):
    await let_in(hall, shared, "admin")
    path = f"/app/vaults/{shared.vault}/{act.format(me=shared.user)}"
    answer = await ana.post(path, {"role": "member"})
    assert (answer.status_code, "A vault keeps at least one owner" in answer.text) == (409, True)
    assert (await roles(hall, shared))["Ana"] == "owner"


@pytest.mark.parametrize("act", ["members/{bob}/role", "invitations"])
async def test_a_role_that_there_is_not_changes_nothing(hall, ana, bob, shared, act):
    who = await let_in(hall, shared, "viewer")
    answer = await ana.post(f"/app/vaults/{shared.vault}/{act.format(bob=who.user)}", {"role": "king"})
    assert (answer.status_code, "Choose one of the roles" in answer.text) == (400, True)
    assert (await roles(hall, shared))["Bob"] == "viewer"
    assert await hall.app.members.invitations(shared, shared.vault) == []


SENSITIVE = {
    "members/{bob}/role": "To change this role",
    "members/{bob}/remove": "To remove this member",
    "invitations": "To invite somebody",
}


@pytest.mark.parametrize("act", SENSITIVE)
async def test_sec_011_members_are_changed_from_a_fresh_session_only(hall, ana, bob, shared, act):
    who = await let_in(hall, shared, "viewer")
    await ana.get("/app/vaults")
    hall.clock.move(seconds=FRESH.total_seconds())
    path = f"/app/vaults/{shared.vault}/{act.format(bob=who.user)}"
    head = await hall.head()
    answer = await ana.post(path, {"role": "member"})
    assert (answer.status_code, SENSITIVE[act] in answer.text) == (403, True)
    assert await hall.head() == head
    assert (await ana.post(path, {"role": "member", "password": PASSWORD})).status_code in (200, 303)
    assert await hall.head() != head


@pytest.mark.parametrize("role", ["viewer", "member"])
async def test_what_a_role_may_not_do_is_refused_and_not_offered(hall, bob, shared, role):
    await let_in(hall, shared, role)
    own = f"/app/vaults/{shared.vault}"
    page = await bob.shown(own)
    assert "Invite somebody" not in page
    assert "/remove" not in page
    head = await hall.head()
    for act in ("invitations", f"members/{shared.user}/role", f"members/{shared.user}/remove"):
        assert (await bob.post(f"{own}/{act}", {"role": "viewer"})).status_code == 403
    assert await hall.head() == head


async def test_an_admin_is_offered_and_may_give_roles_up_to_member(hall, bob, shared):
    await let_in(hall, shared, "admin")
    own = f"/app/vaults/{shared.vault}"
    assert re.findall(r'<option value="(\w+)"', await bob.shown(own)) == ["viewer", "member"]
    assert (await bob.post(f"{own}/invitations", {"role": "owner"})).status_code == 403
    assert (await bob.post(f"{own}/invitations", {"role": "member"})).status_code == 200


GET = ["", ".json"]
POST = [
    "/leave", "/invitations", "/invitations/{invitation}/withdraw", "/members/{ana}/role", "/members/{ana}/remove",
]  # fmt: skip


async def test_sec_170_a_vault_of_others_answers_byte_for_byte_as_none_on_every_route(hall, bob, shared):
    await hall.app.members.invite(shared, shared.vault, "viewer")
    [open_] = await hall.app.members.invitations(shared, shared.vault)
    head = await hall.head()
    for method, ends in (("GET", GET), ("POST", POST)):
        for end in ends:
            tail = end.format(invitation=open_.id, ana=shared.user)
            ask = bob.get if method == "GET" else bob.post
            fields = {} if method == "GET" else {"fields": {"role": "viewer"}}
            foreign = await ask(f"/app/vaults/{shared.vault}{tail}", **fields)
            unknown = await ask(f"/app/vaults/{UNKNOWN}{tail}", **fields)
            assert (foreign.status_code, foreign.content) == (404, unknown.content), end
            assert unknown.status_code == 404
    assert await hall.head() == head


async def test_sec_181_an_administrator_is_refused_another_persons_vault_on_every_route(hall, ana, bob):
    theirs = await founded(hall.app, await visiting(hall.app, (await hall.user("Bob")).id), "private")
    await hall.app.members.invite(theirs, theirs.vault, "viewer")
    [open_] = await hall.app.members.invitations(theirs, theirs.vault)
    assert (await hall.user()).administrator
    head = await hall.head()
    for end in GET:
        assert (await ana.get(f"/app/vaults/{theirs.vault}{end}")).status_code == 404
    for end in POST:
        path = f"/app/vaults/{theirs.vault}{end.format(invitation=open_.id, ana=theirs.user)}"
        assert (await ana.post(path, {"role": "viewer"})).status_code == 404
    for end in ("", ".json"):
        assert (await ana.get(f"/app/activity{end}?vault={theirs.vault}")).status_code == 404
        assert "private" not in (await ana.get(f"/app/vaults{end}")).text
    key = {"vault": theirs.vault, "expires": "90", "scope": "memories:read"}
    assert (await ana.post("/app/keys", key)).status_code == 400
    assert await hall.head() == head


async def test_names_of_vaults_and_people_are_text_and_nothing_else(hall, ana):
    hostile = '"><img src=x onerror=alert(1)>'
    await ana.post("/app/vaults", {"name": hostile, "kind": "project"})
    await hall.joined("Bob <script>alert(1)</script>")
    for path in ("/app/vaults", "/app/keys", "/app/activity"):
        page = await ana.shown(path)
        assert "<img" not in page
        assert "<script>alert" not in page
