"""Apps that register themselves: how many, what is believed of them, and that it gives them nothing."""

import asyncio
import base64
import json
import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archivist.app import OWNER
from archivist.domain import secrets
from archivist.domain.clients import Client, client_digest
from archivist.domain.limits import WAITING_CLIENTS
from archivist.storage.people import clients
from tests.builders import Clock
from tests.security.signing_in import ALL, LOOPBACK, OUTSIDE, READ, REGISTER, TOKEN, Answer, Asked, Flow, opened
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}


async def test_sec_085_registering_can_be_switched_off_and_who_is_known_goes_on(tmp_path, clock):
    async with opened(tmp_path / "data", clock) as before:
        tokens = await before.tokens()
        client = before.client
    async with opened(tmp_path / "data", clock, registration=False) as flow:
        flow.client = client
        for method in ("GET", "POST", "OPTIONS"):
            assert (await flow.request(method, REGISTER)).status_code == 404
        assert "registration_endpoint" not in (await flow.request("GET", "/.well-known/openid-configuration")).json()
        assert (await flow.refresh(tokens["refresh_token"])).status_code == 200
        assert (await flow.tokens())["scope"] == READ


async def register(flow: Flow, count: int, address: str) -> list[int]:
    app = replace(flow, address=address)
    return [(await app.register(redirect_uris=[OUTSIDE])).status_code for _ in range(count)]


async def test_sec_086_one_network_registers_ten_in_an_hour(flow):
    assert await register(flow, 11, "198.51.100.1") == [201] * 10 + [429]
    assert await register(flow, 1, "198.51.100.2") == [201]
    assert await register(flow, 10, "2001:db8:1:2::1") == [201] * 10
    assert await register(flow, 1, "2001:db8:1:2:ffff::9") == [429], "the same /64"
    assert await register(flow, 1, "2001:db8:1:3::1") == [201]
    assert await register(flow, 1, "::ffff:198.51.100.1") == [429]
    flow.clock.move(minutes=59, seconds=59)
    assert await register(flow, 1, "198.51.100.1") == [429]
    flow.clock.move(seconds=1)
    assert await register(flow, 1, "198.51.100.1") == [201]


async def test_sec_086_the_answer_says_when_to_come_back(flow):
    await register(flow, 10, "198.51.100.1")
    answer = await replace(flow, address="198.51.100.1").register(redirect_uris=[OUTSIDE])
    assert 0 < int(answer.headers["retry-after"]) <= 3600


async def test_sec_086_one_network_registers_fifty_in_a_day_and_refusals_do_not_count(flow):
    """So an app that tries again and again is held up for an hour, not for a day."""
    for _ in range(5):
        assert await register(flow, 15, "198.51.100.1") == [201] * 10 + [429] * 5
        flow.clock.move(hours=1)
    assert await register(flow, 1, "198.51.100.1") == [429]
    flow.clock.move(hours=19)
    assert await register(flow, 10, "198.51.100.1") == [201] * 10


async def test_sec_086_of_many_at_once_no_more_than_ten_get_in(flow):
    app = replace(flow, address="198.51.100.1")
    answers = await asyncio.gather(*(app.register(redirect_uris=[OUTSIDE]) for _ in range(20)))
    assert [answer.status_code for answer in answers].count(201) <= 10


async def filled(flow: Flow) -> None:
    """As many apps as may wait, made behind the door."""
    control = await flow.app.stores.control()
    made = [
        Client(
            digest=client_digest(f"app-{number}"),
            client_id=f"app-{number}",
            kind="registered",
            name="",
            redirect_uris=(OUTSIDE,),
            secret="",
            method="none",
            created=flow.clock.now,
        )
        for number in range(WAITING_CLIENTS)
    ]
    await control.apply([clients.insert(one) for one in made])


async def test_sec_086_a_flood_from_everywhere_ends_and_pushes_out_nobody_who_was_allowed(flow):
    tokens = await flow.tokens()
    await filled(flow)
    assert await register(flow, 1, "203.0.113.1") == [429]
    assert (await flow.refresh(tokens["refresh_token"])).status_code == 200
    assert (await flow.ask()).status_code == 200
    flow.clock.move(hours=24, seconds=1)
    await flow.person.sign_in()
    assert (await flow.ask()).status_code == 200
    assert await register(flow, 1, "203.0.113.1") == [201]
    assert len(await flow.rows("clients")) == 2


async def test_sec_086_a_flood_shuts_newcomers_out_for_an_hour_and_not_for_a_day(flow):
    tokens = await flow.tokens()
    await filled(flow)
    flow.clock.move(minutes=59)
    assert await register(flow, 1, "203.0.113.1") == [429]
    flow.clock.move(minutes=1, seconds=1)
    assert await register(flow, 2, "203.0.113.1") == [201, 201]
    assert (await flow.refresh(tokens["refresh_token"])).status_code == 200
    assert len(await flow.rows("clients")) == 3


async def test_sec_086_apps_that_nobody_allowed_are_cleared_away_in_the_background(flow):
    await flow.tokens()
    await filled(flow)
    flow.clock.move(hours=24, seconds=1)
    await flow.app.tidying.tidy()
    assert [row["client_id"] for row in await flow.rows("clients")] == [flow.client]


async def test_sec_086_a_confidential_app_is_kept_though_nobody_has_allowed_it_yet(flow):
    shop, _ = await flow.confidential()
    flow.clock.move(days=30)
    await flow.app.tidying.tidy()
    assert [row["client_id"] for row in await flow.rows("clients")] == [shop.client]


SIZES: list[tuple[dict[str, Any], int]] = [
    ({"redirect_uris": [f"https://app.example/{number}" for number in range(10)]}, 201),
    ({"redirect_uris": [f"https://app.example/{number}" for number in range(11)]}, 400),
    ({"redirect_uris": ["https://app.example/" + "x" * (2048 - 20)]}, 201),
    ({"redirect_uris": ["https://app.example/" + "x" * (2049 - 20)]}, 400),
    ({"redirect_uris": [OUTSIDE], "client_name": "x" * 10_000}, 201),
    ({"redirect_uris": [OUTSIDE], "unheard": "x" * 17_000}, 413),
]


@pytest.mark.parametrize(("metadata", "status"), SIZES, ids=range(len(SIZES)))
async def test_sec_086_a_registration_is_of_bounded_size(flow, metadata, status):
    assert (await flow.register(**metadata)).status_code == status


async def test_sec_087_the_server_chooses_the_id_and_everything_that_it_gives_out(flow):
    chosen = {
        "client_id": "mine",
        "client_secret": "mine",
        "client_id_issued_at": 1,
        "client_secret_expires_at": 1,
        "registration_access_token": "mine",
        "registration_client_uri": "https://app.example/mine",
        "software_id": "mine",
        "kind": "confidential",
        "approved": 1,
    }
    answers = [(await flow.register(redirect_uris=[OUTSIDE], **chosen)).json() for _ in range(5)]
    assert len({answer["client_id"] for answer in answers}) == 5
    for answer in answers:
        assert "mine" not in json.dumps(answer)
        assert ":" not in answer["client_id"]
        assert len(answer["client_id"]) >= 43
        assert answer["client_id_issued_at"] == int(flow.clock.now.timestamp())
        [row] = [row for row in await flow.rows("clients") if row["client_id"] == answer["client_id"]]
        assert (row["kind"], row["secret"], row["method"], row["approved"]) == ("registered", "", "none", None)


METHODS: list[dict[str, Any]] = [
    {},
    {"token_endpoint_auth_method": "none"},
    {"token_endpoint_auth_method": "client_secret_basic"},
    {"token_endpoint_auth_method": "client_secret_post"},
    {"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": []}},
    {"token_endpoint_auth_method": "unheard of"},
    {"scope": ALL, "grant_types": ["client_credentials"], "response_types": ["token"]},
]


@pytest.mark.parametrize("asked", METHODS, ids=range(len(METHODS)))
async def test_sec_088_a_registered_app_is_public_whatever_it_asked_for(flow, asked):
    answer = await flow.register(redirect_uris=[LOOPBACK], client_name="Mine", **asked)
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    said = answer.json()
    assert said["token_endpoint_auth_method"] == "none"
    assert not [name for name in said if "secret" in name or "token" in name.removeprefix("token_endpoint")]
    assert said["grant_types"] == ["authorization_code", "refresh_token"]
    assert said["response_types"] == ["code"]
    assert (said["client_name"], said["redirect_uris"]) == ("Mine", [LOOPBACK])


async def test_sec_089_a_mixed_list_keeps_what_is_allowed_and_a_dangerous_entry_refuses_it(flow):
    """Each rule has its row in the table of targets; here the endpoint is shown to keep to it."""
    kept = await flow.register(redirect_uris=["cursor://x", OUTSIDE, "http://app.example/cb"])
    assert kept.json()["redirect_uris"] == [OUTSIDE]
    for bad in (
        "javascript:alert(1)",
        OUTSIDE + "#x",
        OUTSIDE + "?code=1",
        "https://u@app.example/",
        "https://*.example/",
    ):
        answer = await flow.register(redirect_uris=[OUTSIDE, bad])
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


async def test_sec_090_no_address_in_a_registration_is_ever_asked_for(flow):
    came = 0

    async def visited(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal came
        came += 1
        writer.close()

    listener = await asyncio.start_server(visited, "127.0.0.1", 0)
    try:
        port = listener.sockets[0].getsockname()[1]
        urls = {
            name: f"https://127.0.0.1:{port}/{name}"
            for name in (
                "client_uri", "logo_uri", "tos_uri", "policy_uri", "jwks_uri", "sector_identifier_uri",
                "initiate_login_uri", "software_statement", "request_uris",
            )
            if name != "request_uris"
        }  # fmt: skip
        target = f"http://127.0.0.1:{port}/callback"
        app = await flow.another(target, client_name="App", request_uris=[f"https://127.0.0.1:{port}/r"], **urls)
        tokens = await app.tokens()
        await app.refresh(tokens["refresh_token"])
        await app.decide(await app.ask(), "deny")
    finally:
        listener.close()
        await listener.wait_closed()
    assert came == 0


async def test_sec_091_a_statement_by_whomever_changes_nothing(flow):
    """No issuer is trusted, so signed or not it is passed over."""
    claims = json.dumps({"client_name": "Claude", "redirect_uris": ["https://claude.ai/cb"], "scope": ALL}).encode()
    body = base64.urlsafe_b64encode(claims).rstrip(b"=").decode()
    for head, signature in (("eyJhbGciOiJub25lIn0", ""), ("eyJhbGciOiJIUzI1NiJ9", "A" * 43), ("nonsense", "nonsense")):
        statement = f"{head}.{body}.{signature}"
        answer = await flow.register(redirect_uris=[OUTSIDE], client_name="Plain", software_statement=statement)
        said = answer.json()
        assert (said["client_name"], said["redirect_uris"], "software_statement" in said) == ("Plain", [OUTSIDE], False)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_sec_094_a_registration_cannot_be_managed(flow, method):
    said = (await flow.register(redirect_uris=[OUTSIDE])).json()
    assert not {"registration_client_uri", "registration_access_token"} & set(said)
    for path in (f"{REGISTER}/{said['client_id']}", f"{REGISTER}?client_id={said['client_id']}"):
        answer = await flow.request(method, path, headers={"authorization": "Bearer x"})
        assert answer.status_code in (404, 405)


WRONG_TYPES: list[dict[str, Any]] = [
    {name: value}
    for name in (
        "client_name", "client_uri", "logo_uri", "tos_uri", "policy_uri", "jwks_uri", "scope",
        "token_endpoint_auth_method", "application_type", "software_id", "software_version", "software_statement",
    )
    for value in (1, True, [], {}, ["x"])
] + [
    {name: value}
    for name in ("redirect_uris", "grant_types", "response_types", "contacts")
    for value in (1, "x", {}, [1], [None], [["x"]])
] + [{"jwks": value} for value in (1, "x", [])]  # fmt: skip


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    async with opened(tmp_path_factory.mktemp("shared") / "data", Clock()) as flow:
        yield flow


@pytest.mark.parametrize("member", WRONG_TYPES, ids=[json.dumps(one) for one in WRONG_TYPES])
async def test_sec_092_a_member_of_the_wrong_type_is_refused(shared, member):
    answer = await shared.register(**{"redirect_uris": [OUTSIDE], **member})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")


@pytest.mark.parametrize("name", ["client_uri", "logo_uri", "tos_uri", "policy_uri"])
@pytest.mark.parametrize(
    "url", ["http://app.example", "javascript:alert(1)", "data:text/html,x", "app.example", "HTTPS://x"]
)
async def test_sec_092_addresses_for_people_are_https(shared, name, url):
    answer = await shared.register(**{"redirect_uris": [OUTSIDE], name: url})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")


@pytest.mark.parametrize(
    "metadata", [{}, {"redirect_uris": []}, {"redirect_uris": None}, {"redirect_uris": ["cursor://x"]}]
)
async def test_sec_092_without_a_target_there_is_nothing_to_register(shared, metadata):
    answer = await shared.register(**metadata)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


async def test_sec_092_members_that_are_null_or_empty_are_not_there(shared):
    shared.clock.move(hours=1)
    answer = await shared.register(redirect_uris=[OUTSIDE], client_name=None, scope=None, logo_uri="", jwks=None)
    assert answer.status_code == 201


BODIES: list[tuple[bytes, str, int]] = [
    (b"[]", "application/json", 400),
    (b"null", "application/json", 400),
    (b'"x"', "application/json", 400),
    (b"{", "application/json", 400),
    (b"", "application/json", 400),
    (b'{"a":1,"a":2}', "application/json", 400),
    (b"\xff", "application/json", 400),
    (b'{"a":' * 40 + b"1" + b"}" * 40, "application/json", 400),
    (b"{}", "text/plain", 415),
    (b"{}", "application/x-www-form-urlencoded", 415),
    (b"{}", "application/json; charset=utf-16", 415),
    (b"{}", "text/plain; application/json", 415),
]


@pytest.mark.parametrize(("body", "kind", "status"), BODIES, ids=range(len(BODIES)))
async def test_sec_092_a_body_that_is_no_object_of_json_is_refused(shared, body, kind, status):
    answer = await shared.request("POST", REGISTER, content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert answer.json()["error"] in ("invalid_client_metadata", "invalid_request")


NAMES = st.sampled_from([
    "client_name", "redirect_uris", "scope", "grant_types", "client_uri", "logo_uri", "jwks", "contacts", "x",
])  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=80), st.sampled_from([OUTSIDE, LOOPBACK, "com.example:/x", "\ud800", "\x00", "<script>", "\u202e"])
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=8), inner, max_size=5)),
    max_leaves=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=150)
@given(metadata=st.one_of(VALUES, st.dictionaries(st.one_of(NAMES, st.text(max_size=8)), VALUES, max_size=8)))
def test_sec_092_no_registration_breaks_the_server_or_is_kept_as_it_came(anyio_backend, metadata, whole):
    """Whatever it is, it is refused in the words of the RFC, or what is kept of it is clean."""
    answer, row = whole.run(metadata)
    assert answer.status_code in (201, 400)
    if answer.status_code == 400:
        assert answer.json()["error"] in ("invalid_client_metadata", "invalid_redirect_uri")
        return
    said = answer.json()
    assert (row["name"], json.loads(row["redirect_uris"])) == (said["client_name"], said["redirect_uris"])
    assert len(row["name"]) <= 64
    assert row["name"].isprintable()
    assert all(set(uri) <= set(string.printable) - set(string.whitespace) for uri in said["redirect_uris"])


class Whole:
    """A server on an event loop of its own, for tests that hypothesis calls again and again."""

    def __init__(self, data: Any) -> None:
        self.runner, self.clock = asyncio.Runner(), Clock()
        self.opened = opened(data, self.clock)
        self.flow: Flow = self.runner.run(self.opened.__aenter__())

    def run(self, metadata: Any) -> tuple[Answer, Any]:
        return self.runner.run(self._registered(metadata))

    def close(self) -> None:
        self.runner.run(self.opened.__aexit__(None, None, None))
        self.runner.close()

    async def _registered(self, metadata: Any) -> tuple[Answer, Any]:
        self.clock.move(days=2)
        body = json.dumps(metadata).encode()
        answer = await self.flow.request("POST", REGISTER, content=body, headers=JSON)
        rows = await self.flow.rows("clients")
        made = [row for row in rows if answer.status_code == 201 and row["client_id"] == answer.json()["client_id"]]
        return answer, made[0] if made else None


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = Whole(tmp_path_factory.mktemp("whole") / "data")
    yield made
    made.close()


async def test_sec_093_an_app_that_nobody_allowed_can_do_nothing(flow):
    app = await flow.another(LOOPBACK, scope=ALL)
    assert (await app.exchange(secrets.new("code"))).status_code == 400
    assert (await app.refresh(secrets.new("refresh"))).status_code == 400
    for grant in ("client_credentials", "password"):
        form = {"grant_type": grant, "client_id": app.client, "scope": ALL}
        assert (await app.call(TOKEN, form)).status_code == 400
    assert not await app.lets_in(app.client)
    stranger = flow.hall.browser()
    assert (await stranger.get(app.question())).status_code == 200
    assert await flow.rows("tokens") == await flow.rows("grants") == []


async def test_sec_093_no_scope_of_a_registration_widens_what_is_asked_or_granted(flow):
    app = await flow.another(LOOPBACK, scope=ALL)
    page = await app.ask()
    assert Asked(page.text).values("scope", ticked=True) == [READ]
    assert (await app.tokens())["scope"] == READ
    narrow = await flow.another(LOOPBACK, scope=READ)
    assert (await narrow.tokens(*ALL.split(), scope=ALL))["scope"] == ALL, "nor does it narrow what its person decides"


async def test_sec_093_administrators_see_who_has_registered(flow):
    await flow.another(OUTSIDE, client_name="Another")
    assert {client.name for client in await flow.app.clients.list(OWNER)} == {"An app", "Another"}
