"""Pages that cannot be framed, lead nowhere else, tell no secrets, and let nobody round the second step."""

import logging
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

import httpx2
import pytest

from archivist.app import OWNER
from archivist.services.passwords import Passwords
from archivist.services.sign_in import Visitor
from tests.faces.web.browsing_in_process import ANA, BOB, HERE, PASSWORD, SESSION, Hall, Person
from tests.faces.web.browsing_in_process import ana as ana
from tests.faces.web.browsing_in_process import bare as bare
from tests.faces.web.browsing_in_process import clock as clock
from tests.faces.web.browsing_in_process import hall as hall
from tests.security.signing_in import Flow

pytestmark = pytest.mark.anyio

NEW_PASSWORD = "another good password"
MARK = "marker-5f2c-never-shown"


async def pages(hall: Hall, person: Person) -> list[httpx2.Response]:
    """Every page that somebody can get, signed in and out, with those that say no."""
    stranger = hall.browser()
    out = ["/sign-in", "/app/account", "/invitation/x", f"/invitation/{await hall.app.accounts.invite(OWNER)}"]
    out += [f"/recovery/{await hall.app.accounts.recovery_link(OWNER, ANA)}", "/oauth/authorize", "/set-up/x"]
    mine = ["/app/account", "/app/two-factor", "/app/people", "/app/connections", "/app/keys", "/app/vaults"]
    shown = [await stranger.get(path) for path in out] + [await person.get(path) for path in mine]
    shown.append(await stranger.post("/sign-in", {"name": "x", "password": "y", "csrf": "forged"}))
    shown.append(await person.post("/app/account/name", {"name": ""}))
    flow = await Flow(hall, person, Path()).another()
    return [*shown, await flow.ask()]


async def test_sec_014_no_page_can_be_framed_kept_or_read_as_something_else(hall, ana):
    for answer in await pages(hall, ana):
        headers = answer.headers
        assert headers["content-type"].startswith("text/html"), answer.request.url
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


async def test_sec_014_no_page_brings_a_script_or_a_style_of_its_own(hall, ana):
    for answer in await pages(hall, ana):
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", answer.text)


async def test_sec_014_the_control_that_allows_has_no_id_and_no_focus(hall, ana):
    page = await (await Flow(hall, ana, Path()).another()).ask()
    [button] = re.findall(r'<button[^>]*value="allow"[^>]*>', page.text)
    assert " id=" not in button
    assert "autofocus" not in page.text


async def test_sec_014_an_answer_before_the_page_could_be_read_is_shown_again(hall, ana):
    flow = await Flow(hall, ana, Path()).another()
    page = await flow.ask()
    transaction = re.search(r'name="transaction" value="([^"]+)"', page.text)
    assert transaction, page.text
    vault = (await hall.principal()).vault
    fields = {"transaction": transaction[1], "vault": vault, "scope": "memories:read", "decision": "allow"}
    hall.clock.move(milliseconds=200)
    early = await ana.post(flow.question(), fields)
    assert early.status_code == 400
    assert 'value="allow"' in early.text
    assert await hall.rows("grants") == []
    hall.clock.move(milliseconds=800)
    assert (await ana.post(flow.question(), fields)).status_code == 303


CRAFTED = [
    "https://evil.example", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example",
    "/\t/evil.example", "/%2fevil.example", "/%5cevil.example", "%2f%2fevil.example", "https:evil.example", "http:///evil.example",
    "https://127.0.0.1:8765@evil.example", "https://evil.example#@127.0.0.1", "javascript:alert(1)", "data:text/html,x",
    "/app/../..//evil.example", "\r\nLocation: https://evil.example", "%0d%0aLocation:%20https://evil.example",
    "https://evil.example/%2e%2e", "/.evil.example", "?next=//evil.example", "//evil%E3%80%82example",
]  # fmt: skip


async def where(person: Person, answer: httpx2.Response) -> str:
    """Where the browser ends up, every hop on this site."""
    at = str(answer.request.url)
    while answer.status_code in (301, 302, 303, 307, 308):
        location = answer.headers["location"]
        assert "\n" not in location
        assert not location.startswith(("//", "/\\", "\\")), location
        at = urljoin(at, location)
        assert at.startswith(f"{HERE}/"), at
        answer = await person.get(at.removeprefix(HERE))
    assert answer.status_code == 200
    assert "Sign out" in answer.text
    return urlsplit(at).path


@pytest.mark.parametrize("value", CRAFTED)
async def test_sec_015_after_signing_in_no_parameter_leads_elsewhere(hall, value):
    for name in ("next", "return_to", "redirect_uri", "url"):
        for page in ("/sign-in", "/app/account"):
            person = hall.browser()
            path = f"{page}?{name}={quote(value, safe='')}"
            await person.get(path)
            fields = {"name": ANA, "password": PASSWORD, name: value, "coming_back": value}
            end = await where(person, await person.post(path, fields))
            assert end == ("/app/connections" if page == "/sign-in" else page)


@pytest.mark.parametrize("path", ["//evil.example/app", "/\\evil.example", "/%2f%2fevil.example", "/app//evil.example"])
async def test_sec_015_no_path_leads_elsewhere(hall, path):
    person = hall.browser()
    await person.get("/sign-in")
    address = f"{HERE}{path}"
    for answer in (await person.get(address), await person.post(address, {"name": ANA, "password": PASSWORD})):
        assert answer.status_code in (404, 405)
        assert "location" not in answer.headers


# The second step


async def test_sec_019_a_code_works_once(hall, ana):
    totp, recovery_codes = await hall.with_factor(ana)
    for code, moved in ((hall.code(totp), 0), (recovery_codes[0], 60), (None, 60)):
        hall.clock.move(seconds=moved)
        code = code or hall.code(totp)
        statuses = []
        for _ in range(2):
            person = hall.browser()
            await person.sign_in()
            await person.get("/sign-in")
            statuses.append((await person.post("/sign-in", {"code": code})).status_code)
        assert statuses == ([401, 401] if moved == 0 else [303, 401]), "the first one turned the step on"


async def test_sec_019_wrong_codes_are_slowed_down_for_the_person_wherever_they_come_from(hall, ana):
    totp, _ = await hall.with_factor(ana)
    hall.clock.move(seconds=60)
    wrong = "000000" if hall.code(totp) != "000000" else "111111"
    statuses = []
    for number in range(6):
        person = hall.browser(f"192.0.2.{number}")
        await person.sign_in()
        await person.get("/sign-in")
        statuses.append((await person.post("/sign-in", {"code": wrong})).status_code)
    assert statuses == [401] * 5 + [429]


async def test_sec_019_no_page_opens_before_the_second_step(hall, ana):
    await hall.with_factor(ana)
    hall.clock.move(seconds=60)
    person = hall.browser()
    await person.sign_in()
    flow = replace(await Flow(hall, ana, Path()).another(), person=person)
    for path in ("/app/account", "/app/people", "/app/keys", "/app/two-factor", "/sign-in", flow.question()):
        assert "<h1>Second step</h1>" in await person.shown(path)
    for path in ("/app/keys", "/app/two-factor/off", "/app/account/name"):
        answer = await person.post(path, {"name": "Eve", "scope": "memories:read"})
        assert answer.status_code == 401
        hall.clock.move(minutes=1)
    done = [row["action"] for row in await hall.rows("audit") if row["outcome"] == "done"]
    assert not {"keys create", "factor removed", "users rename"} & set(done)


async def test_sec_019_a_recovery_link_does_not_go_round_it(hall, ana):
    totp, _ = await hall.with_factor(ana)
    link = await hall.app.accounts.recovery_link(OWNER, ANA)
    person = hall.browser()
    await person.get(f"/recovery/{link}")
    await person.post(f"/recovery/{link}", {"password": NEW_PASSWORD, "again": NEW_PASSWORD})
    assert "<h1>Second step</h1>" in await person.shown("/app/connections")
    hall.clock.move(seconds=60)
    assert (await person.post("/app/connections", {"code": hall.code(totp)})).status_code == 303


async def test_sec_019_sensitive_acts_ask_for_it_too(hall, ana):
    totp, recovery_codes = await hall.with_factor(ana)
    hall.clock.move(minutes=11)
    await ana.get("/app/account")
    asked = await ana.post("/app/people/invitations")
    assert "Code from your authenticator app" in asked.text
    for code in ("", "000000"):
        assert (await ana.post("/app/people/invitations", {"password": PASSWORD, "code": code})).status_code == 401
    fields = {"current": PASSWORD, "password": NEW_PASSWORD, "again": NEW_PASSWORD}
    assert (await ana.post("/app/account/password", fields)).status_code == 401
    answer = await ana.post("/app/people/invitations", {"password": PASSWORD, "code": hall.code(totp)})
    assert answer.status_code == 200
    with_code = await ana.post("/app/account/password", {**fields, "code": recovery_codes[0]})
    assert with_code.status_code == 200


async def test_sec_019_it_is_asked_for_after_an_outside_sign_in(hall, ana):
    await hall.with_factor(ana)
    entered = await hall.app.sign_in.outside((await hall.user()).id, Visitor(address=ana.address, agent=ana.agent))
    assert entered.session.stage == "half"
    assert not await Person(hall.server, cookies={SESSION: entered.secret}).is_in()


# What people see and end


async def test_sec_023_people_see_their_browsers_and_end_them_from_another_one(hall, ana):
    phone = hall.browser()
    phone.agent = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile/15E148 Safari/604.1"
    await phone.sign_in()
    page = await ana.shown("/app/account")
    assert "Firefox on Linux" in page
    assert "Safari on iPhone" in page
    ends = re.findall(r'action="/app/sessions/([^/"]+)/end"', page)
    mine = {one.agent: one.id for one in await hall.app.sign_in.list(await hall.principal())}
    assert mine[phone.agent] in ends
    assert (await ana.post(f"/app/sessions/{mine[phone.agent]}/end")).status_code == 303
    assert not await phone.is_in()
    assert await ana.is_in()


async def test_sec_023_the_list_shows_no_secret(hall, ana):
    page = await ana.shown("/app/account")
    digests = [row["digest"] for row in await hall.rows("sessions")]
    assert not [secret for secret in [*ana.cookies.values(), *digests] if secret in page]


async def test_sec_023_nobody_ends_the_session_of_somebody_else(hall, ana):
    bob = await hall.joined()
    theirs = (await hall.app.sign_in.list(await hall.principal(BOB)))[0].id
    assert (await ana.post(f"/app/sessions/{theirs}/end")).status_code == 404
    assert await bob.is_in()


async def test_sec_023_all_others_end_together(hall, ana):
    others = [hall.browser(), hall.browser()]
    for other in others:
        await other.sign_in()
    bob = await hall.joined()
    assert (await ana.post("/app/sessions/end-others")).status_code == 303
    assert [await one.is_in() for one in (ana, bob, *others)] == [True, True, False, False]


# Secrets that were typed


def listen(caplog: pytest.LogCaptureFixture) -> None:
    """To everything that is logged, but for the client of these tests, which tells its requests."""
    caplog.set_level(logging.DEBUG)
    for client in ("httpx2", "httpcore2"):
        caplog.set_level(logging.WARNING, client)


def kept_below(folder: Path, text: str) -> list[Path]:
    """The files that hold it."""
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def typed_everywhere(hall: Hall, person: Person) -> list[httpx2.Response]:
    """The marker as a password, and as what is wrong with it, in every form that takes one."""
    strange = {"name": "x", "password": MARK, "again": f"{MARK}x", "current": MARK, "code": MARK}
    recovery = await hall.app.accounts.recovery_link(OWNER, BOB)
    invitation = await hall.app.accounts.invite(OWNER)
    stranger = hall.browser()
    answers = []
    for path in ("/sign-in", f"/recovery/{recovery}", f"/invitation/{invitation}"):
        await stranger.get(path)
        for fields in (strange, {**strange, "again": MARK}):
            answers.append(await stranger.post(path, {**fields, "decision": "new"}))
    await person.get("/app/account")
    answers.append(await person.post("/app/account/password", strange))
    answers.append(await person.post("/app/account/password", {**strange, "again": MARK}))
    hall.clock.move(minutes=11)
    await person.get("/app/account")
    answers.append(await person.post("/app/people/invitations", {"password": MARK}))
    answers.append(await person.post("/app/two-factor", {"offer": MARK, "code": "1", "password": PASSWORD}))
    return answers


async def test_sec_228_a_password_is_on_no_page_in_no_log_and_in_no_file(hall, ana, tmp_path, caplog):
    listen(caplog)
    await hall.joined()
    answers = await typed_everywhere(hall, ana)
    good = f"{MARK} and more"
    await hall.app.accounts.recover(await hall.app.accounts.recovery_link(OWNER, BOB), good)
    assert (await hall.browser().sign_in(BOB, good)).status_code == 303
    assert len(answers) == 10
    assert [answer.request.url for answer in answers if MARK in answer.text or MARK in str(answer.headers)] == []
    assert MARK not in caplog.text
    assert kept_below(tmp_path, MARK) == []


async def test_sec_228_not_even_when_something_breaks_while_it_is_checked(hall, monkeypatch, caplog):
    listen(caplog)

    async def broken(self: Passwords, kept: str, password: str) -> bool:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(Passwords, "verify", broken)
    answer = await hall.browser().sign_in(password=MARK)
    assert answer.status_code == 500
    assert MARK not in answer.text + caplog.text


async def test_sec_229_a_form_that_cannot_be_read_is_not_repeated(hall):
    person = hall.browser()
    await person.get("/sign-in")
    kinds = {"content_type": "application/x-www-form-urlencoded"}
    csrf = f"csrf={person.csrf}&"
    posts = [
        (f"{csrf}name={MARK}&name={MARK}&password={MARK}", kinds),
        (f"{csrf}password={MARK}&password={MARK}", kinds),
        (f"{csrf}name={MARK}%ff&password={MARK}", kinds),
        (csrf + f"{MARK}=1&" * 200, kinds),
        (csrf + MARK * 2000, kinds),
        (f'{{"name": "{MARK}"}}', {"content_type": "application/json"}),
        (f"{csrf}name={MARK}", {"content_type": f"text/{MARK}"}),
        (f"{csrf}name=x&password={MARK}", kinds),
    ]
    for body, headers in posts:
        answer = await person.ask("POST", "/sign-in", content=body, headers=headers)
        assert answer.status_code in (400, 401, 413, 415)
        assert MARK not in answer.text.replace(f'value="{MARK}"', "")
        assert "<h1>" in answer.text


async def test_sec_230_no_query_and_no_cookie_reaches_a_log(hall, ana, caplog):
    listen(caplog)
    await ana.get(f"/app/account?state={MARK}")
    await (await Flow(hall, ana, Path()).another()).ask(state=MARK)
    assert MARK not in caplog.text
    assert ana.cookies[SESSION] not in caplog.text


async def test_sec_231_a_fault_is_told_without_its_insides(hall, monkeypatch):
    async def broken(*_: object) -> bool:
        raise RuntimeError(f"{MARK} in line 7 of /srv/archivist/secret.py: SELECT * FROM users")

    monkeypatch.setattr(Passwords, "verify", broken)
    answer = await hall.browser().sign_in()
    assert answer.status_code == 500
    assert not re.search(rf"{MARK}|line 7|\.py|SELECT|Traceback|RuntimeError|\d+\.\d+\.\d+", answer.text)
