"""One promise, kept for every real client: it connects, sees what there is, and finds what an earlier one stored.

How each of them is driven stands in the module that it comes from.
"""

from dataclasses import dataclass

import anyio
import pytest

from tests.clients.claude_code import claude_code
from tests.clients.codex import codex
from tests.clients.inspector import inspector
from tests.clients.sdks import mcp_remote, python, typescript
from tests.clients.serving import Server
from tests.clients.visits import Errand, Fact, Target, Visit, Visitor, Web

TOOLS = [
    "search_memories", "date_search_memories", "store_memory", "memory_status", "forget_all_memories",
    "consolidate_memories", "commit_reflections", "inspect_memory", "delete_memories", "search",
]  # fmt: skip
RESOURCES = ["memory://vault/stats", "memory://vault/recent"]
MODERN, LEGACY = "2026-07-28", "2025-11-25"


@dataclass(frozen=True, slots=True)
class Client:
    """A client and what to expect of it.

    revision: what it must tell that it negotiated; "" for clients that do not tell.
    first: the method that it begins with over HTTP, which tells the era; "" for a bridge, which begins by its own.
    ordered: whether it keeps the order in which the tools are listed.
    """

    visit: Visitor
    revision: str = ""
    first: str = ""
    ordered: bool = True


CLIENTS = {
    "python modern": Client(python("auto"), MODERN, "server/discover"),
    "python legacy": Client(python("legacy"), LEGACY, "initialize"),
    "typescript v1": Client(typescript("v1.mjs", "legacy"), LEGACY, "initialize"),
    "typescript v2 modern": Client(typescript("v2.mjs", "auto"), MODERN, "server/discover"),
    "typescript v2 legacy": Client(typescript("v2.mjs", "legacy"), LEGACY, "initialize"),
    "inspector modern": Client(inspector("auto"), MODERN, "server/discover"),
    "inspector legacy": Client(inspector("legacy"), LEGACY, "initialize"),
    "claude code": Client(claude_code, first="server/discover", ordered=False),
    "codex": Client(codex, first="initialize", ordered=False),
    "mcp-remote modern": Client(mcp_remote("auto"), MODERN),
    "mcp-remote legacy": Client(mcp_remote("legacy"), LEGACY),
}
ONLY_HTTP = {"mcp-remote modern", "mcp-remote legacy", "inspector modern"}
CASES = [(name, "http") for name in CLIENTS] + [(name, "stdio") for name in CLIENTS if name not in ONLY_HTTP]


@dataclass(frozen=True, slots=True)
class Seen:
    """Two visits: the first stored the fact and looked around, the second is a new client with a home of its own."""

    client: Client
    target: Target
    fact: Fact
    stored: Visit
    found: Visit


@pytest.fixture(scope="module", params=CASES, ids=" over ".join)
def seen(request: pytest.FixtureRequest, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    name, transport = request.param
    client, fact = CLIENTS[name], Fact()
    target = server.web() if transport == "http" else server.local()
    stored = anyio.run(client.visit, Errand(target, [fact.storing], tmp_path_factory.mktemp("home"), look=True))
    found = anyio.run(client.visit, Errand(target, [fact.asking], tmp_path_factory.mktemp("home"), look=False))
    return Seen(client, target, fact, stored, found)


def test_it_lists_the_ten_tools_in_their_order(seen):
    if seen.client.ordered:
        assert seen.stored.tools == TOOLS
    else:
        assert sorted(seen.stored.tools) == sorted(TOOLS)


def test_it_negotiates_the_newest_revision_that_it_speaks(seen, server):
    assert seen.stored.revision == seen.client.revision
    if isinstance(seen.target, Web) and seen.client.first:
        assert server.methods(seen.target)[0] == seen.client.first


def test_it_lists_and_reads_the_resources(seen):
    assert seen.stored.resources == RESOURCES
    assert "totalMemories" in seen.stored.read


def test_what_it_stored_is_found_by_a_fresh_connection(seen):
    assert seen.fact.phrase not in seen.stored.answers[0]
    assert seen.fact.phrase in seen.found.answers[0]
