"""Browser sessions: how they begin and end, what their cookies are, and which requests they carry."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from archivist.app import OWNER
from archivist.domain.access import Scope
from tests.faces.web.browsing_in_process import (
    ANA,
    BOB,
    DEVICE,
    HERE,
    PASSWORD,
    SESSION,
    Hall,
    Person,
)
from tests.faces.web.browsing_in_process import ana as ana
from tests.faces.web.browsing_in_process import bare as bare
from tests.faces.web.browsing_in_process import clock as clock
from tests.faces.web.browsing_in_process import hall as hall
from tests.people import connected
from tests.security.signing_in import Flow

pytestmark = pytest.mark.anyio

NEW_PASSWORD = "another good password"


def copied(person: Person) -> Person:
    """What a thief of the session cookie has: nothing else of that browser."""
    return Person(person.server, "203.0.113.5", cookies={SESSION: person.cookies[SESSION]})


# Where a session comes from


@pytest.mark.parametrize("planted", ["avs_" + "A" * 43, "chosen-by-somebody", "avs_short"])
async def test_sec_007_a_planted_session_is_never_promoted(hall, planted):
    person = hall.browser()
    person.cookies[SESSION] = planted
    assert (await person.sign_in()).status_code == 303
    assert person.cookies[SESSION] != planted
    assert await person.is_in()
    attacker = Person(hall.server, cookies={SESSION: planted})
    assert not await attacker.is_in()


async def test_sec_007_every_sign_in_makes_a_session_of_its_own(hall):
    people = [hall.browser() for _ in range(3)]
    for person in people:
        await person.sign_in()
    assert len({person.cookies[SESSION] for person in people}) == 3
    assert all(re.fullmatch(r"avs_[A-Za-z0-9_-]{43}", person.cookies[SESSION]) for person in people)


async def test_sec_007_the_second_step_replaces_the_session_that_waited_for_it(hall, ana):
    totp, _ = await hall.with_factor(ana)
    hall.clock.move(seconds=60)
    person = hall.browser()
    await person.sign_in()
    waiting = copied(person)
    await person.get("/sign-in")
    assert (await person.post("/sign-in", {"code": hall.code(totp)})).status_code == 303
    assert await person.is_in()
    assert not await waiting.is_in()


async def test_sec_007_a_fresh_proof_replaces_the_session(hall, ana):
    old = copied(ana)
    hall.clock.move(minutes=11)
    await ana.get("/app/people")
    answer = await ana.post("/app/people/invitations", {"password": PASSWORD})
    assert answer.status_code == 200
    assert await ana.is_in()
    assert not await old.is_in()


async def test_sec_007_so_does_every_change_of_what_the_account_opens_with(hall, ana):
    old = [copied(ana)]
    await ana.post("/app/account/password", {"current": PASSWORD, "password": NEW_PASSWORD, "again": NEW_PASSWORD})
    old.append(copied(ana))
    await hall.with_factor(ana)
    old.append(copied(ana))
    await ana.post("/app/recovery-codes")
    old.append(copied(ana))
    await ana.get("/app/account")
    await ana.post("/app/two-factor/off")
    assert await ana.is_in()
    assert [await one.is_in() for one in old] == [False] * 4


async def test_sec_007_the_database_holds_nothing_that_opens_a_session(hall, ana):
    [row] = [row for row in await hall.rows("sessions") if row["user"] == "local-owner"][:1]
    kept = [str(value) for row in await hall.rows("sessions") for value in row.values()]
    assert ana.cookies[SESSION] not in kept
    for value in (row["digest"], row["id"]):
        assert not await Person(hall.server, cookies={SESSION: value}).is_in()


# The cookie


def attributes(answer: httpx2.Response, name: str) -> set[str]:
    [line] = [line for line in answer.headers.get_list("set-cookie") if line.startswith(f"{name}=")]
    return {part.strip().lower() for part in line.split(";")[1:]}


async def test_sec_008_the_session_cookie_belongs_to_this_host_alone(hall):
    answer = await hall.browser().sign_in()
    assert attributes(answer, SESSION) == {"path=/", "secure", "httponly", "samesite=lax"}
    assert {"path=/", "secure", "httponly", "samesite=lax"} < attributes(answer, DEVICE)
    assert all("domain" not in line.lower() for line in answer.headers.get_list("set-cookie"))


async def raw(hall: Hall, *cookies: str, path: str = "/app/account") -> httpx2.Response:
    """A request with exactly these `Cookie` headers."""
    transport = httpx2.ASGITransport(app=hall.server)
    headers = [("cookie", one.encode("latin-1")) for one in cookies]
    async with httpx2.AsyncClient(transport=transport, base_url=HERE) as http:
        return await http.get(path, headers=headers)


@pytest.mark.parametrize(
    "cookies",
    [
        ["{name}={mine}; {name}={other}"],
        ["{name}={other}; {name}={mine}"],
        ["{name}={mine}; {name}={mine}"],
        ["{name}={mine}", "{name}={other}"],
        ["{name}={mine}; {name}="],
        ["{name}; {name}={mine}"],
        ['"{name}"={mine}'],
        ["'{name}'={mine}"],
        ["{name} ={mine}"],
        ["{name}\t={mine}"],
        ["\t{name}={mine}"],
        ["\xa0{name}={mine}"],
        ["{name}\xa0={mine}"],
        ["{lower}={mine}"],
        ["{name}={mine}; {lower}={other}"],
        ['{name}="{mine}"'],
        ["{name}={mine},{name}={other}"],
        ["{name}= {mine}"],
        ["{name}={mine}x"],
        ["{name}={mine}\x00"],
        ["{name}={mine}; {device}=one; {device}=two"],
        ['{name}={mine}; "{name}"={other}'],
    ],
)
async def test_sec_008_cookies_that_can_be_read_in_two_ways_are_nobodys(hall, ana, cookies):
    other = hall.browser()
    await other.sign_in()
    words = {"name": SESSION, "lower": SESSION.lower(), "device": DEVICE}
    values = {"mine": ana.cookies[SESSION], "other": other.cookies[SESSION]}
    answer = await raw(hall, *(one.format(**words, **values) for one in cookies))
    assert "Sign out" not in answer.text
    assert "<h1>Sign in</h1>" in answer.text


@pytest.mark.parametrize(
    "cookie", ["{name}={mine}", "a=b; {name}={mine}; c=d", "a=b;{name}={mine}", "x; {name}={mine} ; y="]
)
async def test_sec_008_cookies_of_others_beside_it_do_not_matter(hall, ana, cookie):
    answer = await raw(hall, cookie.format(name=SESSION, mine=ana.cookies[SESSION]))
    assert "Sign out" in answer.text


# How long it lives


async def test_sec_009_a_session_that_is_not_used_for_eight_hours_is_over(hall, ana):
    hall.clock.move(hours=7, minutes=59, seconds=59)
    assert await ana.is_in()
    hall.clock.move(hours=7, minutes=59, seconds=59)
    assert await ana.is_in()
    hall.clock.move(hours=8)
    assert not await ana.is_in()


async def test_sec_009_a_session_is_over_after_seven_days_however_much_it_is_used(hall, ana):
    for _ in range(23):
        hall.clock.move(hours=7)
        assert await ana.is_in()
    hall.clock.move(hours=6, minutes=59, seconds=59)
    assert await ana.is_in()
    hall.clock.move(seconds=1)
    assert not await ana.is_in()


async def test_sec_009_the_second_step_is_waited_for_ten_minutes(hall, ana):
    totp, _ = await hall.with_factor(ana)
    hall.clock.move(minutes=1)
    person = hall.browser()
    await person.sign_in()
    hall.clock.move(minutes=10)
    assert "<h1>Sign in</h1>" in await person.shown("/sign-in")
    await person.post("/sign-in", {"code": hall.code(totp)})
    assert not await person.is_in()


# How it ends


async def test_sec_010_signing_out_ends_the_session_at_once_also_for_a_copy(hall, ana):
    copy = copied(ana)
    answer = await ana.post("/sign-out")
    assert answer.headers["location"] == "/sign-in"
    assert "storage" in answer.headers["clear-site-data"]
    assert SESSION not in ana.cookies
    assert not await copy.is_in()


async def test_sec_010_a_new_password_ends_every_other_session(hall, ana):
    others = [hall.browser(), hall.browser()]
    for other in others:
        await other.sign_in()
    fields = {"current": PASSWORD, "password": NEW_PASSWORD, "again": NEW_PASSWORD}
    assert (await ana.post("/app/account/password", fields)).status_code == 200
    assert [await one.is_in() for one in [ana, *others]] == [True, False, False]


async def test_sec_010_turning_the_second_step_off_ends_every_other_session(hall, ana):
    other = hall.browser()
    await hall.with_factor(ana)
    await other.sign_in()
    await ana.get("/app/account")
    assert (await ana.post("/app/two-factor/off")).status_code == 303
    assert await ana.is_in()
    assert (await other.get("/app/account")).text.count("<h1>Sign in</h1>") == 1


async def test_sec_010_disabling_somebody_ends_their_sessions_connections_and_keys(hall, ana):
    bob = await hall.joined()
    who = replace(await hall.principal(BOB), credential="session")
    entered = (await hall.app.sign_in.session(bob.cookies[SESSION]))[1]
    let_in = await connected(hall.app, hall.clock, replace(entered, vault=who.vault))
    _, key = await hall.app.keys.create(who, name="script", scopes=frozenset({Scope.READ}))
    program = Flow(hall, bob, Path())
    assert [await program.lets_in(one) for one in (let_in.access, key)] == [True, True]
    await ana.get("/app/people")
    assert (await ana.post(f"/app/people/{who.user}/disable")).status_code == 303
    assert [await program.lets_in(one) for one in (let_in.access, key)] == [False, False]
    assert not await copied(bob).is_in()
    assert (await hall.browser().sign_in(BOB)).status_code == 401
    assert (await program.call("/oauth/token", {"grant_type": "refresh_token", "client_id": let_in.client.client_id,
                                                "refresh_token": let_in.refresh})).status_code == 400  # fmt: skip


async def test_sec_010_taking_a_second_step_away_ends_the_sessions_of_its_person(hall, ana):
    bob = await hall.joined()
    await hall.with_factor(bob)
    await ana.get("/app/people")
    assert (await ana.post(f"/app/people/{(await hall.user(BOB)).id}/factor")).status_code == 303
    assert not await bob.is_in()
    assert (await hall.browser().sign_in(BOB)).status_code == 303


# Acts that need a fresh proof


async def sensitive(hall: Hall) -> Sequence[tuple[str, dict[str, str]]]:
    """What each sensitive form of Ana's pages would post."""
    bob = (await hall.user(BOB)).id
    session = (await hall.app.sign_in.list(await hall.principal()))[-1].id
    return [
        ("/app/two-factor", {"offer": "x", "code": "123456"}),
        ("/app/two-factor/off", {}),
        ("/app/recovery-codes", {}),
        ("/app/sessions/end-others", {}),
        (f"/app/sessions/{session}/end", {}),
        ("/app/people/invitations", {}),
        ("/app/people/blocked", {"app": "x"}),
        ("/app/people/blocked/remove", {"app": "x"}),
        *((f"/app/people/{bob}/{act}", {}) for act in ("disable", "enable", "end", "factor", "recovery")),
        ("/app/keys", {"name": "n", "scope": "memories:delete", "expires": "90"}),
        (f"/app/vaults/{(await hall.principal()).vault}/invitations", {"role": "member"}),
    ]


async def test_sec_011_no_sensitive_act_is_done_in_an_old_session(hall, ana):
    await hall.joined()
    hall.clock.move(minutes=10)
    await ana.get("/app/account")
    before = await hall.head()
    for path, fields in await sensitive(hall):
        answer = await ana.post(path, fields)
        assert (path, answer.status_code) == (path, 403)
        assert "Confirm it is you" in answer.text
        wrong = await ana.post(path, {**fields, "password": "wrong wrong wrong"})
        assert wrong.status_code in (401, 429)
        hall.clock.move(minutes=1)
    assert {row["action"] for row in await hall.rows("audit") if row["outcome"] == "done"} & {
        "users disable", "end all", "recovery link", "keys create", "factor removed", "sessions end", "members invite",
    } == set()  # fmt: skip
    assert await hall.head() == before


async def test_sec_011_a_new_password_is_never_set_without_the_present_one(hall, ana):
    before = await hall.rows("users")
    for present in ("", "wrong wrong wrong"):
        fields = {"current": present, "password": NEW_PASSWORD, "again": NEW_PASSWORD}
        assert (await ana.post("/app/account/password", fields)).status_code == 401
    assert await hall.rows("users") == before


async def test_sec_011_what_was_posted_is_carried_on_and_done_after_the_proof(hall, ana):
    await hall.joined()
    hall.clock.move(minutes=11)
    await ana.get("/app/people")
    bob = (await hall.user(BOB)).id
    asked = await ana.post(f"/app/people/{bob}/disable")
    assert f'action="/app/people/{bob}/disable"' in asked.text
    done = await ana.post(f"/app/people/{bob}/disable", {"password": PASSWORD})
    assert done.headers["location"] == "/app/people"
    assert (await hall.user(BOB)).disabled is not None


# Forged requests


async def forms(hall: Hall) -> Sequence[tuple[str, dict[str, str]]]:
    """Forms of somebody who is signed in."""
    invitation = await hall.app.accounts.invite(OWNER)
    recovery = await hall.app.accounts.recovery_link(OWNER, BOB)
    chosen = {"password": NEW_PASSWORD, "again": NEW_PASSWORD}
    return [
        ("/sign-out", {}),
        ("/app/account/name", {"name": "Eve"}),
        ("/app/account/password", {"current": PASSWORD, **chosen}),
        *await sensitive(hall),
        (f"/invitation/{invitation}", {"decision": "new", "name": "Eve", **chosen}),
        (f"/recovery/{recovery}", chosen),
    ]


FORGERIES = [
    {"headers": {"sec_fetch_site": "cross-site"}},
    {"headers": {"sec_fetch_site": "same-site"}},
    {"headers": {"sec_fetch_site": "none"}},
    {"headers": {"sec_fetch_site": "Same-Origin"}},
    {"headers": {"origin": "https://evil.example"}},
    {"headers": {"origin": "null"}},
    {"headers": {"origin": HERE.replace("http:", "https:")}},
    {"fields": {"csrf": ""}},
    {"fields": {"csrf": "A" * 43}},
    {"fields": {"csrf": "of another session"}},
]


@pytest.mark.parametrize("forgery", FORGERIES, ids=str)
async def test_sec_012_a_form_that_no_page_of_the_session_sent_changes_nothing(hall, ana, forgery):
    bob = await hall.joined()
    posts, before = await forms(hall), await hall.head()
    for path, fields in posts:
        more = dict(forgery.get("fields", {}))
        if more.get("csrf") == "of another session":
            more["csrf"] = bob.csrf
        answer = await ana.post(path, {**fields, **more}, **forgery.get("headers", {}))
        assert (path, answer.status_code) == (path, 403)
    assert await hall.head() == before
    assert await ana.is_in()


async def test_sec_012_what_only_looks_changes_nothing(hall, ana):
    await hall.joined()
    posts, before = await forms(hall), await hall.head()
    for path, fields in posts:
        query = "&".join(f"{name}={quote(value)}" for name, value in {**fields, "csrf": ana.csrf}.items())
        for method in ("GET", "HEAD"):
            assert (await ana.ask(method, f"{path}?{query}")).status_code in (200, 303, 404, 405)
    assert await hall.head() == before
    assert await ana.is_in()


@pytest.mark.parametrize("forgery", FORGERIES, ids=str)
async def test_sec_012_the_forms_of_people_who_are_not_signed_in_are_protected_alike(bare, forgery):
    link = await bare.app.accounts.set_up_link(OWNER)
    stranger, other = bare.browser(), bare.browser()
    await stranger.get(f"/set-up/{link}")
    await other.get(f"/set-up/{link}")
    posts = [(f"/set-up/{link}", {"name": "Eve", "password": PASSWORD, "again": PASSWORD})]
    before = await bare.head()
    more = {"csrf": other.csrf} if "of another" in str(forgery) else dict(forgery.get("fields", {}))
    for path, fields in posts:
        assert (await stranger.post(path, {**fields, **more}, **forgery.get("headers", {}))).status_code == 403
    assert await bare.head() == before
    await bare.set_up()
    await stranger.get("/sign-in")
    before = await bare.head()
    more = {"csrf": other.csrf} if "of another" in str(forgery) else dict(forgery.get("fields", {}))
    fields = {"name": ANA, "password": PASSWORD, **more}
    assert (await stranger.post("/sign-in", fields, **forgery.get("headers", {}))).status_code == 403
    assert await bare.head() == before


@pytest.mark.parametrize("forgery", FORGERIES, ids=str)
async def test_sec_012_the_answer_to_an_app_is_protected_alike(hall, ana, forgery):
    flow = await Flow(hall, ana, Path()).another()
    page = await flow.ask()
    hall.clock.move(seconds=1)
    transaction = re.search(r'name="transaction" value="([^"]+)"', page.text)
    assert transaction, page.text
    vault = (await hall.principal()).vault
    fields = {"transaction": transaction[1], "vault": vault, "scope": "memories:read", "decision": "allow"}
    other = hall.browser()
    await other.sign_in()
    await other.get("/app/account")
    more = {"csrf": other.csrf} if "of another" in str(forgery) else dict(forgery.get("fields", {}))
    answer = await ana.post(flow.question(), {**fields, **more}, **forgery.get("headers", {}))
    assert answer.status_code == 403
    assert await hall.rows("grants") == []


@pytest.mark.parametrize("headers", [{}, {"sec_fetch_site": "same-origin"}, {"origin": HERE}])
async def test_sec_012_a_form_of_a_page_of_ours_is_taken(hall, ana, headers):
    assert (await ana.post("/app/account/name", {"name": "Ana M."}, **headers)).status_code == 303


async def test_sec_013_nobody_is_signed_in_by_a_form_that_their_browser_has_not_loaded(hall):
    theirs = hall.browser()
    await theirs.get("/sign-in")
    victim = hall.browser()
    fields = {"name": ANA, "password": PASSWORD}
    for csrf in ("", theirs.csrf):
        assert (await victim.post("/sign-in", {**fields, "csrf": csrf})).status_code == 403
    assert SESSION not in victim.cookies
    await victim.get("/sign-in")
    assert (await victim.post("/sign-in", fields)).status_code == 303
