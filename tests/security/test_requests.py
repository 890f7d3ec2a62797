"""What a request may be before anybody looks at what it asks: credentials, Host, Origin, size, JSON."""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from archivist.domain.limits import BODY_BYTES, JSON_DEPTH
from archivist.http.site import Site
from archivist.mcp.entry import Entry
from tests.faces.mcp.talking import HERE, authenticate, client, door, fixtures, legacy, modern, post

pytestmark = pytest.mark.anyio

READ = {"name": "test_simple_text", "arguments": {}}
WRITE = {"name": "test_tool_with_progress", "arguments": {}}
JSON = {"content-type": "application/json"}


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with client(door()) as http:
        yield http


@pytest.mark.parametrize(("named", "called"), [(READ, WRITE), (WRITE, READ)], ids=["names-read", "names-write"])
async def test_sec_112_a_header_that_names_another_tool_than_the_body_is_refused(http, named, called):
    body, _ = modern("tools/call", **called)
    _, headers = modern("tools/call", **named)
    answer = await post(http, (body, headers))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


async def test_sec_112_the_scope_is_that_of_the_tool_in_the_body():
    async with client(door(), key="read") as http:
        answer = await post(http, legacy("tools/call", **WRITE), mcp_method="tools/call", mcp_name="test_simple_text")
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "header",
    [{"authorization": "Bearer all"}, {"authorization": "bearer  all"}, {"x-api-key": "all"}, {"x-memory-key": "all"}],
)
async def test_sec_113_a_key_is_taken_from_each_documented_header(header):
    async with client(door(), key=None) as http:
        assert (await post(http, legacy("ping"), **header)).status_code == 200


async def test_sec_113_the_same_key_in_several_headers_is_one_key():
    async with client(door()) as http:
        assert (await post(http, legacy("ping"), x_api_key="all", x_memory_key="all")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        [("authorization", "Bearer all"), ("x-memory-key", "read")],
        [("x-memory-key", "read"), ("authorization", "Bearer all")],
        [("x-api-key", "all"), ("x-memory-key", "read")],
        [("authorization", "Bearer all"), ("authorization", "Bearer all")],
        [("x-api-key", "all"), ("x-api-key", "read")],
    ],
)
async def test_sec_113_two_credentials_are_refused(headers):
    async with client(door(), key=None) as http:
        answer = await http.post("/mcp", json=legacy("ping")[0], headers=headers)
    assert answer.status_code == 400
    assert 'error="invalid_request"' in answer.headers["www-authenticate"]


@pytest.mark.parametrize(
    "value",
    [
        b"", b"Bearer", b"Bearer ", b"Basic YWxsOg==", b"all", b"Bearer " + b"x" * 65_536, b"Bearer \xff\xfe",
        b"Bearer k\xc3\xa9y", b"Bearer all extra", b"Bearer all,read", b"Digest all", b"\tBearer\tall",
    ],
)  # fmt: skip
async def test_sec_113_an_odd_credential_is_no_credential(value):
    async with client(door(), key=None) as http:
        answer = await http.post("/mcp", json=legacy("ping")[0], headers=[(b"authorization", value)])
    assert answer.status_code == 401


async def test_sec_113_a_credential_that_cannot_be_a_key_is_never_looked_up():
    asked: list[str] = []

    async def look_up(key: str) -> Any:
        asked.append(key)
        return await authenticate(key)

    async with client(Entry(fixtures(), Site(), look_up, lambda who: who), key=None) as http:
        for value in (b"Bearer " + b"x" * 513, b"Bearer k\xc3\xa9y", b"Bearer a b", b"Bearer "):
            await http.post("/mcp", json=legacy("ping")[0], headers=[(b"authorization", value)])
    assert asked == []


async def test_sec_113_a_key_in_the_query_or_in_the_body_counts_for_nothing():
    async with client(door(), key=None) as http:
        asked = await http.post("/mcp?access_token=all&key=all", json={**legacy("ping")[0], "access_token": "all"})
        form = await http.post("/mcp", data={"access_token": "all"})
    assert (asked.status_code, form.status_code) == (401, 401)


@pytest.mark.parametrize(
    "site", [Site(), Site("https://memory.example.org", loopback=False), Site("http://localhost:1")]
)
@pytest.mark.parametrize(
    "method", ["initialize", "server/discover", "tools/list", "tools/call", "resources/read", "ping"]
)
async def test_sec_120_nothing_is_served_without_a_key_however_it_is_set_up(site, method):
    host = "memory.example.org" if site.public_url.startswith("https") else "127.0.0.1:8765"
    async with client(door(site), key=None) as http:
        for request in (modern(method, **READ), legacy(method, **READ)):
            assert (await post(http, request, host=host)).status_code == 401


FOREIGN_HOSTS = [
    "evil.example.org", "", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8766", "127.0.0.1:", "127.0.0.1:8765:8765",
    "user@127.0.0.1:8765", "localhost.:8765", "localhost.evil.org:8765", "127.0.0.1.nip.io:8765", "2130706433:8765",
    "127.1:8765", "0.0.0.0:8765", "[::]:8765", "[::ffff:127.0.0.1]:8765", "127.0.0.1:08765x", "127.0.0.1:8765, evil",
    "127.0.0.1:18765", "LOCALHOST:8765/",
]  # fmt: skip


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
@pytest.mark.parametrize("path", ["/mcp", "/health", "/.well-known/oauth-protected-resource", "/nothing"])
async def test_sec_138_a_foreign_host_is_refused_before_routing(http, host, path):
    answer = await http.get(path, headers={"host": host})
    assert answer.status_code == 421


async def test_sec_138_a_request_without_or_with_two_hosts_is_refused():
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    for hosts in ([], [(b"host", b"127.0.0.1:8765")] * 2):
        scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": hosts, "server": ("127.0.0.1", 8765)}
        await door()(scope, None, send)  # type: ignore[arg-type] — nothing is read
    assert [message["status"] for message in sent if "status" in message] == [421, 421]


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"])
async def test_sec_138_loopback_names_with_the_right_port_are_ours(http, host):
    assert (await post(http, legacy("ping"), host=host)).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("memory.example.org", 200),
        ("Memory.Example.Org:443", 200),
        ("memory.example.org:80", 421),
        ("memory.example.org.", 421),
        ("127.0.0.1:8765", 421),
        ("xmemory.example.org", 421),
    ],
)
async def test_sec_138_beyond_this_computer_only_the_public_name_is_ours(host, status):
    async with client(door(Site("https://memory.example.org", loopback=False))) as http:
        assert (await post(http, legacy("ping"), host=host)).status_code == status


FOREIGN_ORIGINS = [
    "null", "https://evil.example.org", "http://localhost.evil.org", "http://evil-localhost", "http://localhost@evil.org",
    "http://localhost:80@evil.org", "http://127.0.0.1.nip.io", "http://127.1", "http://2130706433", "http://0.0.0.0",
    "http://[::]", "http://localhost:", "http://localhost:0", "http://localhost:99999", "http://localhost/",
    "http://LOCALHOST", "ftp://localhost", "localhost", "http://localhost http://evil.org", "file://",
    "https://app.example.com.evil.org", "https://app.example.com:444", "http://app.example.com", "https://xapp.example.com",
    "https://app.example.com/", "",
]  # fmt: skip
LISTED = Site(origins=frozenset({"https://app.example.com"}))


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
async def test_sec_139_an_origin_that_is_not_listed_is_refused(origin):
    async with client(door(LISTED)) as http:
        answer = await post(http, legacy("ping"), origin=origin)
        preflight = await http.options("/mcp", headers={"origin": origin, "access-control-request-method": "POST"})
    assert (answer.status_code, preflight.status_code) == (403, 403)
    assert "access-control-allow-origin" not in answer.headers
    assert "access-control-allow-origin" not in preflight.headers


ADMITTED = [
    "https://app.example.com",
    HERE,
    "http://localhost:6274",
    "http://127.0.0.1:1",
    "https://localhost",
    "http://[::1]:5173",
]


@pytest.mark.parametrize("origin", ADMITTED)
async def test_sec_140_a_listed_origin_may_read_answers_and_errors(origin):
    async with client(door(LISTED), key=None) as http:
        refused = await post(http, legacy("ping"), origin=origin)
        served = await post(http, legacy("ping"), origin=origin, authorization="Bearer all")
        wrong = await http.get("/mcp", headers={"origin": origin, "authorization": "Bearer all"})
        large = await http.post("/mcp", content=b" " * (BODY_BYTES + 1), headers={"origin": origin})
    assert [answer.status_code for answer in (refused, served, wrong, large)] == [401, 200, 405, 413]
    for answer in (refused, served, wrong, large):
        assert answer.headers["access-control-allow-origin"] == origin
        assert answer.headers["vary"] == "Origin"
        assert "WWW-Authenticate" in answer.headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in answer.headers


async def test_sec_140_a_preflight_needs_no_key_and_allows_what_clients_send():
    asked = {"origin": "https://app.example.com", "access-control-request-method": "POST"}
    async with client(door(LISTED), key=None) as http:
        answer = await http.options("/mcp", headers=asked)
    allowed = re.split(r",\s*", answer.headers["access-control-allow-headers"].lower())
    wanted = {
        "authorization",
        "content-type",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
        "last-event-id",
    }
    assert answer.status_code == 204
    assert wanted <= set(allowed)
    assert "POST" in answer.headers["access-control-allow-methods"]


async def test_sec_140_without_an_origin_nothing_is_shared_and_caches_are_told_that_it_matters(http):
    answer = await post(http, legacy("ping"))
    assert answer.headers["vary"] == "Origin"
    assert not [name for name in answer.headers if name.startswith("access-control")]


class Endless:
    """Chunks without end, counted."""

    def __init__(self) -> None:
        self.given = 0

    async def receive(self) -> dict[str, Any]:
        self.given += 65_536
        return {"type": "http.request", "body": b" " * 65_536, "more_body": True}


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize("credential", [[], [(b"authorization", b"Bearer all")]], ids=["anonymous", "with-key"])
async def test_sec_147_an_endless_body_is_cut_off_at_the_limit_before_anything_else(method, credential):
    endless, sent = Endless(), []

    async def send(message: Any) -> None:
        sent.append(message)

    entry = Entry(fixtures(), Site(), authenticate, lambda who: who)
    scope = {"type": "http", "method": method, "path": "/mcp", "headers": [(b"host", b"127.0.0.1:1"), *credential]}
    await entry(scope, endless.receive, send)
    assert sent[0]["status"] == 413
    assert (b"connection", b"close") in sent[0]["headers"]
    assert endless.given <= BODY_BYTES + 65_536


@pytest.mark.parametrize("length", [str(BODY_BYTES + 1), "99999999999999999999999", "-1", "1e3", "abc", ""])
async def test_sec_147_a_declared_length_over_the_limit_is_refused_unread(length):
    endless, sent = Endless(), []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:1"), (b"content-length", length.encode())]
    entry = Entry(fixtures(), Site(), authenticate, lambda who: who)
    await entry({"type": "http", "method": "POST", "path": "/mcp", "headers": headers}, endless.receive, send)
    assert (sent[0]["status"], endless.given) == (413, 0)


async def test_sec_147_a_body_of_exactly_the_limit_is_read(http):
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    answer = await http.post("/mcp", content=body + b" " * (BODY_BYTES - len(body)), headers=JSON)
    assert answer.status_code == 200


MESSAGE = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%s}}'
BAD_VALUES = [
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9223372036854775808", "-9223372036854775809", "1" * 5000,
    "01", "+1", "1.", ".5", "0x10", "'a'", '"\n"', '"\\x"', '"\\u12"', "tru", "True", "undefined", "nul", "[1,]", "[,]",
    '{"a":1,}', "{a:1}", '{"a":1,"a":2}', '{"a":{"b":1,"b":1}}',
    "[1 2]", '{"a" 1}', "/*c*/1", "1//c", "", '"', "[", "{",
    "[" * JSON_DEPTH + "]" * JSON_DEPTH, '{"a":' * JSON_DEPTH + "1" + "}" * JSON_DEPTH, "[" * 100_000,
]  # fmt: skip
BAD_BODIES = [
    b"", b" ", b"{", b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b'{"jsonrpc":"2.0","id":1,"method":"ping"}x',
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}', b"{} {}", b"\x00", b"\xc3\x28",
    b'{"jsonrpc":"2.0","id":1,"method":"pi\xffng"}', b'"\xed\xa0\x80"',
    b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}',
    b'{"id":1,"id":2,"jsonrpc":"2.0","method":"ping"}', "{}".encode("utf-16"), "{}".encode("utf-32"),
    b"ping", b"<xml/>", b"jsonrpc=2.0&id=1", b"\x1f\x8b\x08\x00",
]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [*BAD_BODIES, *((MESSAGE % value).encode() for value in BAD_VALUES)],
    ids=range(len(BAD_BODIES) + len(BAD_VALUES)),
)
async def test_sec_148_what_is_not_strict_json_is_refused_with_a_parse_error(http, body):
    answer = await http.post("/mcp", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)


@pytest.mark.parametrize(
    "value", ["9223372036854775807", "-9223372036854775808", "1e308", "[]", '"\\ud83d\\ude00"', '"\\u0000"']
)
async def test_sec_148_strict_json_at_the_edge_of_what_is_allowed_is_read(http, value):
    answer = await http.post("/mcp", content=(MESSAGE % value).encode(), headers=JSON)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "body", ['{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":"\\udfff"}']
)
async def test_sec_149_a_lone_surrogate_in_the_envelope_is_refused(http, body):
    answer = await http.post("/mcp", content=body.encode(), headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
