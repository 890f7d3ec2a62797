"""`archivist prove`: a fact stored on one connection is found on another, shown on a real server."""

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import click
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from archivist.app import App
from archivist.cli.options import data_option, json_option, opened, settings_of
from archivist.cli.serve import address
from archivist.domain.access import Principal, Scope
from archivist.domain.errors import Refused
from archivist.services.deletion import DELETE_SELECTED
from archivist.settings import Settings

T = TypeVar("T")
START_SECONDS = 60
ANIMALS = ("heron", "badger", "lynx", "plover", "marten", "osprey", "gecko", "walrus", "ibis", "stoat")
PLACES = ("lighthouse", "observatory", "boathouse", "windmill", "planetarium", "belfry", "orangery", "smokehouse")


@dataclass(frozen=True, slots=True)
class Proof:
    """The steps with their milliseconds, in order, and what was found."""

    phrase: str
    steps: list[tuple[str, float]] = field(default_factory=list)

    async def step(self, what: str, work: Awaitable[T]) -> T:
        """Do `work`, and note how long it took."""
        begin = perf_counter()
        result = await work
        self.steps.append((what, (perf_counter() - begin) * 1000))
        return result


@click.command("prove")
@click.option("--url", help="The origin of a running server on this data; default: the configured one, else a new one.")
@json_option
@data_option
def prove_command(url: str | None, as_json: bool, data: Path | None) -> None:
    """Store a random phrase on one connection and find it on a second one that shares nothing with the first.

    Uses the running server, or starts one for the moment. Removes what it stored. Exit code 0: it was found.
    """
    settings = settings_of(data=data)
    place, animal = secrets.choice(PLACES), secrets.choice(ANIMALS)
    proof = Proof(f"{animal}-{secrets.token_hex(4)}")
    sentence = f"Whoever is locked out of the {place} gets a second key from the gardener for saying {proof.phrase}."
    question = f"What is the password to be let into the {place}?"
    found, note = asyncio.run(_prove(settings, url, proof, sentence, question))
    if as_json:
        steps = [{"step": what, "ms": round(ms, 1)} for what, ms in proof.steps]
        click.echo(json.dumps({"found": found, "phrase": proof.phrase, "note": note, "steps": steps}))
    else:
        _print(proof, sentence, question, found=found, note=note)
    sys.exit(0 if found else 1)


async def _prove(settings: Settings, url: str | None, proof: Proof, sentence: str, question: str) -> tuple[bool, str]:
    async with opened(settings) as app:
        who = await app.local()
        writer, write_key = await app.keys.create(who, name="proof, first connection", scopes=frozenset({Scope.WRITE}))
        reader, read_key = await app.keys.create(who, name="proof, second connection", scopes=frozenset({Scope.READ}))
        try:
            async with _server(settings, url, read_key, proof) as origin:
                await proof.step("wait for the model", _model_settled(origin, read_key))
                await proof.step("store on the first connection", _store(origin, write_key, sentence))
                answer = await proof.step("ask on the second connection", _ask(origin, read_key, question))
        finally:
            await proof.step("remove the trace", _remove(app, who, proof.phrase, [writer.id, reader.id]))
    texts = [row["text"] for row in answer["results"]]
    return any(proof.phrase in text for text in texts), answer.get("note", "")


async def _model_settled(origin: str, key: str) -> None:
    """Return once the server's model is ready or known to be away; at most START_SECONDS."""
    async with _connection(origin, key) as client:
        for _ in range(5 * START_SECONDS):
            status = (await client.call_tool("memory_status", {})).structured_content
            if not isinstance(status, dict) or status.get("search", {}).get("state") != "preparing":
                return
            await asyncio.sleep(0.2)


async def _store(origin: str, key: str, sentence: str) -> None:
    async with _connection(origin, key) as client:
        stored = await client.call_tool("store_memory", {"content": sentence, "tags": ["proof"]})
        if stored.is_error:
            raise Refused(f"the store was refused: {stored.structured_content}")


async def _ask(origin: str, key: str, question: str) -> dict[str, Any]:
    async with _connection(origin, key) as client:
        found = await client.call_tool("search_memories", {"query": question})
        if found.is_error or not isinstance(found.structured_content, dict):
            raise Refused(f"the search was refused: {found.structured_content}")
        return found.structured_content


async def _remove(app: App, who: Principal, phrase: str, keys: list[str]) -> None:
    ids = [memory.id for memory in await app.memories.recent(who, 100) if phrase in memory.text]
    if ids:
        await app.deletion.delete(who, ids, DELETE_SELECTED)
    for key in keys:
        await app.keys.forget(who, key)


@asynccontextmanager
async def _connection(origin: str, key: str) -> AsyncIterator[Client]:
    """A client of its own: own sockets, own key, nothing in common with any other."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http,
        Client(streamable_http_client(f"{origin}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def _server(settings: Settings, url: str | None, key: str, proof: Proof) -> AsyncIterator[str]:
    """The origin of a server that knows `key`: the one that runs, else one for the moment."""
    running = (url or address(settings)).rstrip("/").removesuffix("/mcp")
    if await proof.step("look for a running server", _knows(running, key)):
        yield running
        return
    if url is not None:
        raise Refused(f"no server at {url} serves this data folder; leave --url out to start one for the moment")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "archivist", "serve", "--data", str(settings.data)),
        *("--host", "127.0.0.1", "--port", "0", "--public-url", ""),  # its own address, whatever the settings say
        "--no-set-up-link",
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield await proof.step("start a server for the moment", asyncio.wait_for(_origin_of(process), START_SECONDS))
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def _knows(origin: str, key: str) -> bool:
    """Whether a server at `origin` accepts a key of this data folder."""
    try:
        async with httpx2.AsyncClient(timeout=5) as http:
            answer = await http.get(f"{origin}/mcp", headers={"Authorization": f"Bearer {key}"})
    except httpx2.HTTPError:
        return False
    return answer.status_code == httpx2.codes.METHOD_NOT_ALLOWED


async def _origin_of(process: asyncio.subprocess.Process) -> str:
    """What the server says of its address when it is ready."""
    said = ""
    while process.stderr and (line := (await process.stderr.readline()).decode()):
        said = line.strip() or said
        if "MCP address: " in line:
            return line.partition("MCP address: ")[2].strip().removesuffix("/mcp")
    raise Refused(f"the server did not start: {said}")


def _print(proof: Proof, sentence: str, question: str, *, found: bool, note: str) -> None:
    click.echo(f"Stored:  {sentence}\nAsked:   {question}")
    click.echo(f"Found:   {proof.phrase}" if found else "Found:   nothing that holds the phrase")
    for what, ms in proof.steps:
        click.echo(f"  {ms:8.1f} ms  {what}")
    if note:
        click.echo(note)
