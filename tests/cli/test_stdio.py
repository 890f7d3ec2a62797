"""`archivist stdio` on pipes that behave oddly."""

import json
import os
import subprocess
import sys

import pytest

from archivist.app import OWNER
from archivist.domain.access import LOCAL_OWNER
from tests.cli.inside import inside
from tests.people import arrived, joined

pytestmark = pytest.mark.anyio
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def process(archivist, *more, **streams):
    words = [sys.executable, "-m", "archivist", "stdio", "--data", str(archivist.data), *more]
    return subprocess.Popen(words, stderr=subprocess.PIPE, env=archivist.environment, **streams)


def call(id, tool, **arguments):
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode() + b"\n"


def test_pipes_that_do_not_wait_are_served_like_others(archivist):
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    for end in (their_in, their_out):
        os.set_blocking(end, False)
    with process(archivist, stdin=their_in, stdout=their_out) as served, os.fdopen(our_in, "rb") as answers:
        os.close(their_in)
        os.close(their_out)
        with os.fdopen(our_out, "wb") as feed:
            for _ in range(2):  # the second one comes when nothing waits to be read any more
                feed.write(PING)
                feed.flush()
                assert json.loads(answers.readline() or b"{}").get("result") == {}
        assert served.wait(60) == 0


def test_a_client_that_reads_no_more_ends_the_server_without_a_word(archivist):
    with process(archivist, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as served:
        served.stdout.close()
        served.stdin.write(PING)
        served.stdin.flush()
        assert served.wait(60) == 0
        assert served.stderr.read() == b""


@pytest.mark.parametrize("letter", ["\x85", "\u2028", "\u2029"], ids=ascii)
def test_no_answer_holds_a_letter_at_which_readers_of_lines_break_it(archivist, letter):
    text = f"before{letter}after"
    lines = call(1, "store_memory", content=text)
    assert archivist("stdio", stdin=lines).returncode == 0
    said = archivist("stdio", stdin=call(1, "search_memories", query="before")).stdout.decode()
    assert len(said.splitlines()) == 1
    assert json.loads(said)["result"]["structuredContent"]["results"][0]["text"] == text


async def test_sec_047_a_running_stdio_loses_rights_with_the_role_of_its_person(archivist):
    async with inside(archivist) as app:
        await app.vaults.create(OWNER, "Work", "project")
        mine = await app.local("Work")
        await arrived(app, "Ana")
        other = await joined(app, mine, await arrived(app, "Bo"), mine.vault, "owner")
        with process(archivist, "--vault", "Work", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as served:

            def ask(id):
                served.stdin.write(call(id, "store_memory", content="the blue oar"))
                served.stdin.flush()
                return json.loads(served.stdout.readline())["result"]

            assert not ask(1).get("isError")
            await app.members.set_role(other, mine.vault, LOCAL_OWNER, "viewer")
            refused = ask(2)
            assert refused["isError"]
            assert "memories:write" in json.dumps(refused)
            await app.members.set_role(other, mine.vault, LOCAL_OWNER, "member")
            assert not ask(3).get("isError")
            served.stdin.close()
