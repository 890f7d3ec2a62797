"""Every way in checks the same: whatever the revision, the spelling of the path, or what else a request names."""

import importlib.metadata
import stat
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote, unquote

import pytest

from archivist.app import OWNER
from archivist.domain.access import Scope
from archivist.domain.errors import NotFound
from archivist.http.forms import fields_of
from archivist.services.throttling import subject
from archivist.storage.people.users import name_digest
from archivist.storage.vaults import _name_digest as vault_digest
from tests.faces.mcp.talking import legacy, modern, post
from tests.security.signing_in import READ, TOKEN, WRITE, Flow
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow

pytestmark = pytest.mark.anyio
VERSIONS = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", None)
STORE = {"name": "store_memory", "arguments": {"content": "The kettle is on the second shelf."}}


def call(version: str | None, **params):
    return modern("tools/call", **params) if version == "2026-07-28" else legacy("tools/call", version, **params)


@pytest.mark.parametrize("version", VERSIONS)
async def test_sec_115_every_revision_checks_token_and_scope_on_every_message(flow: Flow, version):
    reading = (await flow.tokens(READ))["access_token"]
    for token, status in ((reading, 403), ("ava_" + "x" * 43, 401), ("", 401)):
        async with flow.program(**({"authorization": f"Bearer {token}"} if token else {})) as http:
            assert (await post(http, call(version, **STORE))).status_code == status
    assert (await flow.app.status.of(await flow.principal())).memories == 0


@pytest.mark.parametrize("version", VERSIONS[1:])
async def test_sec_115_a_session_id_carries_no_rights(flow: Flow, version):
    writing, reading = (await flow.tokens(READ, WRITE))["access_token"], (await flow.tokens(READ))["access_token"]
    async with flow.program(authorization=f"Bearer {writing}") as http:
        shaken = await post(http, legacy("initialize", version, protocolVersion=version or "2025-03-26",
                                         capabilities={}, clientInfo={"name": "t", "version": "1"}))  # fmt: skip
    assert "mcp-session-id" not in shaken.headers
    for token, status in ((reading, 403), ("ava_" + "x" * 43, 401)):
        async with flow.program(authorization=f"Bearer {token}", **{"mcp-session-id": "1"}) as http:
            assert (await post(http, call(version, **STORE))).status_code == status


async def test_sec_116_a_sealed_value_opens_for_its_purpose_within_its_time_and_unchanged_only(flow: Flow):
    keyring, life = flow.app.keyring, timedelta(minutes=10)
    sealed = keyring.seal("one purpose", ["ana", 1])
    assert keyring.open("one purpose", sealed, life) == ["ana", 1]
    flipped = [sealed[:at] + ("A" if sealed[at] != "A" else "B") + sealed[at + 1 :] for at in range(len(sealed) - 1)]
    for wrong in (*flipped, sealed[:-1], sealed + "A", "", "é"):
        with pytest.raises(NotFound):
            keyring.open("one purpose", wrong, life)
    with pytest.raises(NotFound):
        keyring.open("another purpose", sealed, life)
    flow.clock.move(minutes=11)
    with pytest.raises(NotFound):
        keyring.open("one purpose", sealed, life)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None])
@pytest.mark.parametrize("path", ["/mcp", "/v1/keys", "/oauth/register"])
async def test_sec_141_json_is_taken_as_json_only(flow: Flow, path, kind):
    token = (await flow.tokens(READ, WRITE))["access_token"]
    _, account = await flow.app.keys.create(await flow.principal(), name="", scopes=frozenset(Scope), kind="account")
    sent = {"authorization": f"Bearer {account if path == '/v1/keys' else token}"}
    if kind is not None:
        sent["content-type"] = kind
    before = len(await flow.rows("clients")), len(await flow.rows("keys"))
    answer = await flow.request("POST", path, content=b'{"redirect_uris":["http://127.0.0.1/"]}', headers=sent)
    assert answer.status_code == 415
    assert (len(await flow.rows("clients")), len(await flow.rows("keys"))) == before


SPELLINGS = [
    "//{0}", "/./{0}", "/x/../{0}", "/{0}/..", "/{0}/.", "/%2e/{0}", "/{0}%2f", "/{0};a=b", "/{0}%3b", "/{0}%00",
    "/{0}\\", "/{0}%5c", "/{0}%20", "/{0}%0a", "/ {0}", "/{0}//", "/{0}/%2e%2e/{0}", "/%2f{0}", "/{0}?/..", "/{0}%23",
]  # fmt: skip
PATHS = ["mcp", "mcp/coding", "app/keys", "app/people", "app/vaults", "v1/keys"]


def encoded(path: str) -> list[str]:
    """The path with its first letter, or all of it, percent-encoded, and in capitals."""
    return [
        f"/%{ord(path[0]):02x}{path[1:]}",
        "/" + "".join(f"%{ord(letter):02X}" for letter in path),
        f"/{path.upper()}",
    ]


async def raw(flow: Flow, target: str) -> tuple[int, str, dict[bytes, bytes]]:
    """What a GET of exactly this target gets, as a server hands it on: nothing tidied up on the way."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "root_path": "",
        "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1:8765")], "server": ("127.0.0.1", 8765), "client": ("127.0.0.1", 1),
    }  # fmt: skip
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    await flow.hall.server(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], body.decode(), dict(sent[0]["headers"])


@pytest.mark.parametrize("path", PATHS)
async def test_sec_142_no_spelling_of_a_path_reaches_what_the_plain_one_does_not(flow: Flow, path):
    """Without any credential and without cookies the plain path lets nobody in, and neither does another spelling."""
    for spelling in [one.format(path) for one in SPELLINGS] + encoded(path):
        status, text, headers = await raw(flow, spelling)
        asked = status == 200 and "<h1>Sign in</h1>" in text
        assert asked or status in (400, 401, 404, 405), (spelling, status, text[:200])
        assert b"location" not in headers, spelling


async def test_sec_168_a_vault_named_anywhere_in_a_request_opens_nothing(flow: Flow):
    other = await flow.vault("other")
    await flow.app.memories.store(
        replace(await flow.principal(), vault=other), text="The other vault's word: zibeline."
    )
    mine = (await flow.principal()).vault
    token = (await flow.tokens(READ, WRITE, vault=mine))["access_token"]
    unknown = "01a22c53-8200-7776-8c5f-000000000000"
    answers = []
    for vault in (other, unknown):
        async with flow.program(authorization=f"Bearer {token}", **{"x-vault": vault, "x-tenant-id": vault}) as http:
            asked = modern(
                "tools/call", name="search_memories", arguments={"query": "zibeline"}, _meta={"vault": vault}
            )
            found = await post(http, asked, f"/mcp?vault={quote(vault)}")
            named = await post(http, modern("tools/call", name="search_memories",
                                            arguments={"query": "zibeline", "vault": vault}))  # fmt: skip
        assert "zibeline." not in found.text + named.text
        answers.append((found.status_code, found.json()["result"]["structuredContent"]["count"], named.text))
    assert answers[0] == answers[1]


def test_sec_178_keys_made_of_several_parts_are_told_apart_whatever_people_type():
    separators = [":", "|", "/", "\x00", "\n", " ", ",", "::", "1:"]
    for mark in separators:
        assert subject("a", f"b{mark}c") != subject(f"a{mark}b", "c") != subject(f"a{mark}b{mark}c")
        assert vault_digest(OWNER.user, f"a{mark}b") != vault_digest(type(OWNER.user)(f"{OWNER.user}{mark}a"), "b")
    assert name_digest("ab") != name_digest("a b")


async def test_sec_239_what_the_server_keeps_beside_the_data_is_private_from_the_start(flow: Flow):
    await flow.tokens(READ)
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in flow.data.rglob("*") if path.is_file()}
    assert found["server.key"] == 0o600
    assert set(found.values()) == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in [flow.data, *flow.data.rglob("*")] if path.is_dir()} == {
        0o700
    }


def test_sec_275_nothing_older_than_the_fixed_releases_is_installed():
    floors = {
        "mcp": (2, 2, 0),
        "starlette": (1, 3, 0),
        "uvicorn": (0, 54),
        "h11": (0, 16),
        "python-multipart": (0, 0, 22),
    }
    for name, floor in floors.items():
        version = tuple(int(part) for part in importlib.metadata.version(name).split(".")[:3])
        assert version >= floor, name


@pytest.mark.parametrize(
    "path", ["/docs", "/redoc", "/openapi.json", "/debug", "/metrics", "/__debug__", "/test", "/admin", "/console"]
)
async def test_sec_281_no_debug_page_is_there(flow: Flow, path):
    assert (await flow.request("GET", path)).status_code == 404


async def test_a_form_of_the_token_endpoint_with_a_thousand_fields_is_refused(flow: Flow):
    form = "&".join(f"f{number}=1" for number in range(1000))
    answer = await flow.request(
        "POST", TOKEN, content=form, headers={"content-type": "application/x-www-form-urlencoded"}
    )
    assert answer.status_code == 400
    assert fields_of("a=1&a=&a=2") == {"a": ["1", "2"]}
