"""The stdio face: one message a line, both eras at once, and nothing but protocol on standard output."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from io import FileIO
from typing import Any

import anyio
import pytest

from archivist.domain.access import Scope
from archivist.domain.limits import BODY_BYTES
from archivist.mcp import stdio
from archivist.mcp.registry import Registry
from archivist.mcp.rpc import name_of
from tests.conformance.fixtures.registry import registry
from tests.faces.mcp.talking import MODERN, legacy, modern

pytestmark = pytest.mark.anyio


async def opened() -> None:
    """The fixtures need nothing."""


async def said(lines: Sequence[Any], served: Registry | None = None) -> dict[Any, Any]:
    """What a process answers to these lines, by id; lines that are not bytes are written as JSON."""
    written = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    with FileIO(their_in) as source, FileIO(their_out, "w") as sink, FileIO(our_in) as answers:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stdio.converse, served or registry(), opened, source, sink)
            with FileIO(our_out, "w") as feed:
                await anyio.to_thread.run_sync(feed.write, written)
        sink.close()
        found = [json.loads(line) for line in answers.readall().splitlines()]
    return {one.get("id") if isinstance(one, dict) else "batch": one for one in found}


def discover(id: int) -> Any:
    return modern("server/discover", id)[0]


def initialize(id: int, version: str) -> Any:
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    return legacy("initialize", id=id, **hello)[0]


async def test_both_eras_are_answered_in_one_conversation_in_any_order():
    answers = await said([discover(1), initialize(2, "2025-06-18"), discover(3), legacy("ping", id=4)[0]])
    assert answers[1]["result"] == answers[3]["result"]
    assert MODERN in answers[1]["result"]["supportedVersions"]
    assert answers[2]["result"]["protocolVersion"] == "2025-06-18"
    assert answers[4]["result"] == {}


async def test_a_probe_without_the_modern_envelope_is_answered_so_that_the_client_falls_back():
    answers = await said([{"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}])
    assert answers[1]["error"]["code"] == -32601


@pytest.mark.parametrize("line", [b"{", b"\xff", b'{"a":1,"a":2}', b"NaN", b"[" * 40 + b"]" * 40])
async def test_a_line_that_cannot_be_read_is_answered_and_the_next_one_too(line):
    answers = await said([line, legacy("ping", id=7)[0]])
    assert answers[None]["error"]["code"] == -32700
    assert answers[7]["result"] == {}


async def test_a_line_over_the_limit_is_refused_and_the_next_one_answered():
    answers = await said([b'"' + b"x" * (2 * BODY_BYTES) + b'"', legacy("ping", id=7)[0]])
    assert answers[None]["error"]["code"] == -32700
    assert answers[7]["result"] == {}


async def test_blank_lines_are_passed_over():
    assert await said([b"", b"  \r", legacy("ping", id=1)[0]]) == {1: {"jsonrpc": "2.0", "id": 1, "result": {}}}


async def test_what_came_before_the_end_is_finished():
    slow = modern("tools/call", 1, name="test_tool_with_progress", arguments={})[0]
    assert "result" in (await said([slow]))[1]


async def test_a_batch_is_answered_once_the_handshake_chose_its_revision():
    calls = [legacy("ping", id=2)[0], {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    refused = await said([calls])
    assert refused[None]["error"]["code"] == -32600
    assert (await said([initialize(1, "2025-03-26"), calls]))["batch"] == [{"jsonrpc": "2.0", "id": 2, "result": {}}]


class Waiting:
    """Fixtures whose ping waits until it is let go, and tells when it was reached or stopped."""

    def __init__(self, scope: Scope | None) -> None:
        self.reached, self.go, self.stopped = anyio.Event(), anyio.Event(), False
        served = registry()
        handler = served.server.get_request_handler("ping")
        served.server.add_request_handler("ping", handler.params_type, self._ping)
        self.registry = replace(served, needs=lambda message: scope if name_of(message) == "held" else None)

    async def _ping(self, _ctx: object, _params: object) -> dict[str, Any]:
        self.reached.set()
        try:
            await self.go.wait()
        except BaseException:
            self.stopped = True
            raise
        return {}


async def cancelled_while_waiting(scope: Scope | None) -> tuple[Waiting, bytes]:
    """Sends a ping that waits, cancels it, asks something else, lets the ping go. Returns also what was answered."""
    waiting = Waiting(scope)
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    with FileIO(their_in) as source, FileIO(their_out, "w") as sink, FileIO(our_in) as answers:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stdio.converse, waiting.registry, opened, source, sink)
                with FileIO(our_out, "w") as feed:
                    feed.write(json.dumps(legacy("ping", id=1, name="held")[0]).encode() + b"\n")
                    await waiting.reached.wait()
                    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
                    feed.write(json.dumps(cancel).encode() + b"\n")
                    feed.write(json.dumps(legacy("tools/call", id=2, name="test_simple_text")[0]).encode() + b"\n")
                    first = await anyio.to_thread.run_sync(answers.read, 65_536)
                    waiting.go.set()
        sink.close()
        return waiting, first + answers.readall()


async def test_a_cancelled_request_that_only_reads_is_stopped_and_not_answered():
    waiting, answered = await cancelled_while_waiting(Scope.READ)
    assert waiting.stopped
    assert [json.loads(line)["id"] for line in answered.splitlines()] == [2]


async def test_a_cancelled_request_that_writes_is_finished_because_half_of_it_must_not_happen():
    waiting, answered = await cancelled_while_waiting(Scope.WRITE)
    assert not waiting.stopped
    assert [json.loads(line)["id"] for line in answered.splitlines()] == [2, 1]


async def test_nothing_but_protocol_reaches_standard_output():
    program = """
import os, sys, anyio
from archivist.mcp import stdio, vault
async def opened():
    return None
with stdio.protocol_streams() as (source, sink):
    print("stray")
    os.write(1, b"from C code")
    os.system("echo from a child; cat")
    sys.stdout.flush()
    anyio.run(stdio.converse, vault.registry(), opened, source, sink)
"""
    line = json.dumps(discover(1)).encode() + b"\n"
    done = await anyio.run_process([sys.executable, "-c", program], input=line)
    assert [json.loads(one)["id"] for one in done.stdout.splitlines()] == [1]
    assert b"from C code" in done.stderr
