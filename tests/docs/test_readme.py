"""Everything that the README shows is done here, as it is written there."""

import json
import tomllib

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from archivist.cli.main import COMMANDS
from archivist.mcp.toolsets import VAULT
from archivist.settings import FILE, Settings, load
from tests.docs.pages import README, blocks, table

pytestmark = pytest.mark.anyio

BY_THE_FIXTURE = ("make run", "make test", "export MEMORY_KEY=")
"""Blocks that the `desk` runs, and the one that is running now."""

LINES = [block for block in blocks(README, "sh") if not block.text.startswith(BY_THE_FIXTURE)]
CLAUDE_CODE = [block for block in LINES if block.heading == "Claude Code"]
FILES = [block for language in ("toml", "json") for block in blocks(README, language) if block.heading != "Settings"]
FACT = "The spare key of the boathouse hangs behind the blue oar."


@pytest.fixture
def stderr(tmp_path):
    with (tmp_path / "stderr").open("w") as file:
        yield file


def _servers(block):
    """The servers that a client's configuration names; Codex's TOML and Cursor's JSON differ in the outer name."""
    parsed = tomllib.loads(block.text) if block.language == "toml" else json.loads(block.text)
    return parsed.get("mcp_servers") or parsed["mcpServers"]


async def _remembers(client):
    stored = await client.call_tool("store_memory", {"content": FACT})
    found = await client.call_tool("search_memories", {"query": "Where does the boathouse key hang?"})
    return not stored.is_error and FACT in json.dumps(found.structured_content)


def test_the_two_commands_come_first():
    assert [block.text for block in blocks(README, "sh")[:2]] == ["make run\n", "make test\n"]


def test_make_run_says_how_to_see_it_remember(desk):
    assert ".venv/bin/archivist prove" in desk.greeting


def test_the_key_is_one_that_reads_and_writes(desk):
    made = json.loads(desk.run(".venv/bin/archivist keys list --json"))
    assert desk.environment["MEMORY_KEY"].startswith(made[0]["start"])
    assert made[0]["scopes"] == ["memories:read", "memories:write"]


@pytest.mark.parametrize("block", LINES, ids=lambda block: f"{block.heading}: {block.text.splitlines()[0][:60]}")
def test_every_shell_line_works_as_written(desk, block, tmp_path):
    desk.run(block.text, home=tmp_path)


def test_prove_finds_what_it_stored(desk):
    said = desk.run(next(block.text for block in LINES if "prove" in block.text))
    assert "Found:   nothing" not in said
    assert "Found:   " in said


@pytest.mark.parametrize("block", CLAUDE_CODE, ids=lambda b: "http" if "http" in b.text else "stdio")
def test_claude_code_reports_a_healthy_connection(desk, block, tmp_path):
    desk.run(block.text, home=tmp_path)
    assert "Connected" in desk.run("claude mcp list", home=tmp_path)


def test_the_inspector_lists_the_tools(desk, tmp_path):
    listed = desk.run(next(block.text for block in LINES if block.heading == "MCP Inspector"), home=tmp_path)
    assert all(f'"{tool.name}"' in listed for tool in VAULT)


@pytest.mark.parametrize("block", [b for b in FILES if '"http' in b.text], ids=lambda b: f"{b.heading} over HTTP")
async def test_a_client_configured_with_an_address_stores_and_finds(desk, block):
    [server] = _servers(block).values()
    header = server.get("headers", {}).get("Authorization") or f"Bearer ${{env:{server['bearer_token_env_var']}}}"
    key = header.replace("${env:MEMORY_KEY}", desk.environment["MEMORY_KEY"])
    async with (
        httpx2.AsyncClient(headers={"Authorization": key}, timeout=30) as http,
        Client(streamable_http_client(desk.text(server["url"]), http_client=http)) as client,
    ):
        assert await _remembers(client)


@pytest.mark.parametrize("block", [b for b in FILES if "stdio" in b.text], ids=lambda b: f"{b.heading} over stdio")
async def test_a_client_configured_with_a_command_stores_and_finds(desk, block, stderr):
    [server] = _servers(block).values()
    command = StdioServerParameters(
        command=desk.text(server["command"]), args=server["args"], env=desk.environment | {"MEMORY_KEY": ""}
    )
    async with Client(stdio_client(command, errlog=stderr)) as client:
        assert await _remembers(client)


def test_every_client_block_is_connected_with():
    assert len([b for b in FILES if '"http' in b.text or "stdio" in b.text]) == len(FILES) == 4


def test_the_table_of_settings_is_complete_and_right():
    def shown(value):
        return str(value).lower() if isinstance(value, bool) else str(value or "" if value != 0 else 0)

    real = {f"ARCHIVIST_{name.upper()}": (shown(f.default), f.description) for name, f in Settings.model_fields.items()}
    real["ARCHIVIST_DATA"] = ("the folder above", Settings.model_fields["data"].description)
    assert {name: (default, meaning) for name, default, meaning in table(README, "setting")} == real


def test_the_settings_file_that_is_shown_is_read(tmp_path):
    [block] = [block for block in blocks(README, "toml") if block.heading == "Settings"]
    (tmp_path / FILE).write_text(block.text)
    read = load({}, data=tmp_path)
    assert {name: getattr(read, name) for name in ("port", "log_level")} == {"port": 8765, "log_level": "info"}
    assert read.allowed_origins == ("https://app.example.org",)


def test_the_table_of_commands_is_complete():
    assert {command for command, _ in table(README, "command")} == {f"archivist {name}" for name in COMMANDS}


def test_the_table_of_tools_is_complete():
    assert {tool for tool, _ in table(README, "tool")} == {tool.name for tool in VAULT}
