"""Which revision a message speaks, over HTTP. Source: the MCP specifications of the four revisions that we serve."""

import base64
import json
from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.faces.mcp.talking import META, MODERN, client, door, legacy, modern, post

pytestmark = pytest.mark.anyio

SERVED = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]
TOOL = {"name": "test_simple_text", "arguments": {}}


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with client(door()) as http:
        yield http


async def test_a_modern_request_gets_a_modern_result(http):
    answer = await post(http, modern("tools/call", **TOOL))
    assert answer.status_code == 200
    result = answer.json()["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "conformance-fixtures"


@pytest.mark.parametrize("version", [*SERVED[1:], "2024-11-05", None])
async def test_a_legacy_request_gets_a_result_without_modern_fields(http, version):
    answer = await post(http, legacy("tools/call", version, **TOOL))
    assert answer.json()["result"].keys() <= {"content", "isError"}


async def test_discover_announces_every_revision_that_is_served(http):
    result = (await post(http, modern("server/discover"))).json()["result"]
    assert result["supportedVersions"] == SERVED


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2024-11-05", "2027-01-01"])
async def test_a_modern_body_with_another_version_in_the_header_is_a_mismatch(http, version):
    body, headers = modern("tools/list")
    answer = await post(http, (body, headers | {"mcp-protocol-version": version}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize("name", ["mcp-protocol-version", "mcp-method", "mcp-name"])
async def test_a_modern_request_without_a_mirrored_header_is_a_mismatch(http, name):
    body, headers = modern("tools/call", **TOOL)
    del headers[name]
    answer = await post(http, (body, headers))
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, -32020, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mcp-method", "tools/list"),
        ("mcp-method", "Tools/Call"),
        ("mcp-name", "test_error_handling"),
        ("mcp-name", "=?base64?bm90aGluZw==?="),
        ("mcp-name", "=?base64?%%%?="),
    ],
)
async def test_a_mirrored_header_that_differs_from_the_body_is_a_mismatch(http, name, value):
    body, headers = modern("tools/call", **TOOL)
    answer = await post(http, (body, headers | {name: value}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize("name", ["mcp-protocol-version", "mcp-method", "mcp-name"])
async def test_a_repeated_mirrored_header_is_a_mismatch(http, name):
    body, headers = modern("tools/call", **TOOL)
    answer = await http.post("/mcp", json=body, headers=[*headers.items(), (name, headers[name])])
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


async def test_an_encoded_or_padded_name_header_is_read_as_what_it_means(http):
    body, headers = modern("tools/call", **TOOL)
    encoded = f"=?base64?{base64.b64encode(b'test_simple_text').decode()}?="
    assert (await post(http, (body, headers | {"mcp-name": encoded}))).status_code == 200
    assert (await post(http, (body, headers | {"mcp-name": "  test_simple_text\t "}))).status_code == 200


async def test_a_revision_that_is_not_served_is_told_which_are(http):
    body, headers = modern("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2031-01-01"})
    answer = await post(http, (body, headers | {"mcp-protocol-version": "2031-01-01"}))
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32022
    assert answer.json()["error"]["data"] == {"supported": SERVED, "requested": "2031-01-01"}


@pytest.mark.parametrize(
    "lacking", ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"]
)
async def test_a_modern_request_without_its_envelope_is_invalid(http, lacking):
    body, headers = modern("tools/list")
    body["params"]["_meta"] = {key: value for key, value in META.items() if key != lacking}
    answer = await post(http, (body, headers))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)
    assert lacking in answer.json()["error"]["message"]


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "made/up"])
async def test_a_method_that_the_modern_revision_lacks_is_not_found(http, method):
    answer = await post(http, modern(method))
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (404, -32601, 1)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [(version, version) for version in [*SERVED[1:], "2024-11-05"]]
    + [(MODERN, "2025-11-25"), ("1999-01-01", "2025-11-25")],
)
async def test_initialize_settles_on_a_handshake_revision(http, asked, answered):
    hello = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    answer = await post(http, legacy("initialize", None, **hello))
    assert answer.json()["result"]["protocolVersion"] == answered
    assert "mcp-session-id" not in answer.headers


async def test_a_legacy_request_needs_no_handshake_and_may_mirror_headers(http):
    request = legacy("tools/call", "2025-11-25", **TOOL)
    answer = await post(http, request, mcp_method="something/else", mcp_name="other", mcp_session_id="made-up")
    assert answer.json()["result"]["content"][0]["text"].startswith("This is a simple text")


async def test_ping_is_answered_to_legacy_clients(http):
    assert (await post(http, legacy("ping"))).json()["result"] == {}


@pytest.mark.parametrize(("version", "code"), [("2025-11-25", -32002), (None, -32002)])
async def test_a_missing_resource_is_named_in_the_way_of_the_older_revisions(http, version, code):
    answer = await post(http, legacy("resources/read", version, uri="test://nothing"))
    assert answer.json()["error"]["code"] == code


async def test_a_missing_resource_is_invalid_and_named_in_the_modern_revision(http):
    error = (await post(http, modern("resources/read", uri="test://nothing"))).json()["error"]
    assert (error["code"], error["data"]) == (-32602, {"uri": "test://nothing"})


@pytest.mark.parametrize("version", [None, "2025-03-26", "2024-11-05"])
async def test_a_batch_is_answered_message_by_message_in_its_revision(http, version):
    first, headers = legacy("ping", version, 1)
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    second, _ = legacy("tools/call", version, "two", **TOOL)
    answer = await post(http, ([first, note, {"jsonrpc": "2.0", "id": 3}, second], headers))
    assert [(one.get("id"), "result" in one) for one in answer.json()] == [(1, True), (3, False), ("two", True)]


async def test_a_batch_of_notifications_is_accepted_without_a_body(http):
    answer = await post(http, ([{"jsonrpc": "2.0", "method": "notifications/initialized"}], {}))
    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", MODERN])
async def test_a_batch_is_refused_where_the_revision_has_none(http, version):
    answer = await post(http, ([legacy("ping")[0]], {"mcp-protocol-version": version}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("values", [[], [legacy("ping")[0]] * 51])
async def test_a_batch_must_hold_some_messages_and_not_too_many(http, values):
    answer = await post(http, (values, {}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)


async def test_initialize_and_modern_messages_do_not_stand_in_a_batch(http):
    answer = await post(http, ([legacy("initialize", id=1)[0], modern("tools/list", 2)[0]], {}))
    assert [one["error"]["code"] for one in answer.json()] == [-32600, -32600]


@pytest.mark.parametrize("request_of", [modern, legacy], ids=["modern", "legacy"])
async def test_a_notification_is_accepted_without_a_body(http, request_of):
    body, headers = request_of("notifications/cancelled", requestId=1)
    del body["id"]
    answer = await post(http, (body, headers))
    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        "ping",
        None,
        5,
    ],
)
async def test_what_is_not_one_request_is_refused(http, body):
    answer = await http.post("/mcp", content=json.dumps(body), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
