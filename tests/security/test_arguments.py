"""What a call may carry beside what its tool takes, and how what is wrong is named."""

import pytest

from tests.faces.mcp.talking import legacy, modern, post

pytestmark = pytest.mark.anyio

UNKNOWN = "0193b000-0000-7000-8000-000000000001"
CALLS = [
    ("store_memory", {"content": "Another fact."}),
    ("search_memories", {"query": "peanuts"}),
    ("date_search_memories", {"from": "2026-01-01"}),
    ("memory_status", {}),
    ("search", {"query": "peanuts"}),
    ("inspect_memory", {"memory_id": UNKNOWN}),
    ("delete_memories", {"memory_ids": [UNKNOWN], "confirmation": "DELETE SELECTED MEMORIES"}),
    ("forget_all_memories", {"confirmation": "DELETE ALL MEMORIES"}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
@pytest.mark.parametrize("empty", ["", None])
async def test_an_argument_that_the_tool_does_not_have_is_refused_even_if_it_is_empty(me, tool, arguments, empty):
    await me.store("Ana is allergic to peanuts.")
    refused = await me.error(tool, **arguments, vault=empty)
    assert (refused["code"], refused["field"]) == ("invalid_argument", "vault")
    assert await me.total() == 1


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"name": 5}, "params.name"),
        ({}, "params.name"),
        ({"name": "memory_status", "arguments": []}, "params.arguments"),
        ({"name": "memory_status", "arguments": "x"}, "params.arguments"),
        ({"name": "memory_status", "_meta": "x"}, "params._meta"),
        ({"name": "memory_status", "_meta": {"progressToken": {}}}, "params._meta"),
    ],
)
async def test_a_parameter_of_another_form_is_named(me, params, named):
    answer = (await post(me.http, legacy("tools/call", **params))).json()
    assert answer["error"]["code"] == -32602
    assert answer["error"]["message"].startswith(f"{named}: ")


@pytest.mark.parametrize(
    "moment",
    ["1" * 5000, "11111111x1111", "2026-01-01x12:00", "2026-01-01T12:00\u0660", "2026-01-01T12:00:00Z; x", "T12:00"],
)
async def test_what_only_resembles_a_moment_is_refused(me, moment):
    for field in ("from", "to"):
        refused = await me.error("date_search_memories", **{"from": "2026-01-01", field: moment})
        assert (refused["field"], moment[:20] in refused["message"]) == (field, False)


@pytest.mark.parametrize(
    "moment",
    ["2026-01-01T12:00:00.123456Z", "2026-01-01 12:00", "20260101T120000+0100", "2026-01-01t12:00:00,5+01:00"],
)
async def test_each_spelling_of_a_moment_is_read(me, moment):
    assert (await me.structured("date_search_memories", **{"from": moment}))["count"] == 0


async def test_a_vault_named_beside_the_arguments_changes_nothing(me, stranger):
    await stranger.store("What others know.")
    smuggled = {"vault": "other", "vault_id": "other", "scopes": ["memories:delete"]}
    request = modern("tools/call", name="memory_status", arguments={}, _meta=smuggled, **smuggled)
    answer = (await post(me.http, request)).json()
    assert answer["result"]["structuredContent"]["totalMemories"] == 0
