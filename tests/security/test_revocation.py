"""Taking back: by the app, by its person, by whoever runs the server; at once, everywhere, and for good."""

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from archivist.app import OWNER
from archivist.domain.access import ALL_SCOPES, Scope
from archivist.server import asgi
from archivist.services.connections import Which
from archivist.settings import Settings
from archivist.storage.schema import vaults
from tests.faces.web.browsing_in_process import Hall, an_app
from tests.security.signing_in import READ, REVOKE, WRITE, Flow, refused
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow

pytestmark = pytest.mark.anyio


async def is_dead(flow: Flow, tokens: dict[str, Any]) -> bool:
    """Whether neither token is good for anything, and the door says so rightly."""
    answer = await flow.tool(tokens["access_token"])
    closed = answer.status_code == 401 and 'error="invalid_token"' in answer.headers["www-authenticate"]
    return closed and refused(await flow.refresh(tokens["refresh_token"]), "invalid_grant")


@pytest.mark.parametrize("which", ["refresh_token", "access_token"])
@pytest.mark.parametrize("hint", [None, "refresh_token", "access_token", "nonsense", ""])
async def test_sec_133_either_token_ends_what_it_belongs_to_whatever_the_hint(flow, which, hint):
    tokens = await flow.tokens(READ, WRITE)
    answer = await flow.revoke(tokens[which], token_type_hint=hint)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert await is_dead(flow, tokens)
    assert (await flow.revoke(tokens[which])).status_code == 200, "once more is fine"


UNKNOWN = ["x", "é", "a" * 5000, *(kind + "A" * 43 for kind in ("ava_", "avr_", "avc_"))]


@pytest.mark.parametrize("token", UNKNOWN, ids=range(len(UNKNOWN)))
async def test_sec_133_what_is_unknown_is_fine(flow, token):
    tokens = await flow.tokens()
    assert (await flow.revoke(token)).status_code == 200
    assert await flow.lets_in(tokens["access_token"])


async def test_sec_133_the_token_of_another_app_is_left_alone(flow):
    other, tokens = await flow.another(), await flow.tokens()
    for token in (tokens["access_token"], tokens["refresh_token"]):
        assert (await other.revoke(token)).status_code == 200
    assert await flow.lets_in(tokens["access_token"])
    assert (await flow.refresh(tokens["refresh_token"])).status_code == 200


async def test_sec_133_the_app_is_identified_as_at_the_token_endpoint(flow):
    shop, secret = await flow.confidential()
    code = await shop.code()
    tokens = (await shop.exchange(code, client_secret=secret)).json()
    for wrong in (None, "x", ""):
        assert refused(await shop.revoke(tokens["access_token"], client_secret=wrong), "invalid_client", 401)
    assert refused(await shop.revoke(tokens["access_token"], client_id="app-unknown"), "invalid_client", 401)
    assert refused(await shop.revoke(tokens["access_token"], client_id=None), "invalid_client", 401)
    assert await shop.lets_in(tokens["access_token"])
    assert (await shop.revoke(tokens["access_token"], client_secret=secret)).status_code == 200
    assert not await shop.lets_in(tokens["access_token"])


MISUSES: list[dict[str, Any]] = [
    {"path": f"{REVOKE}?token=x"},
    {"headers": {"content-type": "application/json"}, "status": 415},
    {"more": "&token=x"},
    {"more": "&token_type_hint=a&token_type_hint=b"},
    {"more": "&client_id=x"},
    {"token": None},
    {"token": ""},
]


@pytest.mark.parametrize("misuse", MISUSES, ids=range(len(MISUSES)))
async def test_sec_133_only_a_whole_form_is_taken(flow, misuse):
    tokens = await flow.tokens()
    token = misuse.get("token", tokens["access_token"])
    body = f"client_id={flow.client}" + (f"&token={token}" if token is not None else "") + misuse.get("more", "")
    headers = misuse.get("headers", {"content-type": "application/x-www-form-urlencoded"})
    answer = await flow.request("POST", misuse.get("path", REVOKE), content=body.encode(), headers=headers)
    assert refused(answer, "invalid_request", misuse.get("status", 400))
    assert await flow.lets_in(tokens["access_token"])


async def test_sec_134_the_whole_family_ends_however_often_it_was_refreshed(flow):
    first = await flow.tokens()
    second = (await flow.refresh(first["refresh_token"])).json()
    third = (await flow.refresh(second["refresh_token"])).json()
    await flow.revoke(second["refresh_token"])
    for tokens in (first, second, third):
        assert await is_dead(flow, tokens)


async def test_sec_134_the_other_sign_ins_of_the_same_app_go_on(flow):
    """An app that runs on two computers signs in twice, and one of them signs out."""
    laptop, desktop = await flow.tokens(), await flow.tokens()
    await flow.revoke(laptop["refresh_token"])
    assert await is_dead(flow, laptop)
    assert (await flow.refresh(desktop["refresh_token"])).status_code == 200


async def by_the_person(flow: Flow) -> None:
    [grant] = await flow.rows("grants")
    await flow.app.connections.end(await flow.principal(), grant["id"])


async def by_the_operator(flow: Flow) -> None:
    await flow.app.connections.end_all(OWNER, Which())


async def with_the_app(flow: Flow) -> None:
    await flow.app.clients.set_blocked(OWNER, flow.client, blocked=True)


async def with_the_account(flow: Flow) -> None:
    await flow.app.accounts.set_disabled(OWNER, "Bob", disabled=True)


async def with_the_membership(flow: Flow) -> None:
    [shared] = [vault for vault in await flow.app.vaults.list(OWNER) if vault.name == "Shared"]
    await flow.app.members.remove(OWNER, shared.id, (await flow.hall.user("Bob")).id)


async def with_the_vault(flow: Flow) -> None:
    await flow.execute(sa.update(vaults).values(removed=1))


async def by_the_app(flow: Flow) -> None:
    [token] = [row for row in await flow.rows("tokens") if row["kind"] == "refresh" and row["spent"] is None]
    client = await flow.app.clients.known(flow.client)
    await flow.app.connections.end_all(OWNER, Which(client=client.digest))
    assert token


WAYS = [by_the_operator, with_the_app, with_the_account, with_the_membership, with_the_vault, by_the_app]


async def bob_in_a_shared_vault(flow: Flow) -> Flow:
    """The same app, asking Bob, who is in a vault of Ana's."""
    bob, vault = await flow.hall.joined("Bob"), await flow.vault("Shared")
    link = await flow.app.members.invite(OWNER, vault, "member")
    await flow.app.accounts.accept(replace(OWNER, user=(await flow.hall.user("Bob")).id), link)
    return flow.of(bob)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_sec_134_what_hangs_on_something_ends_with_it(flow, way):
    theirs = await bob_in_a_shared_vault(flow)
    [vault] = [vault.id for vault in await flow.app.vaults.list(OWNER) if vault.name == "Shared"]
    tokens = await theirs.tokens(READ, WRITE, vault=vault)
    spare = await theirs.code(READ, vault=vault)
    assert await theirs.lets_in(tokens["access_token"])
    await way(theirs)
    assert await is_dead(theirs, tokens)
    assert refused(await theirs.exchange(spare), "invalid_grant")


@pytest.mark.parametrize("way", [with_the_account, with_the_membership, with_the_vault, by_the_operator])
async def test_sec_134_the_keys_of_a_person_end_too(flow, way):
    await bob_in_a_shared_vault(flow)
    [vault] = [vault.id for vault in await flow.app.vaults.list(OWNER) if vault.name == "Shared"]
    bob = replace(OWNER, user=(await flow.hall.user("Bob")).id, vault=vault)
    _, key = await flow.app.keys.create(bob, name="k", scopes=frozenset({Scope.READ}))
    assert await flow.lets_in(key)
    await way(flow)
    assert not await flow.lets_in(key)


async def test_sec_134_a_connection_that_its_person_ended_is_over(flow):
    tokens = await flow.tokens()
    await by_the_person(flow)
    assert await is_dead(flow, tokens)


async def test_sec_134_coming_back_into_a_vault_brings_no_connection_back(flow):
    theirs = await bob_in_a_shared_vault(flow)
    [vault] = [vault.id for vault in await flow.app.vaults.list(OWNER) if vault.name == "Shared"]
    tokens = await theirs.tokens(vault=vault)
    await with_the_membership(flow)
    link = await flow.app.members.invite(OWNER, vault, "member")
    await flow.app.accounts.accept(replace(OWNER, user=(await flow.hall.user("Bob")).id), link)
    assert await is_dead(theirs, tokens)


@pytest.fixture
async def other(flow: Flow) -> Any:
    """A second server over the same folder, with caches of its own."""
    app = an_app(flow.data, flow.clock)
    await app.start()
    yield replace(flow, hall=Hall(app, asgi(app, Settings(data=flow.data)), flow.clock))
    await app.close()


@pytest.mark.parametrize("way", [by_the_person, by_the_operator, with_the_app], ids=lambda way: way.__name__)
async def test_sec_135_every_server_knows_at_the_next_request(flow, other, way):
    tokens = await flow.tokens()
    for _ in range(3):
        assert await other.lets_in(tokens["access_token"])
    await way(flow)
    assert await is_dead(other, tokens)


@pytest.mark.parametrize("which", ["refresh_token", "access_token"])
async def test_sec_135_what_the_app_gave_back_is_dead_in_every_server(flow, other, which):
    tokens = await flow.tokens()
    assert await other.lets_in(tokens["access_token"])
    await flow.revoke(tokens[which])
    assert await is_dead(other, tokens)


async def test_sec_135_a_key_that_was_revoked_is_dead_in_every_server(flow, other):
    who = replace(await flow.app.local(), scopes=ALL_SCOPES)
    made, key = await flow.app.keys.create(who, name="k", scopes=ALL_SCOPES)
    assert await other.lets_in(key)
    await flow.app.keys.revoke(who, made.id)
    assert not await other.lets_in(key)


async def test_sec_135_a_narrower_role_holds_in_every_server(flow, other):
    theirs = await bob_in_a_shared_vault(flow)
    [vault] = [vault.id for vault in await flow.app.vaults.list(OWNER) if vault.name == "Shared"]
    token = (await theirs.tokens(READ, WRITE, vault=vault))["access_token"]
    assert (await other.tool(token, "store_memory", content="one")).status_code == 200
    await flow.app.members.set_role(OWNER, vault, (await flow.hall.user("Bob")).id, "viewer")
    assert (await other.tool(token, "store_memory", content="two")).status_code == 403


@pytest.mark.parametrize("hours", [0, -24, 24, -10_000])
@pytest.mark.parametrize("way", [by_the_person, with_the_app, by_the_operator], ids=lambda way: way.__name__)
async def test_sec_136_what_was_taken_back_stays_so_over_a_restart_and_a_step_of_the_clock(flow, way, hours):
    tokens, code = await flow.tokens(), await flow.code()
    await way(flow)
    await flow.restart()
    flow.clock.move(hours=hours)
    assert await is_dead(flow, tokens)
    assert refused(await flow.exchange(code), "invalid_grant")


@pytest.mark.parametrize("which", ["refresh_token", "access_token"])
async def test_sec_136_what_the_app_gave_back_stays_so_over_a_restart(flow, which):
    tokens = await flow.tokens()
    await flow.revoke(tokens[which])
    await flow.restart()
    flow.clock.move(hours=-1)
    assert await is_dead(flow, tokens)
