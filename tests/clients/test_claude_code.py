"""What Claude Code says about the connections that a person adds to it."""

from dataclasses import replace

import pytest

from tests.clients.claude_code import configure, health

pytestmark = pytest.mark.anyio


async def test_a_connection_with_a_key_is_healthy(server, tmp_path):
    await configure(server.web(), tmp_path)
    assert f"{server.url} (HTTP) - ✔ Connected" in await health(tmp_path)


async def test_a_connection_over_stdio_is_healthy(server, tmp_path):
    await configure(server.local(), tmp_path)
    assert "✔ Connected" in await health(tmp_path)


async def test_a_connection_with_a_wrong_key_is_not(server, tmp_path):
    await configure(replace(server.web(), key="mk_wrong"), tmp_path)
    said = await health(tmp_path)
    assert server.url in said
    assert "✔" not in said
