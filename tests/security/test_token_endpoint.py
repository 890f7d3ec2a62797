"""The token endpoint: how it is called, codes that work once, refresh tokens that rotate, and who is slowed down."""

import asyncio
import base64
import json
import socket
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from archivist.app import OWNER
from archivist.domain import keys, secrets
from archivist.domain.access import ALL_SCOPES
from archivist.services.clients import GUESSES
from tests.people import challenge_of
from tests.security.documents import Shelf, a_document
from tests.security.signing_in import (
    LOOPBACK,
    OUTSIDE,
    READ,
    REGISTER,
    REVOKE,
    TOKEN,
    VERIFIER,
    WRITE,
    Asked,
    Flow,
    fields,
    refused,
)
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow

pytestmark = pytest.mark.anyio

FORM = "application/x-www-form-urlencoded"
DAY = timedelta(days=1)


# How it is called


MISUSES: list[dict[str, Any]] = [
    {"headers": {"content-type": "application/json"}, "status": 415},
    {"headers": {"content-type": "text/plain"}, "status": 415},
    {"headers": {"content-type": "multipart/form-data; boundary=x"}, "status": 415},
    {"headers": {}, "status": 415},
    {"path": f"{TOKEN}?client_id=x"},
    {"path": f"{TOKEN}?code=x"},
    {"path": f"{TOKEN}?x"},
    {"more": "&code=x"},
    {"more": "&client_id=x"},
    {"more": "&code_verifier=x"},
    {"more": "&grant_type=authorization_code"},
    {"more": "&redirect_uri=x"},
    {"more": "&unheard=1&unheard=2"},
    {"more": "&x=%ff"},
    {"more": "&x=é"},
    {"more": "".join(f"&x{number}=1" for number in range(200))},
    {"more": "&x=" + "x" * 16 * 1024, "status": 413},
    {"headers": {"content-type": FORM, "authorization": "Basic eDp5"}, "more": "&client_secret=y"},
    {"headers": {"content-type": FORM, "authorization": "Basic eDp5"}},
]


@pytest.mark.parametrize("misuse", MISUSES, ids=range(len(MISUSES)))
async def test_sec_053_a_call_in_any_other_form_is_refused(flow, misuse):
    code = await flow.code()
    form = {
        "grant_type": "authorization_code",
        "client_id": flow.client,
        "code": code,
        "code_verifier": VERIFIER,
        "redirect_uri": LOOPBACK,
    }
    answer = await flow.request(
        "POST",
        misuse.get("path", TOKEN),
        content=(fields(form) + misuse.get("more", "")).encode(),
        headers=misuse.get("headers", {"content-type": FORM}),
    )
    assert refused(answer, "invalid_request", misuse.get("status", 400))
    assert [row["spent"] for row in await flow.rows("codes")] == [None]
    assert (await flow.exchange(code)).status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", [TOKEN, REVOKE, REGISTER])
async def test_sec_053_only_posts_are_answered(flow, path, method):
    answer = await flow.request(method, path)
    assert (answer.status_code, answer.headers["cache-control"]) == (405, "no-store")
    assert "POST" in answer.headers["allow"]


@pytest.mark.parametrize("headers", [[("authorization", "Basic eDp5")] * 2, [("content-type", FORM)] * 2])
async def test_sec_053_a_header_that_comes_twice_is_refused(flow, headers):
    given = headers if headers[0][0] == "content-type" else [*headers, ("content-type", FORM)]
    answer = await flow.request("POST", TOKEN, content=b"grant_type=refresh_token", headers=given)
    assert refused(answer, "invalid_request")


async def test_sec_053_a_success_is_json_that_nobody_keeps(flow):
    answer = await flow.exchange(await flow.code())
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert set(answer.json()) == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
    assert (answer.json()["token_type"], answer.json()["expires_in"]) == ("Bearer", 3600)


async def test_sec_053_an_access_token_lives_for_an_hour(flow):
    token = (await flow.tokens())["access_token"]
    flow.clock.move(minutes=59, seconds=59)
    assert await flow.lets_in(token)
    flow.clock.move(seconds=1)
    assert not await flow.lets_in(token)


# Codes


async def test_sec_054_of_many_exchanges_at_once_one_succeeds(flow):
    for _ in range(3):
        code = await flow.code()
        answers = await asyncio.gather(*(flow.exchange(code) for _ in range(50)))
        assert sorted(answer.status_code for answer in answers) == [200] + [400] * 49
        assert {answer.json()["error"] for answer in answers if answer.status_code == 400} == {"invalid_grant"}
        await flow.person.sign_in()


@pytest.mark.parametrize("seconds", [0, 1, 30, 61, 3600])
async def test_sec_055_a_second_exchange_ends_what_the_first_one_gave(flow, seconds):
    code = await flow.code(READ, WRITE)
    first = (await flow.exchange(code)).json()
    refreshed = (await flow.refresh(first["refresh_token"])).json()
    flow.clock.move(seconds=seconds)
    assert refused(await flow.exchange(code), "invalid_grant")
    for tokens in (first, refreshed):
        assert not await flow.lets_in(tokens["access_token"])
        assert refused(await flow.refresh(tokens["refresh_token"]), "invalid_grant")
    assert "code reused" in [row["action"] for row in await flow.rows("audit")]


async def test_sec_055_it_ends_what_was_given_after_a_restart_too(flow):
    code = await flow.code()
    first = (await flow.exchange(code)).json()
    await flow.restart()
    assert refused(await flow.exchange(code), "invalid_grant")
    assert not await flow.lets_in(first["access_token"])


WRONG: list[dict[str, Any]] = [
    {"code_verifier": "w" * 43},
    {"code_verifier": "short"},
    {"redirect_uri": LOOPBACK + "/x"},
    {"client_id": "the other one"},
]


@pytest.mark.parametrize("changes", WRONG, ids=range(len(WRONG)))
async def test_sec_056_a_wrong_replay_ends_nothing(flow, changes):
    other, code = await flow.another(), await flow.code()
    first = (await flow.exchange(code)).json()
    given = {**changes, "client_id": other.client} if "client_id" in changes else changes
    for _ in range(5):
        assert refused(await flow.exchange(code, **given), "invalid_grant")
    assert await flow.lets_in(first["access_token"])
    assert (await flow.refresh(first["refresh_token"])).status_code == 200


@pytest.mark.parametrize(("wrong", "status"), [(2, 200), (3, 400), (4, 400)])
@pytest.mark.parametrize("changes", WRONG, ids=range(len(WRONG)))
async def test_sec_056_three_wrong_attempts_spend_a_code(flow, changes, wrong, status):
    other, code = await flow.another(), await flow.code()
    given = {**changes, "client_id": other.client} if "client_id" in changes else changes
    for _ in range(wrong):
        assert refused(await flow.exchange(code, **given), "invalid_grant")
    assert (await flow.exchange(code)).status_code == status


async def test_sec_056_wrong_attempts_at_once_are_counted_too(flow):
    code = await flow.code()
    await asyncio.gather(*(flow.exchange(code, code_verifier="w" * 43) for _ in range(3)))
    assert refused(await flow.exchange(code), "invalid_grant")


VERIFIERS = ["v" * 42, "v" * 129, "v" * 42 + "+", "v" * 42 + " ", "é" * 43, "v" * 42 + "=", VERIFIER + "=", "", None]


@pytest.mark.parametrize("verifier", VERIFIERS, ids=range(len(VERIFIERS)))
async def test_sec_057_a_verifier_in_any_other_form_is_refused(flow, verifier):
    assert refused(await flow.exchange(await flow.code(), code_verifier=verifier), "invalid_grant")


@pytest.mark.parametrize("verifier", ["v" * 43, "v" * 128, "aZ09-._~" * 8])
async def test_sec_057_every_verifier_of_the_right_form_serves(flow, verifier):
    code = await flow.code(code_challenge=challenge_of(verifier))
    assert (await flow.exchange(code, code_verifier=verifier)).status_code == 200


async def test_sec_057_the_challenge_is_not_its_own_verifier(flow):
    code = await flow.code()
    assert refused(await flow.exchange(code, code_verifier=challenge_of(VERIFIER)), "invalid_grant")


# Clients


async def test_sec_058_codes_and_refresh_tokens_work_for_their_client_alone(flow):
    other = await flow.another()
    tokens, theirs = await flow.tokens(), await other.tokens()
    assert refused(await other.refresh(tokens["refresh_token"]), "invalid_grant")
    assert refused(await flow.refresh(theirs["refresh_token"]), "invalid_grant")
    assert refused(await other.exchange(await flow.code()), "invalid_grant")
    assert (await flow.refresh(tokens["refresh_token"])).status_code == 200


def basic(client_id: str, secret: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()}


async def test_sec_058_a_confidential_client_authenticates_in_its_one_way(flow):
    by_form, secret = await flow.confidential("client_secret_post")
    by_header, other = await flow.confidential("client_secret_basic")
    refresh = (await by_form.exchange(await by_form.code(), client_secret=secret)).json()["refresh_token"]
    form = {"grant_type": "refresh_token", "refresh_token": refresh}
    for wrong in ("x", secret[:-1], secret + "x", other, None, ""):
        assert refused(await by_form.refresh(refresh, client_secret=wrong), "invalid_client", 401)
    in_header = await by_form.call(TOKEN, form, **basic(by_form.client, secret))
    assert refused(in_header, "invalid_client", 401)
    assert in_header.headers["www-authenticate"].startswith("Basic ")
    assert (await by_form.refresh(refresh, client_secret=secret)).status_code == 200

    exchange = {
        "grant_type": "authorization_code",
        "code": await by_header.code(),
        "code_verifier": VERIFIER,
        "redirect_uri": OUTSIDE,
    }
    given = {**exchange, "client_id": by_header.client}
    assert refused(await by_header.call(TOKEN, {**given, "client_secret": other}), "invalid_client", 401)
    assert refused(await by_header.call(TOKEN, given), "invalid_client", 401)
    for credentials in (basic(by_header.client, "x"), basic(by_header.client, ""), {"authorization": "Basic ???"}):
        assert refused(await by_header.call(TOKEN, exchange, **credentials), "invalid_client", 401)
    bearer = await by_header.call(TOKEN, exchange, authorization=f"Bearer {other}")
    assert refused(bearer, "invalid_client", 401)
    assert (await by_header.call(TOKEN, given, **basic(by_header.client, other))).status_code == 200


async def test_sec_058_secrets_are_kept_as_digests(flow):
    _, secret = await flow.confidential()
    [kept] = [row["secret"] for row in await flow.rows("clients") if row["secret"]]
    assert kept == secrets.digest(secret)


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
async def test_sec_058_a_public_client_has_no_secret_to_show(flow, method):
    code = await flow.code()
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "redirect_uri": LOOPBACK}
    if method == "client_secret_post":
        answer = await flow.exchange(code, client_secret="x")
    else:
        answer = await flow.call(TOKEN, form, **basic(flow.client, ""))
    assert refused(answer, "invalid_client", 401)


@pytest.mark.parametrize("client_id", ["app-unknown", None, "", "https://unknown.example/app.json", "é", "x" * 4000])
async def test_sec_058_an_unknown_client_is_told_that_it_is_not_known(flow, client_id):
    code = await flow.code()
    assert refused(await flow.exchange(code, client_id=client_id), "invalid_client", 401)
    assert (await flow.exchange(code)).status_code == 200


GRANTS = [
    "password",
    "client_credentials",
    "implicit",
    "urn:ietf:params:oauth:grant-type:device_code",
    "urn:ietf:params:oauth:grant-type:token-exchange",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "urn:ietf:params:oauth:grant-type:saml2-bearer",
    "AUTHORIZATION_CODE",
    "refresh_token ",
]


@pytest.mark.parametrize("grant", GRANTS)
@pytest.mark.parametrize("known", [True, False], ids=["known", "without a client"])
async def test_sec_059_no_other_grant_exists(flow, grant, known):
    form = {"grant_type": grant, "username": "Ana", "password": "correct horse battery", "assertion": "x.y.z"}
    answer = await flow.call(TOKEN, {**form, **({"client_id": flow.client} if known else {})})
    assert refused(answer, "unsupported_grant_type")


async def test_sec_068_the_endpoints_of_programs_open_no_connection(flow, monkeypatch):
    shelf = Shelf.behind(flow.app)
    app = replace(flow, client=shelf.put("https://client.example/app.json", a_document()))
    tokens, code = await app.tokens(), await app.code()
    shelf.documents.clear()
    shelf.asked.clear()
    flow.clock.move(seconds=59)

    def connect(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was opened")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    assert (await app.exchange(code)).status_code == 200
    flow.clock.move(days=2)
    refreshed = await app.refresh(tokens["refresh_token"])
    assert refreshed.status_code == 200
    assert (await app.revoke(refreshed.json()["refresh_token"])).status_code == 200
    urls = {name: "https://elsewhere.example/x" for name in ("client_uri", "logo_uri", "jwks_uri", "tos_uri")}
    assert (await app.register(redirect_uris=[OUTSIDE], **urls)).status_code == 201
    assert shelf.asked == []


# Kinds


async def every_kind(flow: Flow) -> dict[str, str]:
    """A live secret of every kind."""
    tokens = await flow.tokens(READ, WRITE)
    _, secret = await flow.confidential()
    who = replace(await flow.app.local(), scopes=ALL_SCOPES)
    _, key = await flow.app.keys.create(who, name="k", scopes=ALL_SCOPES)
    _, account = await flow.app.keys.create(who, name="a", scopes=ALL_SCOPES, kind="account")
    link = await flow.app.accounts.invite(OWNER)
    page = await flow.ask()
    return {
        "access": tokens["access_token"],
        "refresh": tokens["refresh_token"],
        "code": await flow.code(),
        "client": secret,
        "key": key,
        "account": account,
        "link": link,
        "transaction": Asked(page.text).one("transaction"),
        "session": flow.person.cookies["__Host-archivist-session"],
        "device": flow.person.cookies.get("__Host-archivist-device", secrets.new("device")),
    }


async def at_the_door(flow: Flow, secret: str) -> bool:
    return await flow.lets_in(secret)


async def as_a_code(flow: Flow, secret: str) -> bool:
    return (await flow.exchange(secret)).status_code == 200


async def as_a_refresh_token(flow: Flow, secret: str) -> bool:
    return (await flow.refresh(secret)).status_code == 200


async def as_a_session(flow: Flow, secret: str) -> bool:
    person = flow.hall.browser()
    person.cookies["__Host-archivist-session"] = secret
    return await person.is_in()


async def as_a_transaction(flow: Flow, secret: str) -> bool:
    flow.clock.move(seconds=1)
    vault = (await flow.principal()).vault
    form = {"transaction": secret, "vault": vault, "scope": READ, "decision": "allow"}
    return (await flow.person.post(flow.question(), form)).status_code == 303


async def as_a_client_secret(flow: Flow, secret: str) -> bool:
    [shop] = [row["client_id"] for row in await flow.rows("clients") if row["kind"] == "confidential"]
    answer = await flow.call(REVOKE, {"client_id": shop, "client_secret": secret, "token": "x"})
    return answer.status_code == 200


async def as_an_invitation(flow: Flow, secret: str) -> bool:
    return (await flow.hall.browser().get(f"/invitation/{secret}")).status_code == 200


async def as_an_account_key(flow: Flow, secret: str) -> bool:
    return (await flow.request("GET", "/v1/keys", headers={"authorization": f"Bearer {secret}"})).status_code == 200


PLACES = {
    at_the_door: {"access", "key"},
    as_a_code: {"code"},
    as_a_refresh_token: {"refresh"},
    as_a_session: {"session"},
    as_a_transaction: {"transaction"},
    as_a_client_secret: {"client"},
    as_an_invitation: {"link"},
    as_an_account_key: {"account"},
}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
async def test_sec_069_a_secret_of_one_kind_is_nothing_where_another_is_wanted(flow, place):
    found = {kind: await place(flow, secret) for kind, secret in (await every_kind(flow)).items()}
    assert {kind for kind, right in found.items() if right} == PLACES[place]


@pytest.mark.parametrize("kind", secrets.KINDS)
async def test_sec_069_a_prefix_alone_makes_no_secret_of_another_kind(flow, kind):
    token = (await flow.tokens())["access_token"]
    body = token.partition("_")[2]
    forged = secrets.new(kind).partition("_")[0] + "_" + body
    assert await flow.lets_in(forged) is (kind == "access")


async def test_sec_069_a_key_is_no_client_and_no_password(flow):
    key = keys.new_secret(read_only=False)
    assert refused(await flow.exchange(await flow.code(), client_id=key), "invalid_client", 401)


# Slowing down


async def test_sec_070_who_guesses_for_one_client_is_slowed_and_nobody_else(flow):
    other, code, mine = await flow.another(), None, await flow.tokens()
    theirs = await other.tokens()
    code = await other.code()
    answers = [await flow.exchange(secrets.new("code")) for _ in range(GUESSES + 5)]
    assert [answer.status_code for answer in answers] == [400] * GUESSES + [429] * 5
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 900
    assert answers[-1].headers["cache-control"] == "no-store"
    assert (await flow.refresh(mine["refresh_token"])).status_code == 429
    assert (await other.exchange(code)).status_code == 200
    assert (await other.refresh(theirs["refresh_token"])).status_code == 200
    elsewhere = replace(flow, address="198.51.100.7")
    assert (await elsewhere.refresh(mine["refresh_token"])).status_code == 200
    flow.clock.move(minutes=15)
    assert (await flow.exchange(secrets.new("code"))).status_code == 400


@pytest.mark.parametrize("place", ["code", "refresh", "secret", "client"])
async def test_sec_070_every_secret_that_can_be_guessed_is_counted(flow, place):
    shop, _ = await flow.confidential()
    tries = {
        "code": lambda: flow.exchange("nonsense"),
        "refresh": lambda: flow.refresh(secrets.new("refresh")),
        "secret": lambda: shop.revoke("x", client_secret=secrets.new("client")),
        "client": lambda: flow.refresh("x", client_id="app-nobody"),
    }
    answers = [await tries[place]() for _ in range(GUESSES + 1)]
    assert answers[0].status_code in (400, 401)
    assert answers[-1].status_code == 429


async def test_sec_070_apps_that_nobody_knows_are_slowed_as_one_and_who_is_known_is_not(flow):
    tokens = await flow.tokens()
    answers = [await flow.refresh("x", client_id=f"app-{number}") for number in range(GUESSES + 1)]
    assert [answer.status_code for answer in answers] == [401] * GUESSES + [429]
    assert len(await flow.rows("attempts")) <= GUESSES + 10
    assert (await flow.refresh(tokens["refresh_token"])).status_code == 200


async def test_sec_070_a_restart_forgives_nothing(flow):
    for _ in range(GUESSES):
        await flow.exchange("nonsense")
    await flow.restart()
    assert (await flow.exchange("nonsense")).status_code == 429


async def test_sec_070_honest_mistakes_with_known_tokens_slow_nobody(flow):
    """Many processes of one app with a token that is dead, and races for one code, are not guesses."""
    tokens = await flow.tokens()
    await flow.revoke(tokens["refresh_token"])
    for _ in range(GUESSES + 5):
        assert (await flow.refresh(tokens["refresh_token"])).status_code == 400
    code = await flow.code()
    answers = await asyncio.gather(*(flow.exchange(code) for _ in range(GUESSES + 5)))
    assert {answer.status_code for answer in answers} == {200, 400}


async def test_errors_of_the_token_endpoint_are_plain_text_without_what_was_sent(flow):
    answer = await flow.exchange('canary"\\é', client_id="canary")
    assert "canary" not in answer.text
    assert json.loads(answer.text)["error_description"].isascii()
