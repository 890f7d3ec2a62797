"""`forget_all_memories` where an owner is asked first: a link for every client, a question for those that can ask."""

from dataclasses import replace

import httpx2
import jsonschema
import mcp_types._v2026_07_28 as wire
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from archivist.app import OWNER
from archivist.domain.access import Scope
from archivist.domain.approvals import LIFE
from archivist.domain.times import iso
from archivist.mcp.tools.memories import FORGET_ALL_MEMORIES
from tests.faces.mcp.conversations import Person
from tests.faces.mcp.talking import HERE, legacy, modern, post
from tests.people import arrived

pytestmark = pytest.mark.anyio
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
PHRASE = {"confirmation": "DELETE ALL MEMORIES"}
FORM, URL, BOTH = {}, {"url": {}}, {"form": {}, "url": {}}
ACCEPT, DECLINE, CANCEL = ({"action": word} for word in ("accept", "decline", "cancel"))


@pytest.fixture
async def vault(app, me):
    """The personal vault, with one memory, in which an owner is asked."""
    vault = (await app.local()).vault
    await me.store("a fact")
    await app.approvals.choose(OWNER, vault, "on")
    return vault


@pytest.fixture
async def ana(app, vault):
    """The owner of this computer, signed in: her session."""
    return await arrived(app, "Ana")


def request(elicitation=None, *, arguments=None, **retry):
    """A call by a client that declares this much of elicitation; None: nothing of it."""
    declared = {} if elicitation is None else {"elicitation": elicitation}
    arguments = PHRASE if arguments is None else arguments
    return modern(
        "tools/call", name="forget_all_memories", arguments=arguments, _meta={CAPABILITIES: declared}, **retry
    )


async def call(person, elicitation=None, **more):
    answer = await post(person.http, request(elicitation, **more))
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


async def question(person, elicitation=FORM):
    result = await call(person, elicitation)
    assert result["resultType"] == "input_required", result
    return result


def answered(result, answer):
    """What a client sends along that has put the question to its person."""
    return {"requestState": result["requestState"], "inputResponses": {"approval": answer}}


async def refused(person, elicitation=FORM, **more):
    answer = await post(person.http, request(elicitation, **more))
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == -32602
    return error["message"]


async def test_a_client_that_cannot_ask_gets_a_link_and_nothing_is_touched(app, me, vault, clock):
    result = await call(me)
    assert (result["isError"], result["resultType"]) == (True, "complete")
    error = result["structuredContent"]["error"]
    assert (error["code"], error["retryable"]) == ("approval_required", True)
    assert error["approval_url"].startswith(f"http://127.0.0.1:8765/app/vaults/{vault}/approvals/")
    assert error["expires_at"] == iso(clock.now + LIFE)
    text = result["content"][0]["text"]
    assert error["approval_url"] in text
    assert "call again with the same confirmation" in text
    jsonschema.validate(result["structuredContent"], FORGET_ALL_MEMORIES.output)
    assert await me.total() == 1


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_older_clients_get_the_link_whatever_they_say_they_can(me, vault, version):
    meta = {CAPABILITIES: {"elicitation": {}}}
    asked = legacy("tools/call", version, name="forget_all_memories", arguments=PHRASE, _meta=meta)
    result = (await post(me.http, asked)).json()["result"]
    assert result["structuredContent"]["error"]["code"] == "approval_required"
    assert await me.total() == 1


async def test_after_the_approval_on_the_page_the_same_call_goes_through_once(app, me, vault, ana):
    link = (await me.error("forget_all_memories", **PHRASE))["approval_url"]
    await app.approvals.approve(ana, vault, link.rpartition("/")[2])
    assert (await me.structured("forget_all_memories", **PHRASE))["memories_deleted"] == 1
    assert (await me.error("forget_all_memories", **PHRASE))["code"] == "approval_required"


async def test_a_client_that_can_ask_is_given_a_question_of_its_protocol(me, vault):
    result = await question(me)
    wire.InputRequiredResult.model_validate(result)
    asked = result["inputRequests"]["approval"]
    assert asked["method"] == "elicitation/create"
    assert asked["params"]["mode"] == "form"
    assert asked["params"]["requestedSchema"] == {"type": "object", "properties": {}}
    assert asked["params"]["message"] == (
        "Delete the one memory of the vault “personal”, for good? Nothing has been deleted yet."
    )
    assert not {"content", "structuredContent", "isError"} & set(result)
    assert await me.total() == 1


@pytest.mark.parametrize("elicitation", [FORM, {"form": {}}, BOTH])
async def test_an_accepted_question_goes_through_once(me, vault, elicitation):
    asked = await question(me, elicitation)
    done = await call(me, elicitation, **answered(asked, ACCEPT))
    assert done["resultType"] == "complete"
    assert done["structuredContent"]["memories_deleted"] == 1
    await me.store("another fact")
    await refused(me, **answered(asked, ACCEPT))
    assert await me.total() == 1
    assert (await question(me, elicitation))["requestState"] != asked["requestState"]


@pytest.mark.parametrize("answer", [DECLINE, CANCEL])
async def test_a_no_deletes_nothing_and_is_said(me, vault, answer):
    asked = await question(me)
    told = await call(me, FORM, **answered(asked, answer))
    assert not told.get("isError")
    assert (told["structuredContent"]["deleted"], told["structuredContent"]["memories_deleted"]) == (False, 0)
    assert "nothing was deleted" in told["content"][0]["text"]
    jsonschema.validate(told["structuredContent"], FORGET_ALL_MEMORIES.output)
    await refused(me, **answered(asked, ACCEPT))
    assert await me.total() == 1


async def test_a_missing_answer_is_asked_for_again_and_others_are_not_looked_at(me, vault):
    asked = await question(me)
    for responses in ({}, {"other": ACCEPT}, None):
        again = await call(me, FORM, requestState=asked["requestState"], inputResponses=responses)
        assert again["resultType"] == "input_required"
    both = {"requestState": asked["requestState"], "inputResponses": {"approval": ACCEPT, "other": DECLINE}}
    assert (await call(me, FORM, **both))["structuredContent"]["deleted"]


async def test_an_answer_without_the_state_is_none(me, vault):
    await question(me)
    assert (await call(me, FORM, inputResponses={"approval": ACCEPT}))["resultType"] == "input_required"
    assert await me.total() == 1


async def test_a_client_that_only_opens_pages_is_led_to_the_page_and_its_word_is_not_enough(app, me, vault, ana):
    asked = await question(me, URL)
    params = asked["inputRequests"]["approval"]["params"]
    assert (params["mode"], params["url"].rpartition("/")[0]) == (
        "url",
        f"http://127.0.0.1:8765/app/vaults/{vault}/approvals",
    )
    early = await call(me, URL, **answered(asked, ACCEPT))
    assert early["structuredContent"]["error"]["approval_url"] == params["url"]
    assert await me.total() == 1
    await app.approvals.approve(ana, vault, params["url"].rpartition("/")[2])
    assert (await call(me, URL, **answered(asked, ACCEPT)))["structuredContent"]["deleted"]
    await refused(me, URL, **answered(asked, ACCEPT))


async def test_where_only_the_page_counts_no_form_is_shown_and_none_is_believed(app, me, vault):
    asked = await question(me)
    await app.approvals.choose(OWNER, vault, "page")
    await refused(me, **answered(asked, ACCEPT))
    assert (await call(me, FORM))["structuredContent"]["error"]["code"] == "approval_required"
    assert (await question(me, BOTH))["inputRequests"]["approval"]["params"]["mode"] == "url"
    assert await me.total() == 1


async def test_sec_116_a_state_with_any_byte_changed_is_refused_and_touches_nothing(me, vault):
    asked = await question(me)
    state = asked["requestState"]
    for place in range(len(state)):
        for other in {"A", "B", "_"} - {state[place]}:
            flipped = state[:place] + other + state[place + 1 :]
            await refused(me, requestState=flipped, inputResponses={"approval": ACCEPT})
    for broken in ("", "x", "\u00e9", state[:-1], f"{state}A", f"{state}=", f" {state}"):
        await refused(me, requestState=broken, inputResponses={"approval": ACCEPT})
    assert await me.total() == 1
    assert (await call(me, FORM, **answered(asked, ACCEPT)))["structuredContent"]["deleted"]


async def test_sec_116_a_state_is_for_its_own_vault(app, me, stranger, vault):
    other = next(one.id for one in await app.vaults.list(OWNER) if one.name == "other")
    await app.approvals.choose(OWNER, other, "on")
    await stranger.store("theirs")
    await refused(stranger, **answered(await question(me), ACCEPT))
    assert (await me.total(), await stranger.total()) == (1, 1)


async def test_sec_116_a_state_is_for_its_caller_its_call_and_its_time(app, server, me, vault, clock):
    asked = await question(me)
    async with Person.connected(app, server, *Scope) as twin:
        await refused(twin, **answered(asked, ACCEPT))
    await refused(me, arguments={"confirmation": "DELETE ALL"}, **answered(asked, ACCEPT))
    own = await app.local()
    sealed = app.keyring.seal("another purpose", [own.user, vault])
    await refused(me, requestState=sealed, inputResponses={"approval": ACCEPT})
    clock.move(seconds=LIFE.total_seconds() + 1)
    await refused(me, **answered(asked, ACCEPT))
    assert await me.total() == 1


async def test_sec_116_a_state_that_is_given_to_another_tool_does_nothing(me, vault):
    asked = await question(me)
    meta = {CAPABILITIES: {"elicitation": {}}}
    other = modern("tools/call", name="memory_status", arguments={}, _meta=meta, **answered(asked, ACCEPT))
    assert (await post(me.http, other)).json()["result"]["structuredContent"]["totalMemories"] == 1
    assert (await call(me))["structuredContent"]["error"]["code"] == "approval_required"


async def test_refusals_of_every_kind_read_the_same(me, vault, clock):
    asked, said = await question(me), set()
    said.add(await refused(me, requestState="x", inputResponses={"approval": ACCEPT}))
    await call(me, FORM, **answered(asked, DECLINE))
    said.add(await refused(me, **answered(asked, ACCEPT)))
    asked = await question(me)
    said.add(await refused(me, arguments={"confirmation": "DELETE"}, **answered(asked, ACCEPT)))
    clock.move(seconds=LIFE.total_seconds())
    said.add(await refused(me, **answered(asked, ACCEPT)))
    assert len(said) == 1


@pytest.mark.parametrize("declared", [True, [], "form", None])
async def test_what_is_no_declaration_of_elicitation_is_none(me, vault, declared):
    meta = {CAPABILITIES: {"elicitation": declared}}
    answer = await post(me.http, modern("tools/call", name="forget_all_memories", arguments=PHRASE, _meta=meta))
    assert "input_required" not in answer.text
    assert await me.total() == 1


async def test_nobody_is_asked_where_the_owner_does_not_want_it(app, me, vault):
    await app.approvals.choose(OWNER, vault, "off")
    assert (await call(me, FORM))["structuredContent"]["deleted"]


async def test_the_answer_in_the_client_is_in_the_trail(app, me, vault):
    asked = await question(me)
    await call(me, FORM, **answered(asked, ACCEPT))
    who = replace(await app.local(), credential="cli")
    acts = [act for act in (await app.trail.of_vault(who, vault)).entries if act.action.startswith("approvals")]
    assert sorted(act.action for act in acts) == ["approvals approve", "approvals ask", "approvals use"]
    assert {act.credential for act in acts} == {"key"}


@pytest.mark.usefixtures("vault")
@pytest.mark.parametrize(("answer", "left"), [("accept", 0), ("decline", 1), ("cancel", 1)])
async def test_the_official_client_asks_its_person_and_makes_the_call_again(app, server, me, answer, left):
    heard = []

    async def person(_context, params):
        heard.append(params.message)
        return ElicitResult(action=answer)

    _, key = await app.keys.create(await app.local(), name="official", scopes=frozenset(Scope))
    headers = {"authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=server), headers=headers) as http,
        Client(streamable_http_client(f"{HERE}/mcp", http_client=http), elicitation_callback=person) as client,
    ):
        result = await client.call_tool("forget_all_memories", PHRASE)
    assert len(heard) == 1
    assert not result.is_error
    assert result.structured_content["deleted"] == (answer == "accept")
    assert await me.total() == left
