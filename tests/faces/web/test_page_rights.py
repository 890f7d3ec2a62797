"""Whoever has no session gets no page: every route of the pages, with every other kind of credential."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from starlette.routing import Route

from archivist.domain.access import ALL_SCOPES
from archivist.server import site_of
from archivist.settings import Settings
from archivist.web.routes import page_routes
from tests.people import connected, visiting

pytestmark = pytest.mark.anyio
ID = "0193b000-0000-7000-8000-0000000000fe"
CARRIED = ("authorization", "x_api_key", "x_memory_key")


def routes(hall) -> Sequence[Route]:
    """What lies behind the sign-in."""
    served = page_routes(hall.app, site_of(Settings()), Settings(data=hall.app.keyring._path.parent))
    return [route for route in served if route.path.startswith("/app")]


def addresses(hall) -> Sequence[tuple[str, str]]:
    """(method, path) of each, with an id in the place of ids."""
    return [
        (method, "/".join(_filled(part) for part in route.path.split("/")))
        for route in routes(hall)
        for method in sorted(route.methods - {"HEAD"})
    ]


def _filled(part: str) -> str:
    before, opening, rest = part.partition("{")
    return f"{before}{ID}{rest.partition('}')[2]}" if opening else part


async def credentials(hall) -> dict[str, str]:
    """One of each kind that programs hold, with all that it can have."""
    who = await visiting(hall.app, (await hall.user()).id)
    who = replace(who, vault=(await hall.app.vaults.personal(who)).id)
    reader = await connected(hall.app, hall.clock, who, ALL_SCOPES)
    coding = await connected(hall.app, hall.clock, who, ALL_SCOPES, toolset="coding")
    _, key = await hall.app.keys.create(who, name="", scopes=ALL_SCOPES)
    _, account = await hall.app.keys.create(who, name="", scopes=ALL_SCOPES, kind="account")
    return {"token": reader.access, "coding": coding.access, "refresh": reader.refresh, "key": key, "account": account}


async def test_every_page_about_vaults_is_among_the_routes_that_are_tried(hall):
    tried = {path for _method, path in addresses(hall)}
    assert {"/app/connections", "/app/keys.json", f"/app/keys/{ID}/rotate", f"/app/vaults/{ID}.json"} <= tried
    assert len(tried) > 20


async def test_sec_077_no_token_and_no_key_opens_any_page(hall):
    program = hall.browser()
    held = await credentials(hall)
    head = await hall.head()
    for method, path in addresses(hall):
        for kind, credential in held.items():
            for header in CARRIED:
                value = f"Bearer {credential}" if header == "authorization" else credential
                answer = await program.ask(method, path, headers={header: value}, **_body(method))
                assert _is_closed(path, answer), (method, path, kind, header, answer.status_code)
    assert await hall.head() == head


async def test_sec_077_a_token_or_key_in_the_place_of_a_session_is_none(hall):
    head = None
    for credential in (await credentials(hall)).values():
        head = head or await hall.head()
        program = hall.browser()
        program.cookies["__Host-archivist-session"] = credential
        for method, path in addresses(hall):
            assert _is_closed(path, await program.ask(method, path, **_body(method))), (method, path)
    assert await hall.head() == head


async def test_a_list_as_json_asks_nobody_to_sign_in(hall):
    for path in ("/app/connections.json", "/app/keys.json", "/app/vaults.json", "/app/activity.json"):
        answer = await hall.browser().get(path)
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == 401
        assert "set-cookie" not in answer.headers


async def test_lists_as_json_are_kept_by_nobody_and_read_by_no_other_origin(ana):
    for path in ("/app/connections.json", "/app/keys.json", "/app/vaults.json", "/app/activity.json"):
        answer = await ana.get(path, origin="https://evil.example")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_a_list_shows_the_same_as_its_page(hall, ana):
    who = await visiting(hall.app, (await hall.user()).id)
    who = replace(who, vault=(await hall.app.vaults.personal(who)).id)
    await hall.app.keys.create(who, name="laptop", scopes=ALL_SCOPES)
    reader = await connected(hall.app, hall.clock, who, ALL_SCOPES, name="Reader")
    for path, name, found in (
        ("/app/keys", "laptop", "keys"),
        ("/app/connections", "Reader", "connections"),
        ("/app/vaults", "personal", "vaults"),
    ):
        rows = (await ana.get(f"{path}.json")).json()[found]
        page = await ana.shown(path)
        assert len(rows) == 1
        assert name in repr(rows)
        assert name in page
    assert reader.access not in page


def _body(method: str) -> dict[str, object]:
    return {"data": {"csrf": "x" * 43, "role": "owner", "name": "x"}} if method == "POST" else {}


def _is_closed(path: str, answer) -> bool:
    """A door, a refusal, and nothing of anybody's."""
    if path.endswith(".json"):
        return answer.status_code == 401
    if answer.status_code == 200:
        return 'name="password"' in answer.text and "Sign out" not in answer.text
    return answer.status_code in (401, 403) and "Sign out" not in answer.text
