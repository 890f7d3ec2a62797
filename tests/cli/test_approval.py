"""`archivist vaults approval`, and what stdio answers in a vault in which an owner is asked."""

import json
import subprocess

import pytest

from archivist.app import OWNER
from tests.cli.inside import entered, inside
from tests.cli.test_commands import out
from tests.cli.test_mistakes import line
from tests.cli.test_stdio import call, process
from tests.people import arrived

pytestmark = pytest.mark.anyio
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}
MAY_DELETE = ("--scopes", "read,write,delete")
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
EMPTY_IT = {"name": "forget_all_memories", "arguments": {"confirmation": "DELETE ALL MEMORIES"}}


def shown(typed) -> dict[str, str]:
    return {one["name"]: one["approval"] for one in json.loads(out(typed("vaults", "list", "--json")))}


def test_nobody_is_asked_at_first_and_the_choice_is_listed(typed):
    out(typed("vaults", "create", "garden"))
    assert shown(typed) == {"garden": "off"}
    for wanted, said in (("on", "on a page or in the client"), ("page", "on a page only"), ("off", "nobody is asked")):
        assert said in out(typed("vaults", "approval", "Garden", wanted))
        assert shown(typed) == {"garden": wanted}


def test_a_vault_or_an_answer_that_does_not_exist_is_refused(typed):
    out(typed("vaults", "create", "garden"))
    assert "no vault of that name" in line(typed("vaults", "approval", "nope", "on"))
    assert typed("vaults", "approval", "garden", "sometimes").returncode == 2
    assert shown(typed) == {"garden": "off"}


def test_a_vault_says_the_choice_when_it_is_made(typed):
    assert json.loads(out(typed("vaults", "create", "garden", "--json")))["approval"] == "off"


async def test_stdio_waits_until_an_owner_has_approved(archivist):
    async with inside(archivist) as app:
        vault = (await app.local()).vault
        ana = await arrived(app, "Ana")
        await app.approvals.choose(OWNER, vault, "on")
        with process(archivist, *MAY_DELETE, **PIPES) as served:

            def ask(message: bytes):
                served.stdin.write(message)
                served.stdin.flush()
                return json.loads(served.stdout.readline())

            ask(call(1, "store_memory", content="the blue oar"))
            phrase = EMPTY_IT["arguments"]["confirmation"]
            error = ask(call(2, "forget_all_memories", confirmation=phrase))["result"]["structuredContent"]["error"]
            assert error["code"] == "approval_required"
            who = await entered(app, ana.user)
            await app.approvals.approve(who, vault, error["approval_url"].rpartition("/")[2])
            done = ask(call(3, "forget_all_memories", confirmation=phrase))["result"]["structuredContent"]
            assert (done["deleted"], done["memories_deleted"]) == (True, 1)


async def test_stdio_asks_in_place_if_the_client_can(archivist):
    async with inside(archivist) as app:
        vault = (await app.local()).vault
        await app.approvals.choose(OWNER, vault, "on")
        with process(archivist, *MAY_DELETE, **PIPES) as served:

            def ask(id, **more):
                params = {**EMPTY_IT, "_meta": MODERN, **more}
                message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
                served.stdin.write(json.dumps(message).encode() + b"\n")
                served.stdin.flush()
                return json.loads(served.stdout.readline())

            asked = ask(1)["result"]
            assert asked["resultType"] == "input_required"
            answer = {"requestState": asked["requestState"], "inputResponses": {"approval": {"action": "accept"}}}
            assert ask(2, **answer)["result"]["structuredContent"]["deleted"]
            assert ask(3, **answer)["error"]["code"] == -32602
