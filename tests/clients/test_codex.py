"""What Codex makes of the connections that a person adds to it."""

import tomllib

import pytest

from tests.clients.codex import configure
from tests.clients.programs import ARCHIVIST, installed, run

pytestmark = pytest.mark.anyio


def configured(home):
    [found] = tomllib.loads((home / ".codex" / "config.toml").read_text())["mcp_servers"].items()
    return found


async def test_a_connection_with_a_key_is_kept_without_the_key(server, tmp_path):
    env = await configure(server.web(), tmp_path)
    assert configured(tmp_path) == ("archivist", {"url": server.url, "bearer_token_env_var": "MEMORY_KEY"})
    listed = await run([installed("codex"), "mcp", "list"], env)
    assert "enabled" in listed
    assert "Bearer token" in listed


async def test_a_connection_over_stdio_is_a_command(server, tmp_path):
    await configure(server.local(), tmp_path)
    assert configured(tmp_path) == (
        "archivist",
        {"command": str(ARCHIVIST), "args": ["stdio", "--data", str(server.data)]},
    )
