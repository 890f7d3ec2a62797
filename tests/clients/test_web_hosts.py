"""Assistants on the web as they ask, replayed: how they look around, register, and come back with what they were given.

They reach the server at its public address, and keep to no one form: with a slash at the end or without, with
`resource` or without, with `offline_access`, with more scopes than they registered.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from archivist.domain.access import Scope
from tests.builders import Clock
from tests.clients.visits import Fact
from tests.faces.mcp.talking import legacy, modern, post
from tests.security.signing_in import Answer, Asked, Flow, answered, opened

pytestmark = pytest.mark.anyio

ORIGIN = "https://memory.example.org"
RESOURCE = f"{ORIGIN}/mcp"
RESOURCE_DOCUMENT = "/.well-known/oauth-protected-resource"
SERVER_DOCUMENTS = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/mcp",
    "/mcp/.well-known/openid-configuration",
]
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
READ, WRITE = Scope.READ.value, Scope.WRITE.value
SPELLINGS: list[str | None] = [None, RESOURCE, f"{RESOURCE}/", ORIGIN, f"{ORIGIN}/"]


@dataclass(frozen=True, slots=True)
class Host:
    """An assistant on the web. says: what it registers with beside its target."""

    name: str
    target: str
    says: dict[str, Any] = field(default_factory=dict)


BOTH = {"grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"]}
PUBLIC = {**BOTH, "token_endpoint_auth_method": "none"}
CLAUDE = Host("Claude", "https://claude.ai/api/mcp/auth_callback", {**PUBLIC, "scope": READ})
CHATGPT = Host("ChatGPT", "https://chatgpt.com/connector_platform_oauth_redirect", PUBLIC)
HOSTS = {
    "claude.ai": CLAUDE,
    "claude.com": Host("Claude", "https://claude.com/api/mcp/auth_callback", {**PUBLIC, "scope": " ".join(Scope)}),
    "chatgpt.com": CHATGPT,
    "vscode.dev": Host("Visual Studio Code", "https://vscode.dev/redirect", {**PUBLIC, "application_type": "native"}),
    "cursor.com": Host("Cursor", "https://www.cursor.com/agents/mcp/oauth/callback", BOTH),
}


@pytest.fixture
async def flow(tmp_path: Path) -> AsyncIterator[Flow]:
    """A server with a public address, behind a proxy on the same machine."""
    async with opened(tmp_path / "data", Clock(), public_url=ORIGIN) as flow:
        yield flow


async def arriving(flow: Flow, host: Host) -> Flow:
    """The host, once it has registered."""
    return await flow.another(host.target, client_name=host.name, **host.says)


async def connected(flow: Flow, scopes: str = READ, **asked: Any) -> dict[str, Any]:
    """The tokens of an app whose person allows what it asks for."""
    return await flow.tokens(*scopes.split(), scope=scopes, **asked)


async def storing(flow: Flow, token: str, fact: Fact) -> Answer:
    name, arguments = fact.storing
    return await flow.tool(token, name, **arguments)


async def found(flow: Flow, token: str, fact: Fact) -> bool:
    name, arguments = fact.asking
    return fact.phrase in (await flow.tool(token, name, **arguments)).text


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_a_probe_with_any_method_is_told_where_to_sign_in(flow, method, path):
    answer = await flow.request(method, path, headers={"accept": "*/*", "host": "memory.example.org"})
    challenge = f'Bearer resource_metadata="{ORIGIN}{RESOURCE_DOCUMENT}/mcp", scope="{READ}"'
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, challenge)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_every_document_that_they_look_for_leads_to_the_same_server(flow, revision):
    headers = {"mcp-protocol-version": revision, "origin": "https://claude.ai"}
    resources = [await flow.request("GET", RESOURCE_DOCUMENT + end, headers=headers) for end in ("/mcp", "")]
    servers = [await flow.request("GET", path, headers=headers) for path in SERVER_DOCUMENTS]
    assert [one.json()["resource"] for one in resources] == [RESOURCE] * 2
    assert [one.json()["authorization_servers"] for one in resources] == [[ORIGIN]] * 2
    assert {one.content for one in servers} == {servers[0].content}
    assert servers[0].json()["issuer"] == ORIGIN
    assert {one.headers["access-control-allow-origin"] for one in [*resources, *servers]} == {"*"}


async def test_the_documents_name_addresses_below_the_public_one(flow):
    server = (await flow.request("GET", SERVER_DOCUMENTS[0])).json()
    addresses = [value for name, value in server.items() if name.endswith("_endpoint")]
    assert len(addresses) == 4
    assert all(address.startswith(f"{ORIGIN}/oauth/") for address in addresses)


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
async def test_a_host_registers_and_is_shown_by_where_its_answers_go(flow, host):
    app = await arriving(flow, host)
    page = Asked((await app.ask(scope=READ, resource=RESOURCE)).text).text
    assert f"An app that calls itself {host.name} {host.target.split('/')[2]}" in page
    assert "probably not" not in page


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
async def test_a_host_is_connected_however_it_spells_the_address(flow, host, spelling):
    app = await arriving(flow, host)
    code = await app.code(READ, scope=READ, resource=spelling)
    tokens = (await app.exchange(code, resource=spelling)).json()
    assert (tokens["token_type"], tokens["scope"], tokens["expires_in"]) == ("Bearer", READ, 3600)
    assert await app.lets_in(tokens["access_token"])


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
async def test_the_answer_goes_back_with_the_state_as_it_was_and_one_issuer(flow, host):
    app, state = await arriving(flow, host), "eyJ0IjoiMSJ9.a-b_c==/+&x y"
    answer = await app.decide(await app.ask(state=state, scope=READ), scope=[READ])
    assert answer.headers["location"].startswith(f"{host.target}?")
    assert answer.headers["location"].count("iss=") == 1
    assert {**answered(answer), "code": ""} == {"code": "", "state": state, "iss": ORIGIN}


async def test_words_that_hosts_add_to_the_scopes_give_nothing_and_harm_nothing(flow):
    app = await arriving(flow, CLAUDE)
    asked = f"{READ} {WRITE} offline_access openid"
    page = await app.ask(scope=asked, resource=RESOURCE, prompt="consent", nonce="n", audience="a")
    code = answered(await app.decide(page, scope=[READ, WRITE]))["code"]
    tokens = (await app.exchange(code, resource=RESOURCE, scope=asked)).json()
    assert tokens["scope"] == f"{READ} {WRITE}"
    refreshed = await app.refresh(tokens["refresh_token"], scope=asked, resource=RESOURCE)
    assert (refreshed.status_code, refreshed.json()["scope"]) == (200, f"{READ} {WRITE}")


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
async def test_a_refresh_needs_neither_the_scopes_nor_the_address(flow, host):
    app = await arriving(flow, host)
    tokens = await connected(app, f"{READ} {WRITE}", resource=f"{RESOURCE}/")
    flow.clock.move(minutes=61)
    assert not await app.lets_in(tokens["access_token"])
    refreshed = (await app.refresh(tokens["refresh_token"])).json()
    assert refreshed["scope"] == f"{READ} {WRITE}"
    assert refreshed["refresh_token"] != tokens["refresh_token"]
    assert await app.lets_in(refreshed["access_token"])


@pytest.mark.parametrize("revision", REVISIONS[1:4])
async def test_a_host_of_an_older_revision_shakes_hands_and_lists_the_tools(flow, revision):
    app = await arriving(flow, CLAUDE)
    token = (await connected(app))["access_token"]
    info = {"name": "claude-ai", "version": "0.1.0"}
    hello = legacy("initialize", None, protocolVersion=revision, capabilities={}, clientInfo=info)
    async with app.program(authorization=f"Bearer {token}", accept="application/json, text/event-stream") as http:
        assert (await post(http, hello)).json()["result"]["protocolVersion"] == revision
        listed = (await post(http, legacy("tools/list", revision))).json()["result"]["tools"]
    assert {"search_memories", "store_memory"} <= {tool["name"] for tool in listed}


async def test_chatgpt_is_told_inside_the_result_what_it_lacks_and_nothing_is_stored(flow):
    app, fact = await arriving(flow, CHATGPT), Fact()
    token = (await connected(app))["access_token"]
    refused = await storing(app, token, fact)
    result = refused.json()["result"]
    [challenge] = result["_meta"]["mcp/www_authenticate"]
    assert (refused.status_code, result["isError"]) == (200, True)
    assert f'error="insufficient_scope", scope="{READ} {WRITE}"' in challenge
    assert f'resource_metadata="{ORIGIN}{RESOURCE_DOCUMENT}/mcp"' in challenge
    assert "error_description=" in challenge
    assert not await found(app, token, fact)


async def test_claude_is_told_by_the_status_what_it_lacks_and_nothing_is_stored(flow):
    app, fact = await arriving(flow, CLAUDE), Fact()
    token = (await connected(app))["access_token"]
    refused = await storing(app, token, fact)
    assert refused.status_code == 403
    assert f'error="insufficient_scope", scope="{READ} {WRITE}"' in refused.headers["www-authenticate"]
    assert not await found(app, token, fact)


@pytest.mark.parametrize("host", [CLAUDE, CHATGPT], ids=["claude.ai", "chatgpt.com"])
async def test_a_host_that_asks_for_what_it_lacked_goes_on_in_the_same_connection(flow, host):
    app, fact = await arriving(flow, host), Fact()
    await connected(app)
    [before] = await app.app.connections.list(await app.principal())
    wider = await connected(app, f"{READ} {WRITE}", resource=RESOURCE)
    [now] = await app.app.connections.list(await app.principal())
    assert (now.grant.id, now.grant.scopes) == (before.grant.id, {READ, WRITE})
    assert (await storing(app, wider["access_token"], fact)).json()["result"]["structuredContent"]["stored"]
    assert await found(app, wider["access_token"], fact)


async def test_a_host_that_names_itself_in_its_messages_is_told_inside_the_result_too(flow):
    """Whatever its target is: an assistant's developer may try it from a program on this computer."""
    token = (await connected(flow))["access_token"]
    name, arguments = Fact().storing
    info = {"io.modelcontextprotocol/clientInfo": {"name": "openai-mcp", "version": "1"}}
    async with flow.program(authorization=f"Bearer {token}") as http:
        answer = await post(http, modern("tools/call", name=name, arguments=arguments, _meta=info))
    assert answer.json()["result"]["_meta"]["mcp/www_authenticate"] != []
