"""The HTTP entry around the protocol: methods, forms of answers, challenges, CORS, what is logged."""

import json
from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest
from starlette.types import Message

from archivist.domain.errors import RateLimited, Unavailable
from archivist.http.site import Site
from archivist.mcp.entry import Access, Entry
from tests.faces.mcp.talking import HERE, authenticate, client, door, fixtures, legacy, modern, post

pytestmark = pytest.mark.anyio

TOOL = {"name": "test_simple_text", "arguments": {}}
SECRET = "secret text"
METADATA = f"{HERE}/.well-known/oauth-protected-resource/mcp"


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with client(door()) as http:
        yield http


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_both_spellings_of_the_path_are_served_without_a_redirect(http, path):
    answer = await post(http, modern("tools/call", **TOOL), path)
    assert answer.status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT", "PATCH"])
async def test_without_a_key_every_method_is_challenged_first(method):
    async with client(door(), key=None) as http:
        answer = await http.request(method, "/mcp")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{METADATA}", scope="memories:read"'


async def test_a_wrong_key_is_told_so_in_the_challenge():
    async with client(door(), key="wrong") as http:
        answer = await post(http, legacy("ping"))
    assert answer.status_code == 401
    expected = f'Bearer error="invalid_token", resource_metadata="{METADATA}", scope="memories:read"'
    assert answer.headers["www-authenticate"] == expected


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT"])
async def test_with_a_key_other_methods_are_told_what_is_allowed(http, method):
    answer = await http.request(method, "/mcp", headers={"accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST, OPTIONS")


async def test_head_is_answered_like_get_without_a_body():
    head, get = await asked("HEAD"), await asked("GET")
    assert head[0]["status"] == get[0]["status"] == 405
    assert dict(head[0]["headers"])[b"content-length"] == dict(get[0]["headers"])[b"content-length"]
    assert (head[1]["body"], get[1]["body"] != b"") == (b"", True)


async def asked(method: str) -> list[Message]:
    """What the entry sends for a request with a key and no body."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:1"), (b"authorization", b"Bearer all")]
    entry = Entry(fixtures(), Site(), authenticate, lambda who: who)
    await entry({"type": "http", "method": method, "path": "/mcp", "headers": headers}, receive, send)
    return sent


@pytest.mark.parametrize(
    "accept", ["application/json", "*/*", "application/*", "text/event-stream, application/json;q=0.1", ""]
)
async def test_json_is_the_answer_unless_only_events_are_accepted(http, accept):
    answer = await post(http, modern("tools/call", **TOOL), accept=accept)
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("accept", ["text/event-stream", "text/event-stream, application/json;q=0"])
async def test_a_client_that_takes_only_events_gets_one(http, accept):
    answer = await post(http, modern("tools/call", **TOOL), accept=accept)
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.text.startswith('event: message\ndata: {"jsonrpc":"2.0","id":1,"result":')
    assert answer.text.endswith("\n\n")


async def test_a_client_that_takes_neither_form_is_refused(http):
    assert (await post(http, legacy("ping"), accept="text/html")).status_code == 406


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"])
async def test_a_body_that_does_not_say_it_is_json_is_refused(http, kind):
    answer = await http.post("/mcp", content=b"{}", headers={"content-type": kind})
    assert answer.status_code == 415


async def test_progress_flows_ahead_of_the_answer_if_events_are_accepted(http):
    request = modern("tools/call", name="test_tool_with_progress", arguments={}, _meta={"progressToken": "p"})
    answer = await post(http, request, accept="application/json, text/event-stream")
    events = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    assert ['"progress":0' in events[0], '"progress":100' in events[2], '"result"' in events[3]] == [True] * 3
    assert len(events) == 4


async def test_progress_is_dropped_if_only_json_is_accepted(http):
    request = modern("tools/call", name="test_tool_with_progress", arguments={}, _meta={"progressToken": "p"})
    answer = await post(http, request)
    assert answer.json()["result"]["content"][0]["text"] == "test_tool_with_progress is done"


@pytest.mark.parametrize("request_of", [modern, legacy], ids=["modern", "legacy"])
async def test_a_missing_scope_is_challenged_with_what_is_held_and_what_is_needed(request_of):
    async with client(door(), key="read") as http:
        answer = await post(http, request_of("tools/call", name="test_tool_with_progress", arguments={}))
    challenge = answer.headers["www-authenticate"]
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="memories:read memories:write"' in challenge
    assert f'resource_metadata="{METADATA}"' in challenge
    assert answer.json()["id"] == 1


async def test_a_batch_with_one_forbidden_message_is_refused_as_a_whole():
    async with client(door(), key="read") as http:
        values = [
            legacy("tools/call", None, 1, **TOOL)[0],
            legacy("tools/call", None, 2, name="test_image_content")[0],
        ]
        answer = await post(http, (values, {}))
    assert answer.status_code == 403
    assert 'scope="memories:read memories:delete"' in answer.headers["www-authenticate"]


async def test_a_resource_is_read_with_its_scope_only():
    async with client(door(), key="write") as http:
        answer = await post(http, modern("resources/read", uri="test://static-text"))
    assert answer.status_code == 403


async def test_lists_are_the_same_bytes_for_every_caller():
    bodies = set()
    for key in ("all", "read", "none"):
        async with client(door(), key=key) as http:
            bodies.add((await post(http, modern("tools/list"))).content)
    assert len(bodies) == 1


async def test_an_unknown_tool_is_an_error_of_the_protocol_not_a_challenge():
    async with client(door(), key="none") as http:
        answer = await post(http, modern("tools/call", name="made_up", arguments={}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)


@pytest.mark.parametrize(("raised", "status"), [(RateLimited("slower", 3), 429), (Unavailable("later"), 503)])
async def test_a_key_check_that_cannot_be_made_is_no_401(raised, status):
    async def refuse(_key: str) -> None:
        raise raised

    entry = Entry(fixtures(), Site(), refuse, lambda who: who)
    async with client(entry) as http:
        assert (await post(http, legacy("ping"))).status_code == status


async def test_an_unexpected_error_tells_only_where_the_log_has_it(capsys):
    async def fail(_key: str) -> None:
        raise RuntimeError(SECRET)

    async with client(Entry(fixtures(), Site(), fail, lambda who: who)) as http:
        answer = await post(http, legacy("ping"))
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] in answer.json()["error"]["message"]
    logged = capsys.readouterr().out
    assert "RuntimeError" in logged
    assert answer.headers["x-request-id"] in logged
    assert SECRET not in answer.text + logged


async def test_a_handler_that_fails_tells_nothing_of_why(capsys):
    async def fail(_ctx: object, _params: object) -> None:
        raise RuntimeError(SECRET)

    served = fixtures()
    handler = served.server.get_request_handler("ping")
    served.server.add_request_handler("ping", handler.params_type, fail)
    async with client(door(served=served)) as http:
        answer = await post(http, legacy("ping"))
    assert answer.json()["error"]["code"] == -32603
    assert SECRET not in answer.text + capsys.readouterr().out


async def test_every_answer_is_private_and_can_be_found_in_the_log():
    told: list[Access] = []
    async with client(door(log=told.append)) as http:
        answer = await post(http, modern("tools/call", **TOOL))
    assert answer.headers["cache-control"] == "no-store"
    assert (told[0].reference, told[0].status, told[0].rpc) == (answer.headers["x-request-id"], 200, "tools/call")
    assert told[0].target == "test_simple_text"


async def test_the_log_never_holds_names_that_callers_made_up():
    told: list[Access] = []
    async with client(door(log=told.append)) as http:
        await post(http, modern("tools/call", name="my secret", arguments={}))
        await post(http, modern("my/secret"))
    assert "secret" not in repr(told)


async def test_a_client_that_hangs_up_while_sending_is_let_go():
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"127.0.0.1:1")]}
    await Entry(fixtures(), Site(), None, None)(scope, receive, send)  # type: ignore[arg-type] — it gets no further
    assert sent == []


class Hanging:
    """A tool that waits, and a client that hangs up as soon as it is reached."""

    def __init__(self, tool: str) -> None:
        self.body, self.headers = modern("tools/call", name=tool, arguments={})
        self.reached, self.hung_up, self.go = anyio.Event(), False, anyio.Event()
        self.outcome = ""
        self.served = fixtures()
        handler = self.served.server.get_request_handler("tools/call")
        self.served.server.add_request_handler("tools/call", handler.params_type, self._call)
        self.sent: list[Message] = []

    async def _call(self, _ctx: object, _params: object) -> dict[str, object]:
        self.reached.set()
        try:
            await self.go.wait()
            self.outcome = "finished"
        except BaseException:
            self.outcome = "stopped"
            raise
        return {"resultType": "complete", "content": []}

    async def receive(self) -> Message:
        if not self.reached.is_set() and not self.hung_up:
            self.hung_up = True
            return {"type": "http.request", "body": json.dumps(self.body).encode()}
        await self.reached.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def run(self) -> None:
        named = {
            **self.headers,
            "host": "127.0.0.1:1",
            "authorization": "Bearer all",
            "content-type": "application/json",
        }
        raw = [(name.encode(), value.encode()) for name, value in named.items()]
        entry = Entry(self.served, Site(), authenticate, lambda who: who)
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": raw}
        with anyio.fail_after(5):
            await entry(scope, self.receive, self.send)


async def test_a_search_that_nobody_waits_for_is_stopped():
    hanging = Hanging("test_simple_text")
    await hanging.run()
    assert (hanging.outcome, hanging.sent) == ("stopped", [])


async def test_a_write_is_finished_though_the_client_hung_up():
    hanging = Hanging("test_tool_with_progress")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hanging.run)
        await hanging.reached.wait()
        hanging.go.set()
    assert hanging.outcome == "finished"
