"""The routes beside the MCP endpoint: health, metadata, and readable answers for everything else."""

import httpx2
import pytest

from archivist.domain.errors import Unavailable
from archivist.http.site import Site
from archivist.oauth.metadata import SERVERS
from archivist.server import Door, asgi, plain_routes, site_of
from archivist.settings import Settings
from tests.faces.mcp.talking import HERE, client

pytestmark = pytest.mark.anyio


@pytest.fixture
async def http(server):
    async with client(server, key=None) as http:
        yield http


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])
async def test_the_resource_metadata_names_the_exact_address_and_reading_only(http, path):
    answer = await http.get(path, headers={"mcp-protocol-version": "2024-11-05"})
    assert answer.status_code == 200
    document = answer.json()
    assert document["resource"] == f"{HERE}/mcp"
    assert document["authorization_servers"] == [HERE]
    assert document["scopes_supported"] == ["memories:read"]
    assert document["bearer_methods_supported"] == ["header"]


async def test_the_public_address_is_named_whatever_the_host(app, tmp_path):
    settings = Settings(data=tmp_path, public_url="https://memory.example.org", host="127.0.0.1")
    async with client(asgi(app, settings), key=None) as http:
        document = (await http.get("/.well-known/oauth-protected-resource")).json()
        challenge = (await http.get("/mcp")).headers["www-authenticate"]
    assert document["resource"] == "https://memory.example.org/mcp"
    assert document["authorization_servers"] == ["https://memory.example.org"]
    assert 'resource_metadata="https://memory.example.org/.well-known/oauth-protected-resource/mcp"' in challenge


async def test_the_challenge_leads_to_a_document_that_is_served(http):
    challenge = (await http.post("/mcp")).headers["www-authenticate"]
    address = challenge.partition('resource_metadata="')[2].partition('"')[0]
    assert (await http.get(address)).json()["resource"] == f"{HERE}/mcp"


@pytest.mark.parametrize("path", [*SERVERS])
async def test_the_authorization_server_is_described_wherever_clients_look(http, path):
    answer = await http.get(path, headers={"mcp-protocol-version": "2024-11-05"})
    assert answer.status_code == 200
    assert answer.json()["issuer"] == HERE


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"]
)
async def test_metadata_is_readable_by_pages_of_any_origin(http, path):
    for answer in (
        await http.get(path, headers={"origin": "https://anywhere.example"}),
        await http.options(
            path, headers={"origin": "https://anywhere.example", "access-control-request-method": "GET"}
        ),
    ):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in answer.headers


async def test_health_needs_no_key_and_is_not_for_other_origins(http):
    answer = await http.get("/health", headers={"origin": "https://anywhere.example"})
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "access-control-allow-origin" not in answer.headers


class Damaged:
    """An application whose data does not answer."""

    def __init__(self, app):
        self._app = app

    def __getattr__(self, name):
        return getattr(self._app, name)

    async def check(self) -> None:
        raise Unavailable("control.db cannot be read")


async def test_health_is_bad_when_the_data_does_not_answer(app):
    site = Site()
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=Door(site, {}, plain_routes(Damaged(app), site, Settings()))), base_url=HERE
    ) as http:
        answer = await http.get("/health")
    assert (answer.status_code, answer.json()["detail"]) == (503, "control.db cannot be read")


async def test_an_unknown_path_says_where_to_go(http):
    answer = await http.get("/nothing")
    assert answer.status_code == 404
    assert "/mcp" in answer.json()["error"]["message"]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_method_that_is_not_served_says_so(http, method):
    assert (await http.request(method, "/health")).status_code == 405


def test_sec_144_the_default_is_to_listen_and_answer_on_loopback_only():
    assert Settings().host == "127.0.0.1"
    assert site_of(Settings()).loopback
    assert site_of(Settings(host="::1")).loopback
    assert not site_of(Settings(host="0.0.0.0")).loopback


@pytest.mark.parametrize("asked", [("text/html", "text/html"), ("*/*", "application/json")])
async def test_sec_231_what_nobody_foresaw_is_a_short_answer_with_an_id_that_the_log_knows(
    app, server, monkeypatch, capsys, asked
):
    accept, kind = asked
    said = "the secret of /some/place in a SELECT"

    async def broken(*_args, **_kwargs):
        raise RuntimeError(said)

    async with client(server, key=None) as http:
        monkeypatch.setattr(type(app.accounts), "is_set_up", broken)
        answer = await http.get("/sign-in", headers={"accept": accept})
    assert answer.status_code == 500
    assert answer.headers["content-type"].startswith(kind)
    reference = answer.headers["x-request-id"]
    assert reference in answer.text
    assert not any(word in answer.text for word in ("secret", "SELECT", "/some/place", "Traceback", "archivist/"))
    logged = "".join(capsys.readouterr())
    assert reference in logged
    assert "the secret" not in logged
