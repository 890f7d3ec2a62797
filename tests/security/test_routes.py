"""Every route as the outside can reach it: from which origins, in which form, by which spelling, from which address."""

from dataclasses import replace
from ipaddress import ip_network
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest

from archivist.domain.access import ALL_SCOPES
from archivist.http import peers
from archivist.http.site import Site
from archivist.oauth.metadata import RESOURCES, SERVERS
from tests.security.signing_in import OUTSIDE, REGISTER, REVOKE, TOKEN, Answer, Flow, opened
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow

pytestmark = pytest.mark.anyio

LISTED, FOREIGN = "https://app.example.com", "https://evil.example"
ORIGINS = [LISTED, FOREIGN, "null", "https://app.example.com.evil.example", "http://127.0.0.1:8765", None]
MEMORY = "/v1/memory/0193b000-0000-7000-8000-000000000001"
SHARED = [TOKEN, REVOKE, REGISTER, *RESOURCES, *SERVERS]
OURS = ["/oauth/authorize", "/sign-in", "/app/connections", "/set-up/x", "/invitation/x", "/recovery/x", "/health",
        "/v1/keys", MEMORY, "/static/archivist.css", "/nothing/here"]  # fmt: skip


def shared_with(answer: Answer) -> str | None:
    """The origin that may read an answer. Never with cookies."""
    assert "access-control-allow-credentials" not in answer.headers
    found: str | None = answer.headers.get("access-control-allow-origin")
    assert found is None or "origin" in answer.headers["vary"].lower()
    return found


async def reached(flow: Flow, path: str, origin: str | None) -> list[Answer]:
    """A question first, then the plain requests, each with that Origin."""
    headers = {"origin": origin} if origin is not None else {}
    asked = {**headers, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    plain = [await flow.request(method, path, headers=headers) for method in ("GET", "POST")]
    return [await flow.request("OPTIONS", path, headers=asked), *plain]


@pytest.mark.parametrize("origin", ORIGINS)
async def test_sec_140_who_may_read_what(tmp_path, clock, origin):
    async with opened(tmp_path / "data", clock, allowed_origins=(LISTED,)) as flow:
        for path in SHARED:
            for answer in await reached(flow, path, origin):
                assert shared_with(answer) == "*", (path, answer.status_code)
        for path in OURS:
            for answer in await reached(flow, path, origin):
                assert shared_with(answer) is None, (path, answer.status_code)
                assert not [name for name in answer.headers if name.startswith("access-control")]
        for path in ("/mcp", "/mcp/coding"):
            for answer in await reached(flow, path, origin):
                may = origin in (LISTED, "http://127.0.0.1:8765")
                assert shared_with(answer) == (origin if may else None), (path, answer.status_code)


async def test_sec_140_errors_of_programs_can_be_read_too(flow):
    for answer in (
        await flow.call(TOKEN, {"grant_type": "x"}, origin=FOREIGN),
        await flow.refresh("x", client_id="unknown"),
        await flow.request("POST", TOKEN, content=b"{}", headers={"content-type": "application/json"}),
        await flow.register(redirect_uris=["javascript:x"]),
        await flow.request("DELETE", REVOKE),
    ):
        assert (answer.status_code >= 400, shared_with(answer)) == (True, "*")


KINDS = [
    "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    "text/plain; application/json",
    "text/json", "application/jsonx", "application/json, text/plain", "application/json; charset=utf-16",
    "application/json; charset=latin-1", "application/json; x=y", "application/ld+json", "", " ", "json", "*/*",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
async def test_sec_141_routes_of_json_take_json_alone(flow, kind):
    account = await an_account_key(flow)
    for path in ("/mcp", "/mcp/", "/mcp/coding", REGISTER, "/v1/keys"):
        headers = {"content-type": kind, **({} if path == REGISTER else {"authorization": f"Bearer {account}"})}
        if path.startswith("/mcp"):
            headers["authorization"] = f"Bearer {(await flow.tokens(resource=resource_of(path)))['access_token']}"
        answer = await flow.request("POST", path, content=b'{"redirect_uris":["https://a.example"]}', headers=headers)
        assert answer.status_code == 415, (path, answer.text)
    assert len(await flow.rows("clients")) == 1
    assert len(await flow.rows("keys")) == 1


def resource_of(path: str) -> str:
    return f"http://127.0.0.1:8765{path.rstrip('/')}"


async def an_account_key(flow: Flow) -> str:
    who = replace(await flow.app.local(), scopes=ALL_SCOPES)
    _, key = await flow.app.keys.create(who, name="product", scopes=ALL_SCOPES, kind="account")
    return key


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON", "application/json; charset=utf-8"])
async def test_sec_141_json_is_taken_however_it_is_spelt(flow, kind):
    body = b'{"redirect_uris":["https://a.example/cb"]}'
    answer = await flow.request("POST", REGISTER, content=body, headers={"content-type": kind})
    assert answer.status_code == 201


def spellings(path: str) -> list[str]:
    """The same path as somebody might write it who wants another rule to hold."""
    first, last = path[1:2], path.rpartition("/")[2]
    return [
        path + "/", "/" + path, "//" + path[1:], path + "//", path + "/.", path + "/..", path + "/x", path + ";x=y",
        path + ";", path + "%00", path + "%20", path + "%2f", path + "%2F", path + "%5c", path + "\\", path + ".",
        path + "..", path + "%3f", path + "%23", path + "/%2e%2e/health", path + "/../health", "/health/.." + path,
        "/health/%2e%2e" + path, "/health;/.." + path, "/static/.." + path, "/static/%2e%2e" + path, "/." + path,
        "/%2e" + path, "/x/.." + path, "/\\" + path[1:], "/%2f" + path[1:], "/%5c" + path[1:], path.upper(),
        path[:-1] + last[-1].upper(), path.replace(first, f"%{ord(first):02x}", 1),
        path.replace(first, f"%{ord(first):02X}", 1), path.replace("/", "/%09", 1), path.replace("/", "%2f"),
        path.replace(first, f"%25{ord(first):02x}", 1), path + "?/health", path + "#/health", path + "%c0%af",
        path.replace("/", "／"),
    ]  # fmt: skip


GUARDED = ["/mcp", "/mcp/coding", "/app/account", "/app/connections", "/app/people", "/v1/keys", MEMORY]


@pytest.mark.parametrize("path", GUARDED)
async def test_sec_142_no_spelling_of_a_path_reaches_it_under_weaker_rules(flow, path):
    """Nobody is signed in, so the plain path shows the door; so do others, or there is nothing."""
    plain = {method: await flow.request(method, path) for method in ("GET", "POST")}
    assert len(spellings(path)) >= 40
    for spelling in spellings(path):
        for method, expected in plain.items():
            answer = await exactly(flow, method, spelling)
            same = (answer.status_code, shown(answer)) == (expected.status_code, shown(expected))
            assert same or answer.status_code in (400, 404, 405), (method, spelling, answer.status_code)
            assert answer.status_code not in (301, 302, 307, 308)
            assert "Sign out" not in answer.text


async def exactly(flow: Flow, method: str, target: str) -> Answer:
    """A request for what is spelt so, handed on as a server does: decoded, and nothing else."""
    path, _, query = target.partition("#")[0].partition("?")
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1:8765")],
        "client": (flow.address, 1),
        "server": ("127.0.0.1", 8765),
    }
    await flow.hall.server(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return httpx2.Response(sent[0]["status"], headers=sent[0]["headers"], content=body)


def shown(answer: Answer) -> str:
    """Whether it is the door, or the challenge."""
    return answer.headers.get("www-authenticate", "")[:6] or ("door" if 'name="password"' in answer.text else "")


# (the socket's other end, what the header says, whose address counts)
CAME: list[tuple[str, list[str], str]] = [
    ("203.0.113.5", [], "203.0.113.5"),
    ("203.0.113.5", ["198.51.100.1"], "203.0.113.5"),
    ("10.0.0.1", [], "10.0.0.1"),
    ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
    ("10.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
    ("10.0.0.1", ["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
    ("10.0.0.1", ["198.51.100.1, 10.0.0.2"], "198.51.100.1"),
    ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.1"),
    ("10.0.0.1", ["nonsense"], "10.0.0.1"),
    ("10.0.0.1", ["198.51.100.1, nonsense"], "10.0.0.1"),
    ("10.0.0.1", ["198.51.100.1:80"], "10.0.0.1"),
    ("10.0.0.1", [""], "10.0.0.1"),
    ("10.0.0.1", ["2001:db8::1"], "2001:db8::1"),
    ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
    ("::ffff:203.0.113.5", ["198.51.100.1"], "203.0.113.5"),
    ("fd00::1", ["198.51.100.1"], "fd00::1"),
]
BEHIND = Site(proxies=(ip_network("10.0.0.0/8"),))


@pytest.mark.parametrize(("peer", "forwarded", "address"), CAME, ids=range(len(CAME)))
def test_sec_143_only_a_named_proxy_is_believed_about_where_a_request_came_from(peer, forwarded, address):
    scope: Any = {"client": (peer, 1), "headers": [(b"x-forwarded-for", value.encode()) for value in forwarded]}
    assert peers.address(scope, BEHIND) == address
    assert peers.address(scope, Site()) == (peer.removeprefix("::ffff:"))


def test_sec_143_where_the_server_cannot_tell_it_says_so():
    assert peers.address({"client": None, "headers": []}, BEHIND) == ""  # type: ignore[arg-type] — no whole scope


async def registered(flow: Flow, count: int, **headers: str) -> list[int]:
    found = []
    for number in range(count):
        given = {name.replace("_", "-"): value.format(number) for name, value in headers.items()}
        answer = await flow.request("POST", REGISTER, json={"redirect_uris": [OUTSIDE]}, headers=given)
        found.append(answer.status_code)
    return found


@pytest.mark.parametrize("header", ["x_forwarded_for", "forwarded", "x_real_ip", "x_client_ip", "true_client_ip"])
async def test_sec_143_a_header_gets_nobody_round_a_limit(flow, header):
    flow.address = "203.0.113.5"
    value = "for=198.51.100.{}" if header == "forwarded" else "198.51.100.{}"
    assert await registered(flow, 11, **{header: value}) == [201] * 10 + [429]


async def test_sec_143_through_the_proxy_each_visitor_has_a_limit_of_their_own(tmp_path, clock):
    async with opened(tmp_path / "data", clock, trusted_proxies=("10.0.0.0/8",)) as flow:
        flow.address = "10.0.0.1"
        assert await registered(flow, 12, x_forwarded_for="198.51.100.{}") == [201] * 12
        assert await registered(flow, 11, x_forwarded_for="6.6.6.{}, 203.0.113.9") == [201] * 10 + [429]
