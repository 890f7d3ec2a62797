"""What clients do to a stdio server that no page of the specification shows, against the real process."""

import json

import pytest

from tests.clients.lines import MODERN, answers, by_id, initialize, legacy, modern, raw
from tests.clients.visits import Fact

pytestmark = pytest.mark.anyio


def call(make, id, tool):
    name, arguments = tool
    return make(id, "tools/call", name=name, arguments=arguments)


async def test_a_handshake_pipelined_behind_a_probe_is_answered_too(server, tmp_path):
    """Claude Code sends it when the answer to its probe takes long."""
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    hello = initialize(0, "2025-11-25")
    probed = modern("probe", "server/discover")
    found = await answers(server.local(), tmp_path, probed, hello, initialized, legacy(1, "tools/list"))
    assert MODERN in found["probe"]["result"]["supportedVersions"]
    assert found[0]["result"]["protocolVersion"] == "2025-11-25"
    assert len(found[1]["result"]["tools"]) == 10


async def test_one_process_serves_both_eras_side_by_side(server, tmp_path):
    fact = Fact()
    stored = await answers(server.local(), tmp_path, initialize(0, "2025-06-18"), call(legacy, 1, fact.storing))
    assert "resultType" not in stored[1]["result"]
    asked = [call(modern, 1, fact.asking), initialize(2, "2025-03-26"), call(legacy, 3, fact.asking)]
    found = await answers(server.local(), tmp_path, *asked)
    assert found[1]["result"]["resultType"] == "complete"
    assert all(fact.phrase in json.dumps(found[id]) for id in (1, 3))


async def test_a_line_of_garbage_costs_only_itself(server, tmp_path):
    lines = [b"Hello?", b"\xff\xfe", b"", legacy(1, "ping"), b'{"jsonrpc":"2.0","id":2,', modern(3, "tools/list")]
    out, _ = await raw(server.local(), tmp_path, *lines)
    messages = [json.loads(line) for line in out]
    assert sorted(message["error"]["code"] for message in messages if message.get("id") is None) == [-32700] * 3
    assert by_id([line for line in out if json.loads(line).get("id") is not None]).keys() == {1, 3}


async def test_what_was_asked_before_the_input_ended_is_done_and_answered(server, tmp_path):
    fact = Fact()
    stored = await answers(server.local(), tmp_path, call(modern, 1, fact.storing))
    assert stored[1]["result"]["structuredContent"]["stored"] is True
    found = await answers(server.local(), tmp_path, call(modern, 1, fact.asking))
    assert fact.phrase in json.dumps(found[1])


async def test_an_input_that_ends_at_once_ends_the_process(server, tmp_path):
    assert (await raw(server.local(), tmp_path))[0] == []


async def test_many_requests_at_once_are_each_answered_once(server, tmp_path):
    facts = [Fact() for _ in range(6)]
    asked = [call(modern, fact.place, fact.storing) for fact in facts]
    asked += [modern(id, "tools/list") for id in range(8)] + [legacy(f"ping {id}", "ping") for id in range(8)]
    stored = await answers(server.local(), tmp_path, *asked)
    assert all(stored[fact.place]["result"]["structuredContent"]["stored"] for fact in facts)
    assert stored.keys() == {message["id"] for message in asked}
    found = await answers(server.local(), tmp_path, *[call(modern, fact.place, fact.asking) for fact in facts])
    assert [fact.phrase in json.dumps(found[fact.place]) for fact in facts] == [True] * 6


STRAY = """
import os, threading

class Talkative(threading.Thread):
    def start(self):
        print("a stray print", flush=True)
        os.write(1, b"a stray write\\n")
        super().start()

threading.Thread = Talkative
"""
"""Prints whenever a thread starts: each of those that read the input, open the data and answer."""


async def test_a_stray_print_of_a_dependency_does_not_reach_the_protocol(server, tmp_path):
    fact = Fact()
    (tmp_path / "sitecustomize.py").write_text(STRAY)
    out, said = await raw(server.local(), tmp_path, call(modern, 1, fact.storing), PYTHONPATH=str(tmp_path))
    assert [json.loads(line)["id"] for line in out] == [1]
    assert said.count("a stray write") > 1
    assert "a stray print" in said
