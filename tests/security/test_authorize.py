"""The authorization endpoint: who asks, where the answer goes, and what is refused before anybody is asked."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlsplit

import pytest
import sqlalchemy as sa

from archivist.app import OWNER
from archivist.domain.redirects import matches
from archivist.storage.schema_people import codes
from tests.builders import Clock
from tests.people import challenge_of
from tests.security.signing_in import (
    ALL,
    AUTHORIZE,
    HERE,
    LOOPBACK,
    OUTSIDE,
    READ,
    VERIFIER,
    WRITE,
    Answer,
    Asked,
    Flow,
    answered,
    opened,
)
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow
from tests.security.signing_in import outside as outside

pytestmark = pytest.mark.anyio

EVIL = "https://evil.example/steal"


async def unsent(flow: Flow, answer: Answer, *given: str) -> bool:
    """Whether the answer is a page of ours that leads nowhere else, and nothing was issued."""
    page = Asked(answer.text)
    hosts = [link for link in page.links if urlsplit(link).netloc]
    named = [one for one in given if one and one in answer.text]
    nothing = await flow.rows("codes") == [] and await flow.rows("transactions") == []
    return (answer.status_code, "location" in answer.headers, hosts, named, nothing) == (400, False, [], [], True)


WRONG_ADDRESSEES: list[dict[str, Any]] = [
    {"client_id": "app-unknown"},
    {"client_id": None},
    {"client_id": ""},
    {"client_id": "x" * 3000},
    {"client_id": "http://app.example/client.json"},
    {"client_id": "https://localhost/client.json"},
    {"client_id": "https://app.example"},
    {"redirect_uri": None},
    {"redirect_uri": ""},
    {"redirect_uri": EVIL},
    {"redirect_uri": LOOPBACK + "/"},
    {"redirect_uri": LOOPBACK + "?x=1"},
    {"redirect_uri": LOOPBACK + "#x"},
    {"redirect_uri": LOOPBACK.replace("127.0.0.1", "localhost")},
    {"redirect_uri": LOOPBACK.replace("http", "HTTP")},
    {"redirect_uri": LOOPBACK.replace("callback", "Callback")},
    {"redirect_uri": LOOPBACK.replace("callback", "%63allback")},
    {"redirect_uri": LOOPBACK + "/../callback"},
    {"redirect_uri": LOOPBACK.replace("127.0.0.1", "127.0.0.1@evil.example")},
    {"redirect_uri": LOOPBACK.replace("127.0.0.1", "127.0.0.1.evil.example")},
    {"redirect_uri": "javascript:alert(1)"},
    {"redirect_uri": "\x00" + LOOPBACK},
]


@pytest.mark.parametrize("changes", WRONG_ADDRESSEES, ids=range(len(WRONG_ADDRESSEES)))
@pytest.mark.parametrize("who", ["signed in", "nobody"])
async def test_sec_024_a_client_or_target_that_is_not_known_is_told_here_and_nowhere_else(flow, changes, who):
    person = flow.person if who == "signed in" else flow.hall.browser()
    answer = await person.get(flow.question(**changes, response_type="nonsense"))
    assert await unsent(flow, answer, changes.get("redirect_uri") or "")


async def test_sec_024_the_addressee_is_checked_again_when_somebody_signs_in_there(flow):
    person = flow.hall.browser()
    await person.get(flow.question())
    fields = {"name": "Ana", "password": "correct horse battery"}
    assert await unsent(flow, await person.post(flow.question(redirect_uri=EVIL), fields), EVIL)


# (registered, given, whether it is the same target)
PAIRS: list[tuple[str, str, bool]] = [
    (base, base.replace("33418", port), right)
    for base in (LOOPBACK, LOOPBACK.replace("127.0.0.1", "localhost"), LOOPBACK.replace("127.0.0.1", "[::1]"))
    for port, right in (("33418", True), ("1", True), ("65535", True), ("65536", False), ("0", False), ("", False))
] + [
    (LOOPBACK, "http://127.0.0.1/callback", True),
    ("http://localhost/callback", "http://localhost:8080/callback", True),
    ("http://127.0.0.1/callback?a=1", "http://127.0.0.1:9/callback?a=1", True),
    ("http://127.0.0.1/callback?a=1", "http://127.0.0.1:9/callback?a=2", False),
    ("http://127.0.0.1/callback?a=1", "http://127.0.0.1:9/callback", False),
    (LOOPBACK, LOOPBACK.replace("127.0.0.1", "localhost"), False),
    (LOOPBACK, LOOPBACK.replace("127.0.0.1", "[::1]"), False),
    (LOOPBACK.replace("127.0.0.1", "localhost"), LOOPBACK, False),
    (LOOPBACK, LOOPBACK.replace("127.0.0.1", "127.0.0.2"), False),
    (LOOPBACK, LOOPBACK.replace("127.0.0.1", "0.0.0.0"), False),
    (LOOPBACK, LOOPBACK.replace("127.0.0.1", "2130706433"), False),
    (LOOPBACK, LOOPBACK.replace("http:", "https:"), False),
    (LOOPBACK, LOOPBACK.replace("127.0.0.1:33418", "127.0.0.1:33418:1"), False),
    (LOOPBACK, LOOPBACK + "/", False),
    (LOOPBACK, LOOPBACK + "/x", False),
    (LOOPBACK, LOOPBACK.replace("/callback", ""), False),
    (LOOPBACK, LOOPBACK.upper(), False),
    (OUTSIDE, OUTSIDE, True),
    (OUTSIDE, OUTSIDE + "/", False),
    (OUTSIDE, OUTSIDE + "?x=1", False),
    (OUTSIDE, OUTSIDE + "?", False),
    (OUTSIDE, OUTSIDE.replace("app.example", "app.example:443"), False),
    (OUTSIDE, OUTSIDE.replace("app.example", "app.example:8443"), False),
    (OUTSIDE, OUTSIDE.replace("app.example", "App.example"), False),
    (OUTSIDE, OUTSIDE.replace("app.example", "app.example."), False),
    (OUTSIDE, OUTSIDE.replace("app.example", "sub.app.example"), False),
    (OUTSIDE, OUTSIDE.replace("app.example", "app.example.evil.example"), False),
    (OUTSIDE, OUTSIDE.replace("https", "http"), False),
    (OUTSIDE, OUTSIDE.replace("callback", "call%62ack"), False),
    (OUTSIDE, OUTSIDE.replace("/callback", "//callback"), False),
    (OUTSIDE, OUTSIDE.replace("/callback", "/x/../callback"), False),
    (OUTSIDE, OUTSIDE.replace("/callback", "\\callback"), False),
    (OUTSIDE + "?a=1&b=2", OUTSIDE + "?b=2&a=1", False),
    (OUTSIDE + "?a=1", OUTSIDE + "?a=1", True),
    ("com.example.app:/done", "com.example.app:/done", True),
    ("com.example.app:/done", "com.example.app:/done/", False),
    ("com.example.app:/done", "COM.EXAMPLE.APP:/done", False),
]  # fmt: skip


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Flow]:
    """One server for a table whose rows do not touch each other."""
    async with opened(tmp_path_factory.mktemp("shared") / "data", Clock()) as flow:
        flow.clock.move(hours=-2)
        yield flow


@pytest.mark.parametrize(("registered", "given", "right"), PAIRS, ids=range(len(PAIRS)))
async def test_sec_025_targets_are_compared_as_strings_but_for_the_port_here(shared, registered, given, right):
    """At both endpoints; a code given to one target is not exchanged for another."""
    assert matches(registered, given) is right
    shared.clock.move(hours=1)
    await shared.person.sign_in()
    app = await shared.another(registered)
    asked = await app.ask(redirect_uri=given)
    assert asked.status_code == (200 if right else 400)
    code = answered(await app.decide(await app.ask(redirect_uri=registered), scope=[READ]))["code"]
    exchanged = await app.exchange(code, redirect_uri=given)
    assert exchanged.status_code == (200 if given == registered else 400)


async def test_sec_026_a_rule_that_became_stricter_binds_what_was_registered_before(tmp_path, clock):
    async with opened(tmp_path / "data", clock, app_schemes=("myapp",)) as flow:
        app = await flow.another("myapp:/done")
        page = await app.ask()
        assert page.status_code == 200
    async with opened(tmp_path / "data", clock) as stricter:
        app.hall, app.person = stricter.hall, stricter.person
        assert (await app.ask()).status_code == 400
        assert (await app.hall.browser().get(app.question())).status_code == 400
        assert "location" not in (await app.decide(page, scope=[READ])).headers
        assert await app.rows("codes") == []


CHALLENGES: list[dict[str, Any]] = [
    {"code_challenge": None},
    {"code_challenge": ""},
    {"code_challenge": challenge_of(VERIFIER)[:-1]},
    {"code_challenge": challenge_of(VERIFIER) + "A"},
    {"code_challenge": challenge_of(VERIFIER) + "="},
    {"code_challenge": "+" * 43},
    {"code_challenge": "é" * 43},
    {"code_challenge": "A" * 42 + "\n"},
    {"code_challenge_method": None},
    {"code_challenge_method": ""},
    {"code_challenge_method": "plain"},
    {"code_challenge_method": "s256"},
    {"code_challenge_method": "S512"},
]


@pytest.mark.parametrize("changes", CHALLENGES, ids=range(len(CHALLENGES)))
async def test_sec_027_a_challenge_in_the_one_form_is_required_from_every_client(flow, changes):
    assert answered(await flow.ask(**changes))["error"] == "invalid_request"
    shop, _secret = await flow.confidential()
    assert answered(await shop.ask(**changes))["error"] == "invalid_request"
    assert await flow.rows("transactions") == []


@pytest.mark.parametrize(
    "kind", ["token", "id_token", "code token", "code id_token", "none", "CODE", "code code", "device", None, ""]
)
async def test_sec_028_no_other_response_type_is_answered(flow, kind):
    answer = answered(await flow.ask(response_type=kind))
    assert answer["error"] in ("unsupported_response_type", "invalid_request")
    assert "code" not in answer


@pytest.mark.parametrize("mode", ["fragment", "form_post", "web_message", "query.jwt", "QUERY"])
async def test_sec_028_no_other_response_mode_is_answered(flow, mode):
    assert answered(await flow.ask(response_mode=mode))["error"] == "invalid_request"


async def test_sec_028_the_default_mode_may_be_named(flow):
    assert (await flow.ask(response_mode="query")).status_code == 200


REPEATABLE = {
    "response_type": "code",
    "state": "s",
    "scope": READ,
    "code_challenge": challenge_of(VERIFIER),
    "code_challenge_method": "S256",
    "prompt": "consent",
    "response_mode": "query",
    "request": "x",
    "request_uri": "urn:x",
    "resource": f"{HERE}/mcp",
}


@pytest.mark.parametrize("other", [None, "different"], ids=["equal", "different"])
@pytest.mark.parametrize("name", REPEATABLE)
async def test_sec_029_a_parameter_that_comes_twice_is_refused(flow, name, other):
    value = REPEATABLE[name]
    answer = answered(await flow.ask(**{name: [value, other or value]}))
    assert answer["error"] in ("invalid_request", "invalid_target")
    assert await flow.rows("transactions") == []


@pytest.mark.parametrize("other", [None, "https://evil.example/"], ids=["equal", "different"])
@pytest.mark.parametrize("name", ["client_id", "redirect_uri"])
async def test_sec_029_an_addressee_that_comes_twice_is_told_here(flow, name, other):
    value = flow.client if name == "client_id" else LOOPBACK
    for values in ([value, other or value], [other or value, value]):
        assert await unsent(flow, await flow.ask(**{name: values}), other or "")


async def test_sec_029_an_empty_parameter_is_none_and_an_unknown_one_is_passed_over(flow):
    empty = "&state=&scope=&resource=&request=&prompt=&unheard=y"
    page = await flow.person.get(flow.question(unheard="x", nonce="1") + empty)
    assert page.status_code == 200
    assert answered(await flow.decide(page))["state"] == "s"


@pytest.mark.parametrize("name", ["request", "request_uri"])
async def test_sec_030_request_objects_are_refused_and_not_fetched(flow, outside, name):
    came = 0

    async def visited(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal came
        came += 1
        writer.close()

    listener = await asyncio.start_server(visited, "127.0.0.1", 0)
    try:
        address = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/request"
        assert answered(await flow.ask(**{name: address}))["error"] == "invalid_request"
        assert (await outside.ask(**{name: address})).status_code == 400
    finally:
        listener.close()
        await listener.wait_closed()
    assert came == 0


UNGRANTABLE: list[dict[str, Any]] = [
    {"scope": "no:such"},
    {"response_type": "token"},
    {"code_challenge": None},
    {"prompt": "none"},
    {"resource": "https://elsewhere.example/mcp"},
    {"request": "x"},
]


@pytest.mark.parametrize("changes", UNGRANTABLE, ids=range(len(UNGRANTABLE)))
async def test_sec_031_errors_stay_here_until_somebody_has_signed_in(flow, outside, changes):
    for app in (flow, outside):
        answer = await flow.hall.browser().get(app.question(**changes))
        assert (answer.status_code, "location" in answer.headers) == (200, False)
        assert Asked(answer.text).values("password") == [""]


@pytest.mark.parametrize("changes", UNGRANTABLE, ids=range(len(UNGRANTABLE)))
async def test_sec_031_once_signed_in_a_program_here_is_told_and_a_site_elsewhere_is_not(flow, outside, changes):
    assert "error" in answered(await flow.ask(**changes))
    assert await unsent(outside, await outside.ask(**changes), OUTSIDE)


STATES = [
    bytes(range(0x21, 0x7F)),
    b" a b ",
    b"%2B%20&=+#",
    bytes(range(1, 256)),
    b"\xff\xfe",
    b'<script>alert(1)</script>"><img src=x>',
    "日本語 ü".encode(),
    b"x" * 4096,
    b"\r\nSet-Cookie: a=b",
    b"{{ 7 * 7 }}",
]


@pytest.mark.parametrize("state", STATES, ids=range(len(STATES)))
async def test_sec_032_state_comes_back_byte_for_byte(flow, outside, state):
    for answer in (
        await flow.decide(await flow.ask(state=state), scope=[READ]),
        await flow.decide(await flow.ask(state=state), "deny"),
        await flow.ask(state=state, scope="no:such"),
    ):
        assert answer.status_code == 303
        assert given_back(answer.headers["location"]) == state
    page = await outside.ask(state=state)
    assert state.decode("latin-1") not in page.text
    denied = await outside.decide(page, "deny")
    [link] = [link for link in Asked(denied.text).links if link.startswith(OUTSIDE)]
    assert given_back(link) == state


def given_back(address: str) -> bytes:
    [value] = [part.removeprefix("state=") for part in urlsplit(address).query.split("&") if part.startswith("state=")]
    return unquote_to_bytes(value)


async def test_sec_032_a_longer_state_is_refused_here(flow):
    for state in (b"x" * 4097, b"\xc3\xa9" * 2049, b"x" * 5120):
        assert await unsent(flow, await flow.ask(state=state))


async def test_sec_032_state_is_in_no_log_and_in_no_page(flow, caplog):
    caplog.set_level("DEBUG")
    page = await flow.ask(state="canary-of-state")
    await flow.decide(page)
    ours = " ".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpx"))
    assert "canary-of-state" not in page.text + ours


async def test_sec_033_every_answer_names_the_issuer_that_the_metadata_names(flow):
    metadata = (await flow.request("GET", "/.well-known/oauth-authorization-server")).json()
    assert metadata["authorization_response_iss_parameter_supported"] is True
    answers = [
        await flow.decide(await flow.ask()),
        await flow.decide(await flow.ask(), "deny"),
        *[await flow.ask(**changes) for changes in UNGRANTABLE],
    ]
    assert {answered(answer)["iss"] for answer in answers} == {metadata["issuer"]}


async def test_sec_033_the_link_by_which_a_refusal_is_told_names_the_issuer_too(outside):
    denied = Asked((await outside.decide(await outside.ask(), "deny")).text)
    [link] = [link for link in denied.links if link.startswith(OUTSIDE)]
    assert f"iss={quote(HERE, safe='')}" in link
    assert "error=access_denied" in link


async def test_sec_034_a_run_leads_on_with_303_alone_and_nothing_of_it_is_kept(flow, outside):
    person = flow.hall.browser()
    steps = [await person.get(flow.question()), await person.sign_in(path=flow.question())]
    flow.person = person
    page = await flow.ask()
    steps += [page, await flow.decide(page), await flow.decide(await flow.ask(), "deny"), await flow.ask(scope="x")]
    outside.person = person
    steps += [await outside.decide(await outside.ask(), "deny"), await flow.ask(client_id="unknown")]
    steps.append(await flow.decide(await flow.ask(), "another-account"))
    assert [step.status_code for step in steps] == [200, 303, 200, 303, 303, 303, 200, 400, 303]
    for step in steps:
        assert step.headers["cache-control"] == "no-store"
        assert step.headers["referrer-policy"] == "no-referrer"
        if step.status_code != 303:
            assert "default-src 'none'" in step.headers["content-security-policy"]
            assert not [one for one in ("http://", "https://", "//") if f'src="{one}' in step.text]


async def test_sec_034_a_slash_too_many_is_another_address_and_no_redirect(flow):
    for path in ("/oauth/authorize/", "/oauth/token/", "/oauth/register/", "/oauth/revoke/", "/sign-in/"):
        for method in ("GET", "POST"):
            assert (await flow.request(method, path)).status_code in (404, 405)


async def test_sec_035_a_code_is_kept_as_a_digest_with_all_that_it_is_good_for(flow):
    code = await flow.code(READ, WRITE)
    [row] = await flow.rows("codes")
    assert code not in str(row)
    session, _, _ = await flow.app.sign_in.session(flow.person.cookies["__Host-archivist-session"])
    personal = await flow.principal()
    [client] = [one for one in await flow.rows("clients") if one["client_id"] == flow.client]
    assert row["client"] == client["digest"]
    assert (row["redirect_uri"], row["challenge"]) == (LOOPBACK, challenge_of(VERIFIER))
    assert (row["vault"], row["toolset"], row["scopes"]) == (personal.vault, "vault", f"{READ} {WRITE}")
    assert row["session"] == session.id
    assert row["expires"] - row["created"] == 60 * 1_000_000
    assert len(base64.urlsafe_b64decode(code.removeprefix("avc_") + "=")) == 32


@pytest.mark.parametrize(("seconds", "status"), [(59, 200), (60, 400), (61, 400)])
async def test_sec_035_a_code_lives_for_a_minute(flow, seconds, status):
    code = await flow.code()
    flow.clock.move(seconds=seconds)
    assert (await flow.exchange(code)).status_code == status


BOUND: list[dict[str, Any]] = [
    {"redirect_uri": LOOPBACK.replace("33418", "33419")},
    {"redirect_uri": OUTSIDE},
    {"redirect_uri": None},
    {"code_verifier": "w" * 43},
    {"code_verifier": None},
    {"resource": f"{HERE}/mcp/coding"},
]


@pytest.mark.parametrize("changes", BOUND, ids=range(len(BOUND)))
async def test_sec_035_each_value_that_a_code_is_bound_to_must_be_met(flow, changes):
    code = await flow.code()
    assert (await flow.exchange(code, **changes)).status_code == 400
    assert (await flow.exchange(code)).status_code == 200


async def test_sec_035_a_code_is_for_one_client(flow):
    code, other = await flow.code(), await flow.another()
    refused = await other.exchange(code)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")


async def test_sec_035_a_code_ends_with_the_session_that_allowed_it(flow):
    code = await flow.code()
    session, who, _ = await flow.app.sign_in.session(flow.person.cookies["__Host-archivist-session"])
    await flow.app.sign_in.sign_out(who, session)
    assert (await flow.exchange(code)).json()["error"] == "invalid_grant"


async def test_sec_035_a_code_ends_with_the_account_that_allowed_it(flow):
    code = await flow.code()
    await flow.app.accounts.set_disabled(OWNER, "Ana", disabled=True)
    assert (await flow.exchange(code)).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("column", ["vault", "grant", "client", "redirect_uri", "challenge", "session"])
async def test_sec_035_a_code_whose_record_says_otherwise_is_worth_nothing(flow, column):
    code = await flow.code()
    await flow.execute(sa.update(codes).values({column: "something else"}))
    assert (await flow.exchange(code)).json()["error"] == "invalid_grant"


async def test_sec_036_what_is_asked_lies_on_the_server_and_the_form_names_it(flow):
    page = await flow.ask(scope=f"{READ} {WRITE}", state="mine")
    hidden = {one["name"] for one in Asked(page.text).inputs if one.get("type") == "hidden"}
    assert hidden == {"csrf", "transaction"}
    secret = Asked(page.text).one("transaction")
    assert secret not in str(await flow.rows("transactions"))
    changes = {
        "client_id": "other", "redirect_uri": EVIL, "state": "theirs", "code_challenge": "x" * 43, "user": "bob",
        "resource": f"{HERE}/mcp/coding", "response_type": "token", "scopes": ALL,
    }  # fmt: skip
    answer = await flow.decide(page, **changes)
    assert answer.headers["location"].startswith(LOOPBACK + "?")
    assert answered(answer)["state"] == "mine"
    [row] = await flow.rows("codes")
    assert (row["challenge"], row["toolset"], row["scopes"]) == (challenge_of(VERIFIER), "vault", READ)


async def test_sec_036_parameters_of_the_address_that_is_posted_to_change_nothing(flow):
    other, page = await flow.another("http://localhost:1/other"), await flow.ask(state="mine")
    transaction, vault = Asked(page.text).one("transaction"), Asked(page.text).values("vault")[0]
    flow.clock.move(seconds=1)
    form = {"transaction": transaction, "vault": vault, "scope": [READ], "decision": "allow"}
    answer = await flow.person.post(other.question(state="theirs"), form)
    assert answer.headers["location"].startswith(LOOPBACK + "?")
    assert answered(answer)["state"] == "mine"


@pytest.mark.parametrize("first", ["allow", "deny"])
@pytest.mark.parametrize("second", ["allow", "deny"])
async def test_sec_036_a_question_is_answered_once(flow, first, second):
    page = await flow.ask()
    assert (await flow.decide(page, first)).status_code == 303
    again = await flow.decide(page, second)
    assert (again.status_code, "location" in again.headers) == (400, False)
    assert len(await flow.rows("codes")) == (1 if first == "allow" else 0)


async def test_sec_036_of_many_answers_at_once_one_counts(flow):
    page = await flow.ask()
    flow.clock.move(seconds=1)
    asked = Asked(page.text)
    form = {"transaction": asked.one("transaction"), "vault": asked.values("vault")[0], "scope": READ}
    posts = [flow.person.twin().post(flow.question(), {**form, "decision": "allow"}) for _ in range(10)]
    assert sorted(answer.status_code for answer in await asyncio.gather(*posts)) == [303] + [400] * 9
    assert len(await flow.rows("codes")) == 1


@pytest.mark.parametrize(("minutes", "status"), [(9, 303), (10, 400), (11, 400)])
async def test_sec_036_a_question_waits_for_ten_minutes(flow, minutes, status):
    page = await flow.ask()
    flow.clock.move(minutes=minutes, seconds=-1)
    assert (await flow.decide(page)).status_code == status


@pytest.mark.parametrize("transaction", ["", "avt_" + "A" * 43, "x", "é", None])
async def test_sec_036_a_question_that_nobody_was_asked_cannot_be_answered(flow, transaction):
    answer = await flow.decide(await flow.ask(), transaction=transaction or "")
    assert (answer.status_code, await flow.rows("codes")) == (400, [])


async def test_sec_037_a_question_is_answered_in_the_browser_that_was_asked(flow):
    page, bob = await flow.ask(), await flow.hall.joined("Bob")
    again = flow.hall.browser()
    await again.sign_in()
    await again.get("/app/account")
    stranger = flow.hall.browser()
    await stranger.get("/sign-in")
    for person in (bob, again, stranger):
        answer = await flow.of(person).decide(page)
        assert answer.status_code in (400, 401, 403)
        assert "location" not in answer.headers
    assert await flow.rows("codes") == []
    assert (await flow.decide(page)).status_code == 303


async def test_sec_037_the_form_of_another_browser_is_forged(flow):
    """With all of the form's fields, the token of the form included."""
    page, bob = await flow.ask(), await flow.hall.joined("Bob")
    bob.csrf = flow.person.csrf
    assert (await flow.of(bob).decide(page)).status_code == 403
    assert await flow.rows("codes") == []


async def test_sec_037_another_question_opened_from_the_same_address_belongs_to_who_opened_it(flow):
    """The address can be copied; whoever opens it decides about their own vaults."""
    bob = await flow.hall.joined("Bob")
    page = await bob.get(flow.question())
    theirs = set(Asked((await flow.ask()).text).values("vault")) - {"new"}
    assert not theirs & set(Asked(page.text).values("vault"))


async def test_sec_038_somebody_who_allowed_it_before_is_asked_again(flow):
    await flow.tokens(READ, WRITE)
    page = await flow.ask(scope=f"{READ} {WRITE}")
    assert page.status_code == 200
    assert Asked(page.text).values("scope", ticked=True) == [READ, WRITE]


@pytest.mark.parametrize("prompt", ["none", "none login", "consent none"])
async def test_sec_038_nobody_can_be_passed_over(flow, outside, prompt):
    await flow.tokens(READ)
    answer = answered(await flow.ask(prompt=prompt))
    assert (answer["error"], "code" in answer) == ("interaction_required", False)
    assert (await outside.ask(prompt=prompt)).status_code == 400


@pytest.mark.parametrize("path", [AUTHORIZE, "/sign-in"])
async def test_sec_039_the_pages_of_a_sign_in_are_shared_with_no_other_origin(flow, path):
    for method in ("GET", "POST", "OPTIONS"):
        headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
        answer = await flow.request(method, path, headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert method != "OPTIONS" or answer.status_code == 405


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
async def test_sec_039_only_the_two_methods_are_answered(flow, method):
    assert (await flow.request(method, flow.question())).status_code == 405


async def test_looking_at_the_question_changes_nothing_else(flow):
    before = {table: await flow.rows(table) for table in ("grants", "codes", "tokens", "clients", "vaults", "sessions")}
    for _ in range(3):
        await flow.ask()
        await flow.person.ask("HEAD", flow.question())
    assert before == {table: await flow.rows(table) for table in before}
