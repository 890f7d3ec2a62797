"""Four rights that are independent: every tool and resource of both faces, in every combination."""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest

from archivist.app import OWNER
from archivist.domain.access import Scope
from archivist.domain.operations import SCOPES
from archivist.domain.toolsets import PATHS, TOOLSETS, Toolset
from archivist.mcp.era import BATCHING
from archivist.mcp.resources import RESOURCES
from archivist.mcp.step_up import TRIES, WINDOW
from archivist.mcp.toolsets import TOOLS
from archivist.server import asgi
from archivist.settings import Settings
from tests.builders import Clock
from tests.faces.mcp.talking import legacy, modern, post
from tests.security.signing_in import HERE, LOOPBACK, READ, WRITE, Answer, Flow, opened
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow
from tests.security.test_resources import challenge

pytestmark = pytest.mark.anyio

COMBINATIONS = [
    frozenset(combination)
    for size in range(len(Scope) + 1)
    for combination in itertools.combinations(Scope, size)
]  # fmt: skip
UNKNOWN_ID = "0193b000-0000-7000-8000-000000000001"
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "search_memories": {"query": "boathouse"},
    "date_search_memories": {"from": "2026-01-01"},
    "store_memory": {"content": "The boathouse is green."},
    "memory_status": {},
    "forget_all_memories": {"confirmation": "DELETE ALL MEMORIES"},
    "consolidate_memories": {},
    "commit_reflections": {"batch_id": UNKNOWN_ID, "entries": [{"text": "A boathouse.", "importance": 5}] * 5},
    "inspect_memory": {"memory_id": UNKNOWN_ID},
    "delete_memories": {"memory_ids": [UNKNOWN_ID], "confirmation": "DELETE SELECTED MEMORIES"},
    "search": {"query": "boathouse"},
}
"""What a call needs that is let through; a tool that is added needs a row here."""

NAMING = {"commit_reflections": "batch_not_found", "inspect_memory": "not_found"}
"""What a call that is let through is answered where it names something that is not there."""


@dataclass(frozen=True, slots=True)
class Act:
    """Something that can be asked of an address, and what it needs."""

    toolset: Toolset
    method: str
    name: str

    @property
    def needs(self) -> Scope:
        return SCOPES[self.name]

    def message(self, version: str = "modern") -> Any:
        given: dict[str, Any] = {"uri": self.name}
        if self.method == "tools/call":
            given = {"name": self.name, "arguments": ARGUMENTS[self.name]}
        return modern(self.method, **given) if version == "modern" else legacy(self.method, version, **given)


def acts() -> Iterator[Act]:
    """Everything that the two addresses serve, out of their own tables."""
    for toolset in TOOLSETS:
        yield from (Act(toolset, "tools/call", tool.name) for tool in TOOLS[toolset])
        yield from (Act(toolset, "resources/read", resource.uri) for resource in RESOURCES[toolset])


ACTS = list(acts())


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@dataclass(slots=True)
class Held:
    """A server, and one credential of each form for each combination of rights on each tool set."""

    flow: Flow
    tokens: dict[tuple[Toolset, frozenset[Scope]], str]
    keys: dict[frozenset[Scope], str]

    def credential(self, form: str, toolset: Toolset, scopes: frozenset[Scope]) -> str:
        return self.keys[scopes] if form == "key" else self.tokens[toolset, scopes]

    async def ask(self, act: Act, credential: str, version: str = "modern", **headers: str) -> Answer:
        async with self.flow.program(authorization=f"Bearer {credential}") as http:
            return await post(http, act.message(version), PATHS[act.toolset], **headers)


@pytest.fixture(scope="module")
async def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server and its credentials. Every token is a connection of its own."""
    async with opened(tmp_path_factory.mktemp("whole") / "data", Clock()) as flow:
        vault = await flow.vault("Boathouse")
        who = replace(OWNER, vault=vault)
        made = Held(flow, {}, {})
        for scopes in COMBINATIONS:
            _, made.keys[scopes] = await flow.app.keys.create(who, name="k", scopes=scopes)
        for number, (toolset, scopes) in enumerate(itertools.product(TOOLSETS, COMBINATIONS)):
            app = await replace(flow, address=f"198.51.100.{number}").another()
            asked = {"vault": vault, "resource": f"{HERE}{PATHS[toolset]}"}
            token = (await (app.tokens(*scopes, **asked) if scopes else powerless(app, toolset)))["access_token"]
            made.tokens[toolset, scopes] = token
        await flow.app.memories.store(who, text="The boathouse is green.")
        yield made


async def powerless(app: Flow, toolset: Toolset) -> dict[str, Any]:
    """Tokens that were given the right to write, by somebody who may only read by now: so they have none."""
    bob, vault = await app.hall.joined(f"Bob {toolset}"), await app.vault(f"Shared {toolset}")
    user = (await app.hall.user(f"Bob {toolset}")).id
    link = await app.app.members.invite(OWNER, vault, "member")
    await app.app.accounts.accept(replace(OWNER, user=user), link)
    tokens = await app.of(bob).tokens(WRITE, vault=vault, resource=f"{HERE}{PATHS[toolset]}")
    await app.app.members.set_role(OWNER, vault, user, "viewer")
    return tokens


@pytest.fixture
def held(whole: Held) -> Held:
    """The same, with nothing remembered of who was refused before."""
    whole.flow.hall.server = asgi(whole.flow.app, Settings(data=whole.flow.data))
    return whole


async def state(flow: Flow) -> tuple[Any, Any]:
    """The bytes of every vault, and all that the control database holds but what it counts and notes."""
    files = sorted([*flow.data.glob("vaults/*.db"), *flow.data.glob("vaults/*.db-wal")])
    vaults = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    names = [row["name"] for row in await flow.rows("sqlite_master") if row["type"] == "table"]
    counted = ("audit", "uses", "sqlite_stat1", "sqlite_sequence")
    return vaults, {name: await flow.rows(name) for name in names if name not in counted}


# No credential, or a bad one


METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"]
REST = [("GET", "/v1/keys"), ("POST", "/v1/keys"), ("DELETE", f"/v1/keys/{UNKNOWN_ID}")]
EVERYWHERE = [(method, path) for path in ("/mcp", "/mcp/", "/mcp/coding", "/mcp/coding/") for method in METHODS] + REST


def document_of(path: str) -> str:
    return f"{HERE}/.well-known/oauth-protected-resource{'/mcp/coding' if 'coding' in path else '/mcp'}"


@pytest.mark.parametrize(("method", "path"), EVERYWHERE)
async def test_sec_107_without_a_credential_the_way_to_one_is_shown_and_no_error(flow, method, path):
    answer = await flow.request(method, path)
    assert answer.status_code == 401
    assert challenge(answer) == {"resource_metadata": document_of(path), "scope": READ}


BAD = ["", "x", "ava_" + "A" * 43, "avr_" + "A" * 43, "mk_" + "a" * 49, "x" * 600, "é"]


@pytest.mark.parametrize(("method", "path"), EVERYWHERE[::3])
async def test_sec_107_a_bad_credential_is_told_to_be_one(flow, method, path):
    for bad in BAD:
        answer = await flow.request(method, path, headers=[(b"authorization", f"Bearer {bad}".encode())])
        assert answer.status_code == 401
        found = challenge(answer)
        assert (found["error"], found["resource_metadata"]) == ("invalid_token", document_of(path))


async def test_sec_107_an_expired_and_a_revoked_token_are_bad_ones(flow):
    expired, revoked = await flow.tokens(), await flow.tokens()
    await flow.revoke(revoked["refresh_token"])
    flow.clock.move(hours=1)
    for tokens in (expired, revoked):
        answer = await flow.tool(tokens["access_token"])
        assert (answer.status_code, challenge(answer)["error"]) == (401, "invalid_token")


# Too few rights


def union(scopes: frozenset[Scope], *needed: Scope) -> str:
    return " ".join(scope for scope in Scope if scope in scopes or scope in needed)


@pytest.mark.parametrize("form", ["oauth", "key"])
@pytest.mark.parametrize("act", ACTS, ids=lambda act: f"{act.toolset} {act.name}")
async def test_sec_108_what_lacks_its_right_is_refused_with_the_whole_set_and_touches_nothing(held, act, form):
    """No right stands in for another, in any of the combinations."""
    before = await state(held.flow)
    for scopes in (one for one in COMBINATIONS if act.needs not in one):
        answer = await held.ask(act, held.credential(form, act.toolset, scopes))
        assert answer.status_code == 403, answer.text
        found = challenge(answer)
        assert (found["error"], found["scope"]) == ("insufficient_scope", union(scopes, act.needs))
        assert found["resource_metadata"] == document_of(PATHS[act.toolset])
        assert act.needs in found["error_description"]
        assert "result" not in answer.json()
    assert await state(held.flow) == before


@pytest.mark.parametrize("form", ["oauth", "key"])
@pytest.mark.parametrize("act", ACTS, ids=lambda act: f"{act.toolset} {act.name}")
async def test_sec_108_what_has_its_right_is_answered_whatever_else_it_has(held, act, form):
    for scopes in (one for one in COMBINATIONS if act.needs in one):
        answer = await held.ask(act, held.credential(form, act.toolset, scopes))
        assert answer.status_code == 200, answer.text
        error = answer.json()["result"].get("structuredContent", {}).get("error", {})
        assert error.get("code") == NAMING.get(act.name), answer.text


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
@pytest.mark.parametrize("act", ACTS, ids=lambda act: f"{act.toolset} {act.name}")
async def test_sec_108_every_revision_is_refused_alike(held, act, version):
    scopes = frozenset(Scope) - {act.needs}
    answer = await held.ask(act, held.credential("oauth", act.toolset, scopes), version)
    assert (answer.status_code, challenge(answer)["scope"]) == (403, union(scopes, act.needs))


async def test_sec_108_messages_that_need_two_rights_together_name_both_and_none_is_carried_out(held):
    before = await state(held.flow)
    calls = [Act("vault", "tools/call", name).message(BATCHING)[0] for name in ("store_memory", "forget_all_memories")]
    batch = [{**call, "id": number} for number, call in enumerate(calls)]
    for scopes in (frozenset[Scope](), frozenset({Scope.WRITE}), frozenset({Scope.READ})):
        token = held.credential("oauth", "vault", scopes)
        async with held.flow.program(authorization=f"Bearer {token}") as http:
            answer = await post(http, (batch, {"mcp-protocol-version": BATCHING}))
        assert answer.status_code == 403
        assert challenge(answer)["scope"] == union(scopes, Scope.WRITE, Scope.DELETE)
    assert await state(held.flow) == before


def named(host: str) -> Mapping[str, Any]:
    return {"io.modelcontextprotocol/clientInfo": {"name": host, "version": "1"}}


@pytest.mark.parametrize("form", ["oauth", "key"])
@pytest.mark.parametrize("act", ACTS, ids=lambda act: f"{act.toolset} {act.name}")
async def test_sec_108_the_named_hosts_find_the_challenge_inside_the_result_of_a_tool(held, act, form):
    before = await state(held.flow)
    scopes = frozenset(Scope) - {act.needs}
    token = held.credential(form, act.toolset, scopes)
    given: dict[str, Any] = {"uri": act.name}
    if act.method == "tools/call":
        given = {"name": act.name, "arguments": ARGUMENTS[act.name]}
    async with held.flow.program(authorization=f"Bearer {token}") as http:
        answer = await post(http, modern(act.method, **given, _meta=named("openai-mcp")), PATHS[act.toolset])
    if act.method != "tools/call" or form == "key":
        assert answer.status_code == 403
    else:
        assert (answer.status_code, "www-authenticate" in answer.headers) == (200, False)
        result = answer.json()["result"]
        assert result["isError"] is True
        [text] = result["_meta"]["mcp/www_authenticate"]
        found = challenge(httpx2.Response(401, headers={"www-authenticate": text}))
        assert (found["error"], found["scope"]) == ("insufficient_scope", union(scopes, act.needs))
        assert found["error_description"]
        assert "structuredContent" not in result
    assert await state(held.flow) == before


HOSTS = [
    ("https://chatgpt.com/connector_platform_oauth_redirect", True),
    ("https://chat.openai.com/aip/callback", True),
    ("https://apps.chatgpt.com/callback", True),
    ("https://chatgpt.com.evil.example/callback", False),
    ("https://evilchatgpt.com/callback", False),
    ("https://claude.ai/api/mcp/auth_callback", False),
    ("http://127.0.0.1:1/chatgpt.com", False),
]


@pytest.mark.parametrize(("target", "inside"), HOSTS, ids=range(len(HOSTS)))
async def test_sec_108_a_host_is_known_by_where_its_answers_go(flow, target, inside):
    token = (await (await flow.another(target)).tokens(READ))["access_token"]
    assert (await flow.tool(token, "store_memory", content="x")).status_code == (200 if inside else 403)


@pytest.mark.parametrize(("mode", "status"), [("http", 403), ("result", 200)])
async def test_sec_108_the_form_can_be_fixed_by_a_setting(tmp_path, clock, mode, status):
    async with opened(tmp_path / "data", clock, step_up=mode) as flow:
        for target in (LOOPBACK, "https://chatgpt.com/connector_platform_oauth_redirect"):
            token = (await (await flow.another(target)).tokens(READ))["access_token"]
            answer = await flow.tool(token, "store_memory", content="x")
            assert answer.status_code == status
            assert "insufficient_scope" in (answer.text if status == 200 else answer.headers["www-authenticate"])


async def test_sec_108_a_notification_has_no_result_to_put_a_challenge_into(flow):
    app = await flow.another("https://chatgpt.com/connector_platform_oauth_redirect")
    token = (await app.tokens(READ))["access_token"]
    body, headers = legacy("tools/call", name="store_memory", arguments={"content": "x"})
    del body["id"]
    async with flow.program(authorization=f"Bearer {token}") as http:
        answer = await post(http, (body, headers))
    assert (answer.status_code, challenge(answer)["scope"]) == (403, f"{READ} {WRITE}")


async def refusals(flow: Flow, token: str, count: int, tool: str = "store_memory") -> list[bool]:
    """Whether each of so many refusals came with a challenge."""
    answers = [await flow.tool(token, tool, **ARGUMENTS[tool]) for _ in range(count)]
    assert {answer.status_code for answer in answers} == {403}
    return ["www-authenticate" in answer.headers for answer in answers]


async def test_an_app_that_asks_again_and_again_gets_no_further_challenge(flow):
    token = (await flow.tokens(READ))["access_token"]
    assert await refusals(flow, token, TRIES + 2) == [True] * TRIES + [False] * 2
    assert await refusals(flow, token, 1, "forget_all_memories") == [True], "another right"
    other = (await (await flow.another()).tokens(READ))["access_token"]
    assert await refusals(flow, other, 1) == [True], "another connection"
    flow.clock.move(seconds=WINDOW.total_seconds())
    assert await refusals(flow, token, 1) == [True]


async def test_an_app_that_asks_slowly_is_never_taken_to_loop(flow):
    token = (await flow.tokens(READ))["access_token"]
    for _ in range(TRIES * 3):
        assert await refusals(flow, token, 1) == [True]
        flow.clock.move(minutes=2, seconds=30)


async def test_inside_a_result_too_the_challenge_is_left_out_once_it_loops(flow):
    app = await flow.another("https://chatgpt.com/connector_platform_oauth_redirect")
    token = (await app.tokens(READ))["access_token"]
    results = [(await flow.tool(token, "store_memory", content="x")).json()["result"] for _ in range(TRIES + 1)]
    assert [result["isError"] for result in results] == [True] * (TRIES + 1)
    assert ["_meta" in result for result in results] == [True] * TRIES + [False]


async def test_a_right_that_was_given_ends_the_asking_and_keeps_the_connection(flow):
    token = (await flow.tokens(READ))["access_token"]
    needed = challenge(await flow.tool(token, "store_memory", content="x"))["scope"]
    [before] = await flow.rows("grants")
    later = (await flow.tokens(*needed.split(), scope=needed))["access_token"]
    assert (await flow.tool(later, "store_memory", content="x")).status_code == 200
    [after] = await flow.rows("grants")
    assert (after["id"], after["vault"], after["created"]) == (before["id"], before["vault"], before["created"])


@pytest.mark.parametrize("act", ACTS, ids=lambda act: f"{act.toolset} {act.name}")
async def test_sec_109_a_stream_is_refused_before_it_begins(held, act):
    token = held.credential("oauth", act.toolset, frozenset(Scope) - {act.needs})
    answer = await held.ask(act, token, accept="text/event-stream")
    assert (answer.status_code, answer.headers["content-type"]) == (403, "application/json")
    assert challenge(answer)["error"] == "insufficient_scope"


async def test_sec_109_for_the_named_hosts_the_stream_is_the_marked_error_and_nothing_else(flow):
    app = await flow.another("https://chatgpt.com/connector_platform_oauth_redirect")
    token = (await app.tokens(READ))["access_token"]
    async with flow.program(authorization=f"Bearer {token}") as http:
        call = modern("tools/call", name="store_memory", arguments={"content": "x"})
        answer = await post(http, call, accept="text/event-stream")
    [frame] = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    assert json.loads(frame.removeprefix("data: "))["result"]["isError"] is True


# One table


def test_sec_110_everything_that_is_served_has_a_row():
    served = {act.name for act in ACTS}
    assert served <= set(SCOPES)
    assert {tool for act in ACTS if act.method == "tools/call" for tool in [act.name]} == set(ARGUMENTS)


@pytest.mark.parametrize("act", ACTS, ids=lambda act: f"{act.toolset} {act.name}")
async def test_sec_110_what_has_no_row_is_refused_to_all(held, act, monkeypatch):
    monkeypatch.delitem(SCOPES, act.name)
    before = await state(held.flow)
    for form in ("oauth", "key"):
        answer = await held.ask(act, held.credential(form, act.toolset, frozenset(Scope)))
        assert answer.status_code >= 400
        assert "result" not in answer.json()
    assert await state(held.flow) == before


OTHERS = ["prompts/get", "completion/complete", "resources/subscribe", "logging/setLevel", "tasks/get", "unheard/of"]


@pytest.mark.parametrize("method", OTHERS)
async def test_sec_110_no_other_method_gives_anything(held, method):
    token = held.credential("oauth", "vault", frozenset())
    async with held.flow.program(authorization=f"Bearer {token}") as http:
        answer = await post(http, modern(method, name="store_memory", uri="memory://vault/recent"))
    assert "boathouse" not in answer.text
    assert "error" in answer.json()


@pytest.mark.parametrize("toolset", TOOLSETS)
async def test_sec_110_a_tool_of_the_other_set_is_no_tool_here(held, toolset):
    """Not even the challenge of one."""
    token = held.credential("oauth", toolset, frozenset(Scope))
    for act in (one for one in ACTS if one.toolset != toolset):
        async with held.flow.program(authorization=f"Bearer {token}") as http:
            answer = await post(http, act.message(), PATHS[toolset])
        assert answer.status_code == 400
        assert "error" in answer.json()


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("act", ACTS, ids=lambda act: f"{act.toolset} {act.name}")
async def test_sec_111_a_right_changes_what_it_is_for_and_nothing_else(held, act, scope):
    """Reading changes nothing: how often it was done is counted elsewhere, apart from what is stored."""
    vaults, control = await state(held.flow)
    answer = await held.ask(act, held.credential("key", act.toolset, frozenset({scope})))
    assert answer.status_code == (200 if scope == act.needs else 403)
    await held.flow.app.counting.flush()
    now, control_now = await state(held.flow)
    assert control_now == control
    if scope != act.needs or scope == Scope.READ:
        assert now == vaults


async def test_sec_111_what_stores_writes_and_what_removes_deletes(held):
    """By what it does to the vault, not by what it is called."""
    who = replace(OWNER, vault=(await held.flow.app.vaults.named(OWNER, "Boathouse")).id)
    for act in ACTS:
        await held.flow.app.memories.store(who, text=f"about {act.name}")
        before = (await held.flow.app.status.of(who)).memories
        await held.ask(act, held.credential("key", act.toolset, frozenset({act.needs})))
        after = (await held.flow.app.status.of(who)).memories
        if after > before:
            assert act.needs == Scope.WRITE
        if after < before:
            assert act.needs == Scope.DELETE
