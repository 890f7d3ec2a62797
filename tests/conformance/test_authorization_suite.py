"""The official conformance suite against the authorization server of a real `archivist serve`.

Its second scenario prints the address at which a person is to sign in, and waits for the answer on a port of its own.
"""

import json
import os
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

from tests.clients.people import Person, browser
from tests.clients.programs import SECONDS, environment
from tests.clients.serving import Server, running
from tests.conformance.test_official_suite import NODE, SUITE

pytestmark = pytest.mark.anyio

QUESTION = "/oauth/authorize?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("conformance") / "data", 'embedder = "none"\n') as server:
        yield server


def a_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


async def registered(issuer: str, port: int) -> str:
    """The id of an app that waits on that port."""
    async with httpx2.AsyncClient(timeout=SECONDS) as http:
        asked = {"client_name": "Conformance", "redirect_uris": [f"http://127.0.0.1:{port}/callback"]}
        answer = await http.post(f"{issuer}/oauth/register", json=asked)
    return str(answer.json()["client_id"])


async def run_suite(issuer: str, home: Path, *more: str) -> set[str]:
    """How each check went. As soon as the suite prints where to sign in, a person does so."""
    port = a_free_port()
    command = [NODE, SUITE, "authorization", "--url", issuer, "--client-id", await registered(issuer, port)]
    command += ["-p", port, "-o", home / "results", *more]
    opening = browser(Person(), home)
    with anyio.fail_after(SECONDS):
        async with await anyio.open_process([str(part) for part in command], env=environment(home)) as suite:
            async for line in lines(suite):
                if QUESTION in line:
                    await anyio.run_process([opening["BROWSER"], line.strip()], env={**os.environ, **opening})
    assert suite.returncode == 0
    return checked(home / "results")


def checked(results: Path) -> set[str]:
    """Each check and how it went."""
    checks = [check for path in results.glob("*/checks.json") for check in json.loads(path.read_text())]
    return {f"{check['id']} {check['status']}" for check in checks}


async def lines(process: Process) -> AsyncIterator[str]:
    """What a process prints, line by line, while it runs."""
    assert process.stdout
    begun = ""
    async for text in TextReceiveStream(process.stdout):
        *whole, begun = (begun + text).split("\n")
        for line in whole:
            yield line


@pytest.mark.parametrize("naming", [True, False], ids=["with a resource", "without a resource"])
async def test_the_authorization_server_passes_both_scenarios(server, tmp_path, naming):
    more = ["--resource", server.url] if naming else []
    assert await run_suite(server.url.removesuffix("/mcp"), tmp_path, *more) == {
        "authorization-server-metadata SUCCESS",
        "authorization-server-metadata-cimd SUCCESS",
        "authorization-code-grant SUCCESS",
    }
