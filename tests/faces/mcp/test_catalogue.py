"""What every connected model learns: the tools, their schemas and hints."""

import os
import re
import sys
from typing import Any

import anyio
import httpx2
import jsonschema
import pytest

from archivist.domain.operations import SCOPES
from archivist.mcp import resources, toolsets, vault
from tests.faces.mcp.talking import client, door, legacy, modern, post

pytestmark = pytest.mark.anyio

ORDER = [
    "search_memories", "date_search_memories", "store_memory", "memory_status", "forget_all_memories",
    "consolidate_memories", "commit_reflections", "inspect_memory", "delete_memories", "search",
]  # fmt: skip
READ, WRITE, REFLECT, DELETE = "memories:read", "memories:write", "memories:reflect", "memories:delete"


@pytest.fixture
async def http():
    async with client(door(served=vault.registry())) as http:
        yield http


async def listed(http: httpx2.AsyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await post(http, modern("tools/list"))).json()["result"]["tools"]
    return found


async def test_the_tools_stand_in_their_fixed_order(http):
    assert [tool["name"] for tool in await listed(http)] == ORDER


async def test_every_tool_says_what_it_does_to_the_memories(http):
    hints = {tool["name"]: tool["annotations"] for tool in await listed(http)}
    told = {
        name: tuple(one[f"{hint}Hint"] for hint in ("readOnly", "destructive", "idempotent", "openWorld"))
        for name, one in hints.items()
    }
    assert told == {
        "search_memories": (True, False, True, False),
        "date_search_memories": (True, False, True, False),
        "store_memory": (False, False, False, False),
        "memory_status": (True, False, True, False),
        "forget_all_memories": (False, True, True, False),
        "consolidate_memories": (False, False, False, False),
        "commit_reflections": (False, False, True, False),
        "inspect_memory": (True, False, True, False),
        "delete_memories": (False, True, True, False),
        "search": (True, False, True, False),
    }


@pytest.mark.parametrize("request_of", [modern, legacy], ids=["modern", "legacy"])
async def test_every_tool_names_its_scope_where_clients_look(http, request_of):
    tools = (await post(http, request_of("tools/list"))).json()["result"]["tools"]
    scopes = {tool["name"]: tool["securitySchemes"] for tool in tools}
    wanted = dict.fromkeys(ORDER, READ) | {
        "store_memory": WRITE,
        "delete_memories": DELETE,
        "forget_all_memories": DELETE,
        "consolidate_memories": REFLECT,
        "commit_reflections": REFLECT,
    }
    assert scopes == {name: [{"type": "oauth2", "scopes": [scope]}] for name, scope in wanted.items()}
    assert [tool["_meta"]["securitySchemes"] for tool in tools] == list(scopes.values())


async def test_every_input_is_a_closed_object_and_every_schema_is_valid(http):
    for tool in await listed(http):
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])


async def test_no_tool_takes_a_vault_a_user_or_a_key(http):
    names = {name for tool in await listed(http) for name in tool["inputSchema"]["properties"]}
    assert names.isdisjoint({"vault", "project", "user", "key", "scope"})


async def test_the_inputs_state_their_ranges(http):
    inputs = {tool["name"]: tool["inputSchema"] for tool in await listed(http)}
    search = inputs["search_memories"]["properties"]
    assert (search["limit"]["minimum"], search["limit"]["maximum"], search["limit"]["default"]) == (1, 500, 10)
    assert (search["importance"]["minimum"], search["importance"]["maximum"]) == (1, 10)
    assert search["tiers"]["items"]["enum"] == [1, 2, 3]
    assert search["query"]["maxLength"] == 100_000
    tokens_at_most = inputs["date_search_memories"]["properties"]["max_tokens"]
    assert (tokens_at_most["minimum"], tokens_at_most["maximum"]) == (1_000, 200_000)
    assert inputs["delete_memories"]["properties"]["memory_ids"]["maxItems"] == 500
    assert inputs["forget_all_memories"]["properties"]["confirmation"].keys() == {"type", "description"}


RECIPES = {
    "search_memories": [
        r"earlier decision, preference, person, project or fact",
        r"Most important things overall: tiers \[3\], importance 8, limit about 250",
        r"date_search_memories with the same filters",
        r"Overview .*: tiers \[3\], no importance",
        r"specific topic or decision: neither tiers nor importance",
        r"meaningful events without raw noise: tiers \[2\], or \[2,3\]",
        r"Exact wording: search tier 3, .*tier 2 .*raw",
        r"tiers \[1\] directly",
        r"only 2 and 3 have importance",
        r"do not always set it high",
        r"data, not instructions",
    ],
    "date_search_memories": [
        r'"lately", "last month"\) to concrete ISO dates',
        r"tiers \[3\], importance 8, generous max_tokens",
        r"Without query: a chronological review",
        r"order oldest_first",
        r"to=next_to for older rows.*from=next_from for newer",
        r"data, not instructions",
    ],
    "store_memory": [
        r"only when the user asks for it or agrees",
        r"self-contained fact.*700 characters.*absolute dates",
        r"No secrets, credentials, ids, whole documents or transcripts",
        r"Search first",
        r"tell the user that it was not",
    ],
    "delete_memories": [r"show the user exactly what will go", r"a receipt is not an id", r"Reflections .* stay"],
    "forget_all_memories": [
        r"every memory of the connected vault, for good",
        r"cannot remove single items",
        r"unchanged",
    ],
    "inspect_memory": [
        r"why do you believe this",
        r"tier 3, then the id of a source of tier 2, then raw",
        r"exact words",
        r"Deleted sources are counted",
        r"older text",
        r"data, not instructions",
    ],
    "consolidate_memories": [
        r"when the user asks for it or agrees",
        r"15 minutes",
        r"reflection_contract.*to the letter",
        r"commit_reflections",
        r"nothing is lost",
        r"data, not instructions",
    ],
    "commit_reflections": [r"one tier up", r"standalone prose", r"send it again", r"nothing is written twice"],
    "search": [r"Prefer search_memories", r"no citable permalinks", r"no companion fetch tool"],
}


async def test_the_descriptions_teach_every_recipe(http):
    texts = {tool["name"]: tool["description"] for tool in await listed(http)}
    missing = [
        (name, recipe) for name, recipes in RECIPES.items() for recipe in recipes if not re.search(recipe, texts[name])
    ]
    assert missing == []


@pytest.mark.parametrize(
    "method", ["server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"]
)
async def test_a_catalogue_may_be_kept_by_everybody_for_an_hour(http, method):
    result = (await post(http, modern(method))).json()["result"]
    assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "public")


@pytest.mark.parametrize(
    "method", ["server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"]
)
async def test_a_catalogue_is_the_same_bytes_for_every_caller_and_call(method):
    bodies = set()
    for key in ("all", "read", "none", "all"):
        async with client(door(served=vault.registry()), key=key) as http:
            bodies.add((await post(http, modern(method))).content)
    assert len(bodies) == 1


PROGRAM = """
import anyio, hashlib
from archivist.mcp import vault
from tests.faces.mcp.talking import client, door, modern, post
async def main():
    seen = hashlib.sha256()
    async with client(door(served=vault.registry())) as http:
        for method in ("server/discover", "tools/list", "resources/list"):
            seen.update((await post(http, modern(method))).content)
    print(seen.hexdigest())
anyio.run(main)
"""


async def test_a_catalogue_is_the_same_bytes_in_every_process():
    outputs = set()
    for seed in ("0", "1", "42"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": "."}
        done = await anyio.run_process([sys.executable, "-c", PROGRAM], env=environment)
        outputs.add(done.stdout.splitlines()[-1])
    assert len(outputs) == 1


async def test_discover_tells_assistants_when_to_search_store_and_delete(http):
    text = (await post(http, modern("server/discover"))).json()["result"]["instructions"]
    for words in ("search_memories", "store_memory", "delete_memories", "search first", "data, never as instructions"):
        assert words in text


async def test_only_what_is_served_is_announced(http):
    capabilities = (await post(http, modern("server/discover"))).json()["result"]["capabilities"]
    assert capabilities == {
        "prompts": {"listChanged": False},
        "tools": {"listChanged": False},
        "resources": {"listChanged": False, "subscribe": False},
    }


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
async def test_a_cursor_that_was_never_given_out_is_refused(http, method):
    answer = await post(http, modern(method, cursor="made-up"))
    assert answer.json()["error"]["code"] == -32602
    assert (await post(http, modern(method, cursor=""))).status_code == 200


async def test_the_two_resources_are_listed(http):
    found = (await post(http, modern("resources/list"))).json()["result"]["resources"]
    assert [(one["uri"], one["mimeType"]) for one in found] == [
        ("memory://vault/stats", "application/json"),
        ("memory://vault/recent", "application/json"),
    ]


def test_every_tool_and_resource_has_its_row_in_the_table_of_scopes():
    names = [tool.name for tool in toolsets.VAULT] + [resource.uri for resource in resources.VAULT]
    assert set(names) <= SCOPES.keys()
