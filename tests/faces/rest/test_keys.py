"""`/v1/keys`: keys and vaults for the users of a product, by an account key and nothing else."""

import json
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from archivist.app import OWNER
from archivist.domain.access import ALL_SCOPES, Scope
from archivist.domain.errors import Unauthenticated
from archivist.domain.keys import SHOWN
from archivist.storage import audit, uses
from tests.faces.mcp.talking import HERE
from tests.people import READ, READ_WRITE, arrived, connected, founded

pytestmark = pytest.mark.anyio
UNKNOWN = "0193b000-0000-7000-8000-0000000000fe"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Backend:
    """A product's backend: whose account key it holds, and requests with it."""

    http: httpx2.AsyncClient
    owner: Any
    key: str

    async def mint(self, **wanted: Any) -> httpx2.Response:
        return await self.ask("POST", json=wanted)

    async def ask(self, method: str, path: str = "/v1/keys", **more: Any) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.key}", **more.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **more)


@pytest.fixture
async def http(server):
    transport = httpx2.ASGITransport(app=server, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=HERE) as http:
        yield http


@pytest.fixture
async def backend(app, http):
    owner = await founded(app, await arrived(app, "ana"), "home")
    _, key = await app.keys.create(owner, name="backend", scopes=ALL_SCOPES, kind="account")
    return Backend(http, owner, key)


async def vaults(app, backend) -> set[str]:
    return {vault.name for vault in await app.vaults.list(backend.owner)}


async def test_a_key_is_minted_with_a_vault_of_its_own(app, backend):
    answer = await backend.mint(name="user:42")
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    made = answer.json()
    assert set(made) == {"key", "id", "name", "created_at", "vault_ref", "scopes"}
    assert (made["name"], made["created_at"]) == ("user:42", "2026-11-30T12:00:00.000000Z")
    assert made["scopes"] == ["memories:read", "memories:write"]
    who = await app.entering.authenticate(made["key"], "vault")
    assert (who.vault, who.scopes, who.credential_id) == (made["vault_ref"], READ_WRITE, made["id"])
    assert await vaults(app, backend) == {"home", "user:42"}


async def test_a_key_without_a_name_gets_one_as_often_as_it_is_asked_for(backend):
    made = [(await backend.mint()).json() for _ in range(3)]
    assert {one["name"] for one in made} == {"New Key"}
    assert len({one["vault_ref"] for one in made}) == 3


async def test_a_second_key_opens_the_vault_that_it_names(backend):
    first = (await backend.mint(name="user:42")).json()
    second = (await backend.mint(name="user:42 phone", vault_ref=first["vault_ref"], mode="read")).json()
    assert second["vault_ref"] == first["vault_ref"]
    assert second["key"].startswith("mk_ro_")


async def test_the_same_name_again_makes_no_second_vault(app, backend):
    await backend.mint(name="user:42")
    answer = await backend.mint(name="USER:42")
    assert (answer.status_code, "already" in answer.json()["error"]["message"]) == (409, True)
    assert await vaults(app, backend) == {"home", "user:42"}


@pytest.mark.parametrize(("said", "scopes"), [
    ({"mode": "on"}, {"memories:read", "memories:write"}),
    ({"mode": "read"}, {"memories:read"}),
    ({"mode": "write"}, {"memories:write"}),
    ({"scopes": ["read", "delete"]}, {"memories:read", "memories:delete"}),
    ({"scopes": ["memories:reflect"]}, {"memories:reflect"}),
    ({"scopes": None, "mode": None, "name": None, "vault_ref": None}, {"memories:read", "memories:write"}),
])  # fmt: skip
async def test_a_minted_key_may_do_what_was_said_and_no_more(app, backend, said, scopes):
    made = (await backend.mint(**said)).json()
    assert set(made["scopes"]) == scopes
    assert (await app.entering.authenticate(made["key"], "vault")).scopes == scopes


WRONG = [
    ({"mode": "off"}, 400), ({"mode": "READ"}, 400), ({"mode": 1}, 400), ({"mode": "read", "scopes": ["read"]}, 400),
    ({"scopes": []}, 400), ({"scopes": ["all"]}, 400), ({"scopes": "read"}, 400), ({"scopes": [1]}, 400),
    ({"scopes": {}}, 400), ({"name": 1}, 400), ({"name": ""}, 400), ({"name": "x" * 101}, 400),
    ({"name": "two\nlines"}, 400), ({"name": "\ud800"}, 400), ({"scope": ["read"]}, 400), ({"vault_ref": 1}, 400),
    ({"vault_ref": ""}, 404), ({"vault_ref": UNKNOWN}, 404), ({"vault_ref": "../control"}, 404),
    ({"vault_ref": "control"}, 404), ({"vault_ref": "\ud800"}, 404),
]  # fmt: skip


@pytest.mark.parametrize(("said", "status"), WRONG)
async def test_what_cannot_be_asked_for_makes_nothing(app, backend, said, status):
    answer = await backend.ask("POST", content=json.dumps(said), headers=JSON)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == status
    assert await vaults(app, backend) == {"home"}
    assert len(await app.keys.list(backend.owner)) == 1


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"null", b'"x"', b'{"name":"a","name":"b"}', b'{"name":NaN}', b"\xff", b'{"name":"a"} x',
    b"[" * 100, b'{"name": "\xed\xa0\x80"}',
])  # fmt: skip
async def test_only_one_strict_json_object_is_read(app, backend, body):
    answer = await backend.ask("POST", content=body, headers=JSON)
    assert answer.status_code == 400
    assert await vaults(app, backend) == {"home"}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
async def test_a_body_of_another_kind_is_refused(app, backend, kind):
    answer = await backend.ask("POST", content=b'{"name":"x"}', headers={"content-type": kind})
    assert answer.status_code == 415
    assert await vaults(app, backend) == {"home"}


async def test_a_body_that_is_too_long_is_refused(app, backend):
    answer = await backend.ask("POST", content=b'{"name":"' + b" " * 16_384 + b'"}', headers=JSON)
    assert answer.status_code == 413
    assert await vaults(app, backend) == {"home"}


async def test_sec_127_the_list_shows_every_minted_key_and_no_secret(app, backend):
    made = [(await backend.mint(name=f"user:{number}")).json() for number in range(3)]
    who = await app.entering.authenticate(made[0]["key"], "vault")
    app.counting.note(who, "store_memory")
    await app.counting.flush()
    answer = await backend.ask("GET")
    assert answer.status_code == 200
    rows = {row["id"]: row for row in answer.json()["keys"]}
    assert set(rows) == {one["id"] for one in made}
    for one in made:
        assert one["key"] not in answer.text
        assert one["key"][SHOWN:] not in answer.text
        assert rows[one["id"]]["start"] == one["key"][:SHOWN]
        assert rows[one["id"]]["vault_ref"] == one["vault_ref"]
    assert rows[made[0]["id"]]["last_used_at"] == "2026-11-30T12:00:00.000000Z"
    assert rows[made[1]["id"]]["last_used_at"] is None


async def test_sec_128_an_ended_key_is_dead_on_the_next_request(app, backend):
    made = (await backend.mint(name="user:42")).json()
    await app.entering.authenticate(made["key"], "vault")
    answer = await backend.ask("DELETE", f"/v1/keys/{made['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(made["key"], "vault")
    assert (await backend.ask("DELETE", f"/v1/keys/{made['id']}")).status_code == 404
    [row] = (await backend.ask("GET")).json()["keys"]
    assert row["revoked_at"] == "2026-11-30T12:00:00.000000Z"
    assert (await backend.mint(name="again", vault_ref=made["vault_ref"])).status_code == 201


async def test_sec_126_an_account_key_ends_and_lists_nothing_that_people_made(app, backend):
    by_hand, secret = await app.keys.create(backend.owner, name="by hand", scopes=READ)
    elsewhere = await founded(app, backend.owner, "elsewhere")
    other, _ = await app.keys.create(elsewhere, name="by hand", scopes=READ)
    own = (await app.entering.account(backend.key)).credential_id
    assert (await backend.ask("GET")).json() == {"keys": []}
    for id in (by_hand.id, other.id, own):
        assert (await backend.ask("DELETE", f"/v1/keys/{id}")).status_code == 404
    assert await app.entering.authenticate(secret, "vault")


async def test_sec_170_a_key_and_a_vault_of_somebody_else_answer_byte_for_byte_as_none(app, backend):
    made = (await backend.mint(name="user:42")).json()
    bo = await founded(app, await arrived(app, "bo"), "bo's")
    _, key = await app.keys.create(bo, name="backend", scopes=ALL_SCOPES, kind="account")
    other = Backend(backend.http, bo, key)
    assert (await other.ask("GET")).json() == {"keys": []}
    foreign, unknown = [await other.ask("DELETE", f"/v1/keys/{id}") for id in (made["id"], UNKNOWN)]
    assert (foreign.status_code, foreign.content) == (404, unknown.content)
    foreign, unknown = [await other.mint(name="x", vault_ref=id) for id in (made["vault_ref"], UNKNOWN)]
    assert (foreign.status_code, foreign.content) == (404, unknown.content)
    assert await app.entering.authenticate(made["key"], "vault")


async def test_sec_126_an_account_key_hands_on_no_more_than_its_own_rights(app, backend):
    _, key = await app.keys.create(backend.owner, name="narrow", scopes=READ, kind="account")
    narrow = Backend(backend.http, backend.owner, key)
    assert (await narrow.mint(name="user:1")).json()["scopes"] == ["memories:read"]
    for wanted in ({"mode": "on"}, {"mode": "write"}, {"scopes": ["read", "delete"]}):
        assert (await narrow.mint(name="user:2", **wanted)).status_code == 403
    assert await vaults(app, backend) == {"home", "user:1"}


REQUESTS = [("POST", "/v1/keys"), ("GET", "/v1/keys"), ("DELETE", f"/v1/keys/{UNKNOWN}")]


@pytest.mark.parametrize(("method", "path"), REQUESTS)
async def test_no_credential_gets_a_challenge_and_a_wrong_one_says_so(app, http, method, path):
    none = await http.request(method, path)
    wrong = await http.request(method, path, headers={"authorization": "Bearer mk_wrong"})
    for answer in (none, wrong):
        assert answer.status_code == 401
        assert set(answer.json()["error"]) == {"code", "message"}
        assert answer.headers["www-authenticate"].startswith("Bearer ")
        assert f"{HERE}/.well-known/oauth-protected-resource/mcp" in answer.headers["www-authenticate"]
    assert "error=" not in none.headers["www-authenticate"]
    assert 'error="invalid_token"' in wrong.headers["www-authenticate"]


@pytest.mark.parametrize(("method", "path"), REQUESTS)
async def test_sec_126_no_memory_key_and_no_token_makes_lists_or_ends_keys(app, backend, clock, method, path):
    _, key = await app.keys.create(backend.owner, name="", scopes=ALL_SCOPES)
    minted = (await backend.mint(name="user:42")).json()["key"]
    reader = await connected(app, clock, backend.owner, ALL_SCOPES)
    coding = await connected(app, clock, backend.owner, ALL_SCOPES, toolset="coding")
    for credential in (key, minted, f"{key}:read", reader.access, coding.access):
        answer = await Backend(backend.http, backend.owner, credential).ask(method, path)
        assert (answer.status_code, "account key" in answer.json()["error"]["message"]) == (403, True)
    for credential in (reader.refresh, reader.code):
        assert (await Backend(backend.http, backend.owner, credential).ask(method, path)).status_code == 401
    assert await vaults(app, backend) == {"home", "user:42"}


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "x-memory-key"])
async def test_each_of_the_three_headers_carries_the_key(backend, header):
    value = f"Bearer {backend.key}" if header == "authorization" else backend.key
    assert (await backend.http.get("/v1/keys", headers={header: value})).status_code == 200


async def test_two_different_credentials_are_refused_and_the_same_twice_is_one(backend):
    two = {"x-api-key": backend.key, "x-memory-key": "another"}
    answer = await backend.http.get("/v1/keys", headers=two)
    assert answer.status_code == 400
    assert 'error="invalid_request"' in answer.headers["www-authenticate"]
    same = {"x-api-key": backend.key, "authorization": f"Bearer {backend.key}"}
    assert (await backend.http.get("/v1/keys", headers=same)).status_code == 200
    repeated = [("x-api-key", backend.key), ("x-api-key", backend.key)]
    assert (await backend.http.get("/v1/keys", headers=repeated)).status_code == 400


async def test_no_cookie_and_no_parameter_carries_a_credential(backend):
    for more in ({"headers": {"cookie": f"key={backend.key}"}}, {"params": {"key": backend.key}}):
        assert (await backend.http.get("/v1/keys", **more)).status_code == 401
    answer = await backend.ask("GET")
    assert "set-cookie" not in answer.headers
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(("path", "allowed"), [("/v1/keys", {"GET", "HEAD", "POST"}), ("/v1/keys/x", {"DELETE"})])
async def test_another_method_is_told_which_there_are(backend, path, allowed):
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - allowed:
        answer = await backend.ask(method, path)
        assert answer.status_code == 405
        assert answer.json()["error"]["code"] == 405
        assert set(answer.headers["allow"].replace(" ", "").split(",")) == allowed


async def test_a_revoked_account_key_mints_nothing_from_the_next_request_on(app, backend):
    assert (await backend.mint(name="user:1")).status_code == 201
    await app.keys.revoke(backend.owner, (await app.entering.account(backend.key)).credential_id)
    assert (await backend.mint(name="user:2")).status_code == 401
    assert await vaults(app, backend) == {"home", "user:1"}


async def test_an_account_key_of_a_disabled_person_mints_nothing(app, backend):
    await app.accounts.set_disabled(OWNER, "ana", disabled=True)
    assert (await backend.mint(name="user:1")).status_code == 401


async def test_sec_232_minting_and_ending_leave_one_entry_each_in_the_vault_of_the_key(app, backend):
    made = (await backend.mint(name="user:42")).json()
    await backend.ask("DELETE", f"/v1/keys/{made['id']}")
    found = await audit.recent(await app.stores.control(), made["vault_ref"], 9)
    account = (await app.entering.account(backend.key)).credential_id
    assert {(one.action, one.target, one.credential, one.credential_id) for one in found} == {
        ("keys mint", made["id"], "account", account), ("keys revoke", made["id"], "account", account),
    }  # fmt: skip


async def test_each_use_is_counted_and_so_is_each_refusal(app, backend):
    _, key = await app.keys.create(backend.owner, name="", scopes=ALL_SCOPES)
    await backend.mint(name="user:42")
    await backend.ask("GET")
    await backend.mint(name="user:42")
    await Backend(backend.http, backend.owner, key).ask("GET")
    await backend.http.get("/v1/keys", headers={"x-api-key": "mk_wrong"})
    await app.counting.flush()
    control = await app.stores.control()
    found = {(one.operation, one.outcome): one.count for one in await uses.of_vault(control, backend.owner.vault)}
    assert found == {
        ("keys mint", "done"): 1, ("keys mint", "conflict"): 1, ("keys minted", "done"): 1,
        ("keys minted", "insufficient_scope"): 1,
    }  # fmt: skip
    nobody = {(one.operation, one.outcome): one.count for one in await uses.of_vault(control, "control")}
    assert nobody == {("/v1/keys", "unauthenticated"): 1}


async def test_a_member_of_no_other_name_is_repeated_in_an_answer(backend):
    answer = await backend.ask(
        "POST", content=b'{"canary-member": "canary-value", "mode": "canary-mode"}', headers=JSON
    )
    assert answer.status_code == 400
    assert "canary" not in answer.text


async def test_minted_keys_of_two_users_never_see_each_others_memories(app, backend):
    one, two = [(await backend.mint(name=name)).json()["key"] for name in ("user:1", "user:2")]
    first, second = [await app.entering.authenticate(key, "vault") for key in (one, two)]
    await app.memories.store(first, text="the first user's secret")
    assert (await app.search.search(second, query="secret")).rows == []
    assert Scope.DELETE not in first.scopes
