"""What the catalogue costs every connected model, in every conversation."""

import json

import pytest

from archivist.mcp import vault
from tests.conformance.counting import tokens
from tests.faces.mcp.talking import client, door, modern, post

pytestmark = pytest.mark.anyio

BUDGET = 3_500
"""o200k tokens for the whole result of `tools/list`."""


async def test_the_whole_list_of_tools_stays_within_its_budget_of_tokens():
    async with client(door(served=vault.registry())) as http:
        result = (await post(http, modern("tools/list"))).json()["result"]
    assert tokens(json.dumps(result, ensure_ascii=False, separators=(",", ":"))) <= BUDGET


def test_tokens_are_counted_as_the_vocabulary_has_them():
    assert [tokens(text) for text in ("", "hello world", "antidisestablishmentarianism", "記憶")] == [0, 2, 6, 3]
