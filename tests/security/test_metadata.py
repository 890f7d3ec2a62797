"""The documents that lead to this server: where they stand, what they say, and that a request cannot change it."""

from typing import Any

import httpx2
import pytest
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

from archivist.domain.errors import Refused
from archivist.oauth.metadata import RESOURCES, SERVERS
from archivist.settings import load
from tests.security.signing_in import HERE, LOOPBACK, READ, Flow, answered, opened
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow
from tests.security.test_resources import challenge

pytestmark = pytest.mark.anyio

SERVER = "/.well-known/oauth-authorization-server"
RESOURCE = "/.well-known/oauth-protected-resource"
PUBLIC, LOCAL = "https://memory.example.org", "127.0.0.1:8765"


async def asked(flow: Flow, path: str, *headers: tuple[str, str], method: str = "GET", host: str = LOCAL) -> Any:
    """One request with exactly this Host and these headers."""
    transport = httpx2.ASGITransport(app=flow.hall.server, client=("192.0.2.9", 1), raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=HERE) as http:
        given = [(name.encode(), value.encode()) for name, value in (("host", host), *headers)]
        return await http.request(method, path, headers=given)


ODD_HEADERS = [
    ("forwarded", "host=evil.example;proto=https"),
    ("x-forwarded-host", "evil.example"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-port", "1"),
    ("x-forwarded-prefix", "/evil"),
    ("x-forwarded-for", "203.0.113.9"),
    ("x-original-host", "evil.example"),
    ("x-original-url", "/evil"),
    ("x-host", "evil.example"),
    ("origin", "https://evil.example"),
    ("referer", "https://evil.example/"),
]
ODD_HOSTS = [
    "evil.example", "", " ", "127.0.0.1:8766", "127.0.0.1", "127.0.0.1.", "127.0.0.1:08765", "127.0.0.1:8765.",
    "127.0.0.1:8765@evil.example", "evil.example@127.0.0.1:8765", "127.0.0.1:8765, evil.example", "localhost.:8765",
    "LOCALHOST:8765", "[::1]:08765", "[::1%lo]:8765", "127.1:8765", "0x7f.1:8765", "127.0.0.1:+8765",
    "127.0.0.1:８７６５",
    "127.0.0.1:8765/evil", "127.0.0.1:8765#x", "127.0.0.1:8765\t",
]  # fmt: skip


@pytest.mark.parametrize("public", ["", PUBLIC], ids=["loopback", "public"])
async def test_sec_079_no_header_changes_a_document_or_a_challenge(tmp_path, clock, public):
    settings = {"public_url": public} if public else {}
    async with opened(tmp_path / "data", clock, **settings) as flow:
        for path in (SERVER, RESOURCE, f"{RESOURCE}/mcp", f"{RESOURCE}/mcp/coding"):
            plain = await asked(flow, path)
            for header in ODD_HEADERS:
                assert (await asked(flow, path, header)).text == plain.text
        plain = await asked(flow, "/mcp", method="POST")
        for header in ODD_HEADERS:
            answer = await asked(flow, "/mcp", header, method="POST")
            assert answer.status_code == 403 or answer.headers["www-authenticate"] == plain.headers["www-authenticate"]
        link = (await flow.ask(state="x")).headers.get("location", "")
        assert "evil" not in link


@pytest.mark.parametrize("host", ODD_HOSTS, ids=range(len(ODD_HOSTS)))
async def test_sec_079_an_odd_host_is_refused_or_answered_with_the_same_bytes(flow, host):
    for path in (SERVER, f"{RESOURCE}/mcp"):
        plain, odd = await asked(flow, path), await asked(flow, path, host=host)
        assert (odd.status_code, odd.text == plain.text) in ((421, False), (200, True))


@pytest.mark.parametrize(
    "host", ["memory.example.org", "MEMORY.example.org", "memory.example.org:443", "127.0.0.1:8765"]
)
async def test_sec_079_whatever_the_host_says_the_public_address_is_the_configured_one(tmp_path, clock, host):
    async with opened(tmp_path / "data", clock, public_url=PUBLIC) as flow:
        document = (await asked(flow, f"{RESOURCE}/mcp", host=host)).json()
        assert (document["resource"], document["authorization_servers"]) == (f"{PUBLIC}/mcp", [PUBLIC])
        server = (await asked(flow, SERVER, host=host)).json()
        assert {server[name].startswith(f"{PUBLIC}/oauth/") for name in server if name.endswith("_endpoint")} == {True}


@pytest.mark.parametrize("host", ["localhost:8765", "[::1]:8765", "127.0.0.1:8765"])
async def test_sec_079_on_this_computer_the_host_selects_one_of_three_names(flow, host):
    document = (await asked(flow, f"{RESOURCE}/mcp", host=host)).json()
    assert document["resource"] == f"http://{host}/mcp"
    assert (await flow.ask(resource=document["resource"])).status_code == 200


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize(("path", "about"), RESOURCES.items())
async def test_sec_080_the_document_of_a_resource_stands_where_it_is_looked_for(flow, path, about, slash):
    document = (await asked(flow, path + slash)).json()
    assert document["resource"] == f"{HERE}{about}"
    assert document["authorization_servers"] == [HERE]
    assert document["bearer_methods_supported"] == ["header"]
    assert document["scopes_supported"] == [READ]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/coding"])
async def test_sec_080_the_challenge_leads_to_the_document_of_the_address_that_gave_it(flow, path):
    pointed = challenge(await asked(flow, path, method="POST"))["resource_metadata"]
    assert pointed == f"{HERE}{RESOURCE}{path}"
    assert (await asked(flow, pointed.removeprefix(HERE))).json()["resource"] == f"{HERE}{path}"


async def test_sec_080_a_strict_client_library_reads_both_documents(flow):
    for path in RESOURCES:
        ProtectedResourceMetadata.model_validate_json((await asked(flow, path)).content)
    for path in SERVERS:
        found = OAuthMetadata.model_validate_json((await asked(flow, path)).content)
        assert str(found.issuer).rstrip("/") == HERE


async def test_sec_081_the_document_of_the_server_says_what_there_is(flow):
    document = (await asked(flow, SERVER)).json()
    assert document == {
        "issuer": HERE,
        "authorization_endpoint": f"{HERE}/oauth/authorize",
        "token_endpoint": f"{HERE}/oauth/token",
        "revocation_endpoint": f"{HERE}/oauth/revoke",
        "registration_endpoint": f"{HERE}/oauth/register",
        "scopes_supported": ["memories:read", "memories:write", "memories:reflect", "memories:delete"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        "revocation_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
    }
    texts = {(await asked(flow, path + slash)).text for path in SERVERS for slash in ("", "/")}
    assert len(texts) == 1


@pytest.mark.parametrize("scope", ["memories:read", "memories:write", "memories:reflect", "memories:delete"])
async def test_sec_082_every_announced_scope_can_be_had(flow, scope):
    assert (await flow.tokens(scope, scope=scope))["scope"] == scope


async def test_sec_082_what_is_announced_works_and_its_neighbour_does_not(flow):
    """The values themselves are driven by the tests of each endpoint: here the announcement is held against them."""
    document = (await asked(flow, SERVER)).json()
    for kind in (*document["response_types_supported"], "token"):
        assert ((await flow.ask(response_type=kind)).status_code == 200) is (kind == "code")
    for mode in (*document["response_modes_supported"], "fragment"):
        assert ((await flow.ask(response_mode=mode)).status_code == 200) is (mode == "query")
    for method in (*document["code_challenge_methods_supported"], "plain"):
        assert ((await flow.ask(code_challenge_method=method)).status_code == 200) is (method == "S256")
    for kind in (*document["grant_types_supported"], "client_credentials"):
        answer = await flow.call("/oauth/token", {"grant_type": kind, "client_id": flow.client})
        assert (answer.json()["error"] == "unsupported_grant_type") is (kind == "client_credentials")
    for method in (*document["token_endpoint_auth_methods_supported"], "private_key_jwt"):
        answer = await flow.register(redirect_uris=[LOOPBACK], token_endpoint_auth_method=method)
        assert answer.json()["token_endpoint_auth_method"] == "none"
    assert answered(await flow.ask(scope="memories:admin"))["error"] == "invalid_scope"


@pytest.mark.parametrize(
    ("setting", "announced"),
    [
        ({"registration": False}, "registration_endpoint"),
        ({"client_documents": False}, "client_id_metadata_document_supported"),
    ],
)
async def test_sec_082_what_is_switched_off_is_not_announced(tmp_path, clock, setting, announced):
    async with opened(tmp_path / "data", clock, **setting) as flow:
        assert announced not in (await asked(flow, SERVER)).json()


@pytest.mark.parametrize("path", [*RESOURCES, *SERVERS])
async def test_sec_083_documents_are_read_by_anybody_and_kept_for_an_hour(flow, path):
    for method in ("GET", "HEAD"):
        answer = await asked(flow, path, ("origin", "https://any.example"), ("cookie", "a=b"), method=method)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
        assert answer.headers["cache-control"] == "public, max-age=3600"
        assert "set-cookie" not in answer.headers
        assert answer.headers["content-type"] == "application/json"
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert (await asked(flow, path, method=method)).status_code == 405


@pytest.mark.parametrize(
    "url", ["http://memory.example.org", "http://192.0.2.1", "http://127.0.0.1.evil.example", "ftp://x"]
)
def test_sec_084_a_public_address_without_https_is_refused(url):
    with pytest.raises(Refused, match="public_url"):
        load({"ARCHIVIST_PUBLIC_URL": url})


@pytest.mark.parametrize(
    "url", ["https://memory.example.org", "http://127.0.0.1:8765", "http://localhost:8765", "http://[::1]:8765"]
)
def test_sec_084_https_and_this_computer_are_fine(url):
    assert load({"ARCHIVIST_PUBLIC_URL": url}).origin == url
