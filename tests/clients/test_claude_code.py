"""What Claude Code says about the connections that a person adds to it."""

from dataclasses import replace

import pytest

from tests.clients.claude_code import claude_code, configure, health, sign_in
from tests.clients.people import READ, WRITE, Person, connections, questions
from tests.clients.visits import Errand, Fact, Signed

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


async def test_a_connection_that_was_signed_in_for_is_healthy(aged, tmp_path):
    await configure(Signed(aged.server.url, Person()), tmp_path)
    assert f"{aged.server.url} (HTTP) - ✔ Connected" in await health(tmp_path)


async def test_after_a_refusal_the_next_sign_in_asks_for_both_rights(aged, tmp_path):
    """It gives its old tokens back first, so that whether the connection goes on depends on its other homes."""
    target, fact = Signed(aged.server.url, Person((READ, f"{READ} {WRITE}"))), Fact()
    refused = await claude_code(Errand(target, [fact.storing], tmp_path, look=False))
    assert "needs additional permissions" in refused.answers[0]
    assert "Authenticated" in await sign_in(target, tmp_path)
    _, question = questions(tmp_path)
    [connection] = await connections(aged.server.data, tmp_path)
    assert question.parameters["scope"] == f"{READ} {WRITE}"
    assert connection.scopes == {READ, WRITE}
    stored = await claude_code(Errand(target, [fact.storing, fact.asking], tmp_path, look=False))
    assert fact.phrase in stored.answers[1]
