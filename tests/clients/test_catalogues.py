"""What clients keep of a server is the same, byte for byte, from every process and over both transports."""

import httpx2
import pytest

from tests.clients.lines import MODERN, legacy, modern, raw

pytestmark = pytest.mark.anyio

METHODS = ["server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"]


@pytest.fixture
async def posted(server):
    """The answers of the HTTP server to the same messages."""
    asked = [
        (modern(f"modern {method}", method), {"MCP-Protocol-Version": MODERN, "Mcp-Method": method})
        for method in METHODS
    ]
    asked += [(legacy(f"legacy {method}", method), {"MCP-Protocol-Version": "2025-11-25"}) for method in METHODS[1:]]
    bearer = {"Authorization": f"Bearer {server.web().key}"}
    async with httpx2.AsyncClient(headers=bearer, timeout=60) as http:
        return {(await http.post(server.url, json=body, headers=headers)).content for body, headers in asked}


@pytest.fixture
async def piped(server, tmp_path):
    """The lines of two processes that were asked for every catalogue, in both eras; ids name the request."""
    asked = [modern(f"modern {method}", method) for method in METHODS]
    asked += [legacy(f"legacy {method}", method) for method in METHODS[1:]]
    return [set((await raw(server.local(), tmp_path, *asked))[0]) for _ in range(2)]


async def test_two_processes_and_both_transports_give_the_same_bytes(posted, piped):
    assert piped == [posted, posted]
    assert len(posted) == 2 * len(METHODS) - 1
