"""The tutorial, block after block: commands in a shell, and what an assistant asks through a client."""

import json
import os
import pty
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.cli.chatting import ChatServer, good
from tests.docs.conftest import START_SECONDS, Desk
from tests.docs.pages import ROOT, Block, blocks
from tests.docs.shown import Ids, filled_in, is_shown, learned

pytestmark = pytest.mark.anyio

TUTORIAL = ROOT / "docs" / "tutorial" / "reflection.md"
SAMPLE = ROOT / "docs" / "tutorial" / "a-year.jsonl"
MODEL = "http://127.0.0.1:11434"
"""Where the page says that a model of the reader's own listens."""

CARRIED = "\n.venv/bin/python -c \"import json, os; json.dump(dict(os.environ), open('carried', 'w'))\""
"""Keeps for the next block what this one exported."""


@dataclass(frozen=True, slots=True)
class Step:
    """A block, and what the page says that it prints: the block of plain text behind it, if there is one."""

    block: Block
    printed: str


def steps() -> list[Step]:
    """What the page does, in its order, but for the server, which runs already."""
    shown = blocks(TUTORIAL, "sh", "json", "text")
    pairs = zip(shown, [*shown[1:], Block("", "", "")], strict=True)
    found = [Step(one, after.text if after.language == "text" else "") for one, after in pairs]
    return [step for step in found if step.block.language != "text" and step.block.text != "make run\n"]


def run_by_a_person(desk: Desk, shown: str) -> str:
    """The same as Desk.run, at a terminal, where somebody says yes."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"y\n")
        done = subprocess.run(
            ["sh", "-e", "-c", desk.text(shown)],
            cwd=desk.folder,
            env=desk.environment,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0, done.stdout
    return done.stdout


@asynccontextmanager
async def connected(desk: Desk) -> AsyncIterator[Client]:
    """A new connection by the key of the page."""
    headers = {"Authorization": f"Bearer {desk.environment['MARA_KEY']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=START_SECONDS) as http,
        Client(streamable_http_client(f"{desk.origin}/mcp", http_client=http)) as client,
    ):
        yield client


async def asked(desk: Desk, exchange: dict[str, Any], ids: Ids) -> Ids:
    """Ask what the page shows, and compare the answer with it; the ids that are known then."""
    async with connected(desk) as client:
        done = await client.call_tool(exchange["tool"], filled_in(exchange["arguments"], ids))
    assert not done.is_error, done.content
    found = learned(exchange["answer"], done.structured_content, ids)
    assert found is not None, json.dumps(done.structured_content, indent=2, ensure_ascii=False)
    return found


async def test_every_block_does_what_the_page_shows(desk):
    (desk.folder / "docs").symlink_to(ROOT / "docs")
    ids: Ids = {}
    with ChatServer(good(text="Mara decided something in the autumn of 2025")) as model:
        for step in steps():
            text = step.block.text.replace(MODEL, model.url)
            if step.block.language == "json":
                ids = await asked(desk, json.loads(text), ids)
                continue
            said = run_by_a_person(desk, text) if " forget " in text else desk.run(text + CARRIED)
            assert not step.printed or is_shown(step.printed, said), said
            if " forget " not in text:
                desk = replace(desk, environment=json.loads((desk.folder / "carried").read_text()))
    assert len(model.asked) == 1


def test_the_tools_of_the_cycle_are_all_shown():
    shown = {json.loads(block.text)["tool"] for block in blocks(TUTORIAL, "json")}
    assert {
        "memory_status", "consolidate_memories", "commit_reflections", "search_memories", "inspect_memory",
        "delete_memories", "forget_all_memories",
    } <= shown  # fmt: skip


def test_the_sample_comes_out_of_a_vault_as_it_went_in(desk):
    desk.run(
        f".venv/bin/archivist vaults create Twin\n.venv/bin/archivist import --vault Twin {SAMPLE}\n"
        ".venv/bin/archivist export --vault Twin --output twin.jsonl"
    )
    assert (desk.folder / "twin.jsonl").read_bytes() == SAMPLE.read_bytes()


def test_the_sample_is_a_year_in_several_languages():
    lines = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 200
    assert {line["event"][:4] for line in lines} == {"2025"}
    assert all(any(re.search(letters, line["text"]) for line in lines) for letters in ("[ãç]", "[äöüß]", "[一-龥]"))


def test_what_a_page_shows_is_compared_strictly_but_for_what_it_leaves_out():
    assert learned({"a": ["…", {"id": "…00af"}]}, {"a": [1, {"id": "x"}], "b": 2}, {}) == {"…00af": "x"}
    assert learned(["…00af", "…00af"], ["x", "y"], {}) is None
    assert learned({"a": 1}, {"a": True}, {}) is None
    assert learned([1], [1, 2], {}) is None
    assert is_shown("a … c\n", "a b\nb c \n")
    assert not is_shown("a\n", "a\nb\n")
