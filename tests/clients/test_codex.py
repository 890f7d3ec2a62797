"""What Codex makes of the connections that a person adds to it."""

import tomllib
from urllib.parse import urlsplit

import pytest

from tests.clients.codex import codex, configure, sign_in
from tests.clients.people import READ, WRITE, Person, connections, questions
from tests.clients.programs import ARCHIVIST, installed, run
from tests.clients.visits import Errand, Fact, Signed

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


async def test_adding_a_server_without_a_key_signs_in_at_once(aged, tmp_path):
    env = await configure(Signed(aged.server.url, Person()), tmp_path)
    assert configured(tmp_path) == ("archivist", {"url": aged.server.url})
    assert "OAuth" in await run([installed("codex"), "mcp", "list"], env)
    [question] = questions(tmp_path)
    to = urlsplit(question.parameters["redirect_uri"])
    assert (to.scheme, to.hostname, to.path) == ("http", "127.0.0.1", "/callback")


async def test_signing_in_once_more_for_more_rights_widens_the_same_connection(aged, tmp_path):
    target, fact = Signed(aged.server.url, Person((READ, f"{READ} {WRITE}"))), Fact()
    refused = await codex(Errand(target, [fact.storing, fact.asking], tmp_path, look=False))
    assert "Insufficient scope" in refused.answers[0]
    [before] = await connections(aged.server.data, tmp_path)
    await sign_in(target, tmp_path, READ, WRITE)
    [now] = await connections(aged.server.data, tmp_path)
    assert (now.id, before.scopes, now.scopes) == (before.id, {READ}, {READ, WRITE})
    stored = await codex(Errand(target, [fact.storing, fact.asking], tmp_path, look=False))
    assert fact.phrase in stored.answers[1]
