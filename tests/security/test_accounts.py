"""The first account, recovery, names and invitations: who gets an account, and how they get back into it."""

import asyncio
import re

import pytest

from archivist.app import OWNER
from archivist.domain.access import ALL_SCOPES, Principal, Scope
from archivist.domain.errors import ArchivistError, Conflict
from archivist.domain.ids import CONTROL
from archivist.domain.users import name_digest
from archivist.server import BEFORE_SET_UP, asgi
from archivist.settings import Settings
from tests.faces.mcp.conversations import Person as Assistant
from tests.faces.web.browsing_in_process import ANA, BOB, HERE, PASSWORD, Hall, Person, an_app
from tests.faces.web.browsing_in_process import ana as ana
from tests.faces.web.browsing_in_process import bare as bare
from tests.faces.web.browsing_in_process import clock as clock
from tests.faces.web.browsing_in_process import hall as hall

pytestmark = pytest.mark.anyio


# The first account


async def test_sec_016_there_is_no_account_by_default(bare):
    assert await bare.rows("users") == []
    await bare.set_up()
    assert [(row["name"], row["administrator"]) for row in await bare.rows("users")] == [(ANA, 1)]


async def tried(hall: Hall, link: str) -> tuple[int, int]:
    """What looking at a set-up link and posting to it answer."""
    person = hall.browser()
    seen = (await person.get(f"/set-up/{link}")).status_code
    if not person.csrf:
        other = await hall.app.accounts.set_up_link(OWNER)
        await person.get(f"/set-up/{other}" if other else "/sign-in")
    fields = {"name": "Eve", "password": PASSWORD, "again": PASSWORD}
    return seen, (await person.post(f"/set-up/{link}", fields)).status_code


async def test_sec_016_setting_up_needs_the_newest_link_while_it_is_young(bare):
    first = await bare.app.accounts.set_up_link(OWNER)
    second = await bare.app.accounts.set_up_link(OWNER)
    assert await tried(bare, "nonsense") == (404, 404)
    assert await tried(bare, "avl_" + "A" * 43) == (404, 404)
    assert await tried(bare, first) == (404, 404)
    assert await tried(bare, second) == (404, 404), "a newer one was made meanwhile"
    third = await bare.app.accounts.set_up_link(OWNER)
    bare.clock.move(minutes=60)
    assert await tried(bare, third) == (404, 404)
    assert await bare.rows("users") == []


async def test_sec_016_the_link_works_to_its_last_second(bare):
    link = await bare.app.accounts.set_up_link(OWNER)
    bare.clock.move(minutes=59, seconds=59)
    assert await tried(bare, link) == (200, 303)


async def test_sec_016_setting_up_is_gone_for_ever_after(bare, tmp_path):
    spare = await bare.app.accounts.set_up_link(OWNER)
    await bare.set_up()
    assert await tried(bare, spare) == (404, 404)
    assert await bare.app.accounts.set_up_link(OWNER) is None
    app = an_app(tmp_path / "data", bare.clock)
    later = Hall(app, asgi(app, Settings(data=tmp_path / "data")), bare.clock)
    assert await tried(later, spare) == (404, 404)
    assert await app.accounts.set_up_link(OWNER) is None
    await app.close()
    assert len(await bare.rows("users")) == 1


async def test_sec_016_of_twenty_posts_at_once_one_makes_the_administrator(bare):
    link = await bare.app.accounts.set_up_link(OWNER)
    people = [bare.browser() for _ in range(20)]
    for person in people:
        await person.get(f"/set-up/{link}")
    fields = [{"name": f"Person {n}", "password": PASSWORD, "again": PASSWORD} for n in range(20)]
    posts = [person.post(f"/set-up/{link}", form) for person, form in zip(people, fields, strict=True)]
    statuses = sorted(answer.status_code for answer in await asyncio.gather(*posts))
    assert statuses == [303] + [404] * 19
    assert len(await bare.rows("users")) == 1


def addresses(hall: Hall) -> list[tuple[str, str]]:
    """Every method and path of the route table, with something in place of each parameter."""
    found = []
    for route in hall.server.routes.routes:  # type: ignore[attr-defined] — the server is a Door
        path = re.sub(r"\{\w+\}", "x", route.path)
        found += [(method, path) for method in sorted(route.methods or ["GET", "POST"]) if method != "HEAD"]
    return found


async def test_sec_017_before_set_up_pages_and_apps_are_told_so_and_nothing_else_is_done(bare):
    closed = [(method, path) for method, path in addresses(bare) if not path.startswith(BEFORE_SET_UP)]
    assert {"/", "/sign-in", "/app/people", "/oauth/authorize", "/oauth/token", "/oauth/register"} <= {
        p for _, p in closed
    }
    before, person = await bare.head(), bare.browser()
    for method, path in closed:
        answer = await person.ask(method, path)
        assert (path, answer.status_code) == (path, 503)
        assert "not set up yet" in answer.text
    assert await bare.head() == before


async def test_sec_017_before_set_up_keys_health_and_metadata_work(bare):
    person = bare.browser()
    for path in ("/health", "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"):
        assert (await person.get(path)).status_code == 200
    async with Assistant.connected(bare.app, bare.server, *Scope) as assistant:
        await assistant.store("Keys work before there is an account.")
        assert len(await assistant.ids("account")) == 1


@pytest.mark.parametrize("path", ["/sign-in", "/app/people", "/oauth/token"])
async def test_sec_017_once_it_is_set_up_they_answer(hall, path):
    assert (await hall.browser().get(path)).status_code in (200, 405)


async def test_sec_017_setting_up_obeys_the_host_and_the_origin(bare):
    link = await bare.app.accounts.set_up_link(OWNER)
    fields = {"name": "Eve", "password": PASSWORD, "again": PASSWORD}
    person = bare.browser()
    await person.get(f"/set-up/{link}")
    for headers, status in [
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
    ]:
        assert (await person.post(f"/set-up/{link}", fields, **headers)).status_code == status
    assert await bare.rows("users") == []
    assert (await person.post(f"/set-up/{link}", fields, origin=HERE)).status_code == 303


# Recovery


async def test_sec_018_a_link_is_built_from_the_settings_whatever_a_request_says(tmp_path, clock):
    public = {"data": tmp_path / "data", "public_url": "https://memory.example.org"}
    app = an_app(clock=clock, **public)
    await app.start()
    link, host = await app.accounts.set_up_link(OWNER), "memory.example.org"
    person = Person(asgi(app, Settings(**public)))
    await person.get(f"/set-up/{link}", host=host)
    await person.post(f"/set-up/{link}", {"name": ANA, "password": PASSWORD, "again": PASSWORD}, host=host)
    bob, _ = await app.accounts.create(OWNER, BOB)
    await person.get("/app/people", host=host)
    odd = {"x_forwarded_host": "evil.example", "forwarded": "host=evil.example;proto=http", "x_forwarded_proto": "http"}
    answer = await person.post(f"/app/people/{bob.id}/recovery", host=host, **odd)
    assert re.findall(r"https?://[^/]+/recovery/avl_", answer.text) == [f"https://{host}/recovery/avl_"]
    assert (await person.post(f"/app/people/{bob.id}/recovery", host="evil.example")).status_code == 421
    await app.close()


async def test_sec_018_a_recovery_link_works_once_and_ends_every_session(hall, ana):
    link = await hall.app.accounts.recovery_link(OWNER, ANA)
    person, fields = hall.browser(), {"password": "another good password", "again": "another good password"}
    await person.get(f"/recovery/{link}")
    assert (await person.post(f"/recovery/{link}", fields)).headers["location"] == "/app/connections"
    assert await person.is_in()
    assert not await ana.is_in()
    again = hall.browser()
    assert (await again.get(f"/recovery/{link}")).status_code == 404
    await again.get("/sign-in")
    assert (await again.post(f"/recovery/{link}", fields)).status_code == 404
    assert (await hall.browser().sign_in()).status_code == 401


async def test_sec_018_a_newer_recovery_link_ends_the_one_before_and_time_ends_both(hall):
    first = await hall.app.accounts.recovery_link(OWNER, ANA)
    second = await hall.app.accounts.recovery_link(OWNER, ANA)
    assert (await hall.browser().get(f"/recovery/{first}")).status_code == 404
    assert (await hall.browser().get(f"/recovery/{second}")).status_code == 200
    hall.clock.move(minutes=30)
    assert (await hall.browser().get(f"/recovery/{second}")).status_code == 404


async def test_sec_018_an_administrator_never_sets_a_password_for_somebody_else(hall, ana):
    await hall.joined()
    fields = {"password": "another good password", "again": "another good password", "current": PASSWORD}
    bob = await hall.user(BOB)
    for path in (f"/app/people/{bob.id}/password", f"/app/people/{bob.id}"):
        assert (await ana.post(path, fields)).status_code == 404
    assert (await ana.post("/app/account/password", {**fields, "person": bob.id, "id": bob.id})).status_code == 200
    assert (await hall.browser().sign_in(BOB)).status_code == 303


async def test_sec_018_only_an_administrator_makes_links(hall):
    bob = await hall.joined()
    ana = await hall.user()
    before = await hall.rows("links")
    for path in ("/app/people/invitations", f"/app/people/{ana.id}/recovery"):
        assert (await bob.post(path)).status_code == 403
    assert await hall.rows("links") == before


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"host": "evil.example:8765"}, {"host": "127.0.0.1:1"}])
async def test_sec_079_a_foreign_host_gets_no_page(hall, headers):
    assert (await hall.browser().get("/sign-in", **headers)).status_code == 421


# Names


@pytest.mark.parametrize(
    "twin", ["ana", "ANA", " Ana ", "\uff21\uff4e\uff41", "\u0410na", "An\u0430", "\u0391na", "\u0391\u039da"]
)
async def test_sec_021_a_name_that_looks_like_an_existing_one_is_refused(hall, twin):
    with pytest.raises(ArchivistError, match="name"):
        await hall.app.accounts.create(OWNER, twin)
    link = await hall.app.accounts.invite(OWNER)
    person = hall.browser()
    await person.get(f"/invitation/{link}")
    fields = {"decision": "new", "name": twin, "password": PASSWORD, "again": PASSWORD}
    assert (await person.post(f"/invitation/{link}", fields)).status_code in (400, 409)
    assert len(await hall.rows("users")) == 1


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("Zo\u00eb", "Zoe\u0308"),
        ("Bob", "\u0412\u041e\u0412"),
        ("stra\u00dfe", "STRASSE"),
        ("cop", "\u0441\u043e\u0440"),
    ],
)
async def test_sec_021_composition_case_and_whole_alphabets_are_folded(hall, name, twin):
    await hall.app.accounts.create(OWNER, name)
    with pytest.raises(ArchivistError, match="somebody has this name"):
        await hall.app.accounts.create(OWNER, twin)


@pytest.mark.parametrize("name", ["p\u0430ypal", "\u0391dmin", "\u043eleg o", "\uff21\u0432\u0433"])
async def test_sec_021_a_name_of_alphabets_that_look_alike_is_refused_though_nobody_has_it(hall, name):
    with pytest.raises(ArchivistError, match="mixes alphabets"):
        await hall.app.accounts.create(OWNER, name)


async def test_sec_021_somebody_cannot_take_the_name_of_another_by_renaming(hall):
    bob = await hall.joined()
    answer = await bob.post("/app/account/name", {"name": "\uff21\uff2e\uff21"})
    assert answer.status_code == 409
    assert "taken here" in answer.text
    assert (await bob.post("/app/account/name", {"name": "BOB"})).status_code == 303


async def test_sec_021_names_of_any_single_alphabet_are_welcome(hall):
    names = [
        "\u041e\u043b\u044f",
        "\u0645\u0631\u064a\u0645",
        "\u5c71\u7530 Taro",
        "\u00c5sa \u00d8rsted",
        "\u0395\u03bb\u03ad\u03bd\u03b7",
    ]
    for name in names:
        assert (await hall.app.accounts.create(OWNER, name))[0].name == name
    assert len({name_digest(name) for name in names}) == len(names)


# Invitations


async def invited(hall: Hall, role: str = "member") -> str:
    """A link into Ana's vault of notes."""
    ana = await hall.principal()
    notes = next((one for one in await hall.app.vaults.list(ana) if one.name == "notes"), None)
    notes = notes or await hall.app.vaults.create(ana, "notes", "project")
    return await hall.app.members.invite(ana, notes.id, role)


async def roles(hall: Hall) -> dict[str, str]:
    ana = await hall.principal(vault="notes")
    return {one.name: one.member.role for one in await hall.app.members.list(ana, ana.vault)}


NEW = {"decision": "new", "name": BOB, "password": PASSWORD, "again": PASSWORD}


async def test_sec_022_an_invitation_works_once_for_the_vault_and_role_chosen(hall):
    link, person = await invited(hall), hall.browser()
    await person.get(f"/invitation/{link}")
    forged = {**NEW, "role": "owner", "vault": "other", "into_vault": "other", "kind": "organization"}
    assert (await person.post(f"/invitation/{link}", forged)).status_code == 303
    assert await roles(hall) == {ANA: "owner", BOB: "member"}
    other = hall.browser()
    assert (await other.get(f"/invitation/{link}")).status_code == 404
    await other.get("/sign-in")
    assert (await other.post(f"/invitation/{link}", {**NEW, "name": "Cyd"})).status_code == 404


async def test_sec_022_an_invitation_expires_after_three_days(hall):
    link, person = await invited(hall), hall.browser()
    hall.clock.move(hours=71, minutes=59)
    assert (await person.get(f"/invitation/{link}")).status_code == 200
    hall.clock.move(minutes=1)
    assert (await person.post(f"/invitation/{link}", NEW)).status_code == 404
    assert await roles(hall) == {ANA: "owner"}


async def test_sec_022_an_invitation_ends_with_the_right_of_whoever_made_it(hall):
    await hall.joined()
    ana, bob = await hall.principal(), (await hall.user(BOB)).id
    link = await invited(hall, "admin")
    notes = (await hall.app.vaults.named(ana, "notes")).id
    await hall.app.accounts.accept(
        Principal(bob, CONTROL, ALL_SCOPES, "session", "s"), await hall.app.members.invite(ana, notes, "owner")
    )
    await hall.app.members.set_role(Principal(bob, CONTROL, ALL_SCOPES, "session", "s"), notes, ana.user, "admin")
    person = hall.browser()
    assert (await person.get(f"/invitation/{link}")).status_code == 404
    await person.get("/sign-in")
    assert (await person.post(f"/invitation/{link}", {**NEW, "name": "Cyd"})).status_code == 404


async def test_sec_022_two_owners_who_remove_each_other_at_once_leave_one(hall):
    await hall.joined()
    ana, bob = await hall.principal(), Principal((await hall.user(BOB)).id, CONTROL, ALL_SCOPES, "session", "s")
    await hall.app.accounts.accept(bob, await invited(hall, "owner"))
    notes = (await hall.app.vaults.named(ana, "notes")).id
    removing = [hall.app.members.remove(ana, notes, bob.user), hall.app.members.remove(bob, notes, ana.user)]
    results = await asyncio.gather(*removing, return_exceptions=True)
    assert sum(isinstance(one, ArchivistError) for one in results) == 1
    assert [row["role"] for row in await hall.rows("members") if row["vault"] == notes] == ["owner"]


async def test_sec_022_the_last_owner_can_neither_leave_nor_step_down(hall):
    await invited(hall)
    ana = await hall.principal(vault="notes")
    for act in (
        hall.app.members.remove(ana, ana.vault, ana.user),
        hall.app.members.set_role(ana, ana.vault, ana.user, "admin"),
    ):
        with pytest.raises(ArchivistError, match="no owner"):
            await act
    assert await roles(hall) == {ANA: "owner"}


async def test_nobody_is_invited_into_a_personal_vault(hall):
    who = await hall.principal(ANA, "personal")
    with pytest.raises(Conflict, match="its owner's alone"):
        await hall.app.members.invite(who, who.vault, "viewer")
