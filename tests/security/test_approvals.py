"""Emptying a vault where its owner is asked: the phrase alone is not enough, and a program cannot forge the yes."""

import asyncio
from typing import Any

import pytest

from archivist.app import OWNER, App
from archivist.domain.access import Principal, Scope
from archivist.domain.approvals import LIFE
from archivist.domain.errors import NotFound
from archivist.server import asgi
from archivist.services.deletion import DELETE_ALL
from archivist.settings import Settings
from tests.faces.mcp.conversations import Person
from tests.faces.mcp.talking import client, modern, post
from tests.people import arrived

pytestmark = pytest.mark.anyio
PHRASES = [
    "",
    "delete all memories",
    "Delete All Memories",
    "DELETE ALL MEMORIES ",
    " DELETE ALL MEMORIES",
    "DELETE  ALL MEMORIES",
    "DELETE\u00a0ALL MEMORIES",
    '"DELETE ALL MEMORIES"',
    "DELETE ALL MEMORIE\u0405",
    "DELETE SELECTED MEMORIES",
]


@pytest.fixture
async def ana(app: App, me: Person) -> Principal:
    """The owner of the vault of `me`, signed in. It holds a memory, and she is asked on a page."""
    await me.store("a fact")
    ana = await arrived(app, "Ana")
    await app.approvals.choose(ana, await vault_of(app), "page")
    return ana


async def vault_of(app: App) -> Any:
    return (await app.local()).vault


async def question_of(person: Person) -> str:
    error = await person.error("forget_all_memories", confirmation=DELETE_ALL)
    assert error["code"] == "approval_required"
    return str(error["approval_url"]).rpartition("/")[2]


@pytest.mark.parametrize("phrase", PHRASES)
async def test_sec_187_a_near_phrase_opens_no_question(app: App, me: Person, ana: Principal, phrase: str):
    assert (await me.error("forget_all_memories", confirmation=phrase))["code"] == "confirmation_required"
    assert await app.approvals.pending(ana, await vault_of(app)) == []
    assert await me.total() == 1


async def test_sec_187_the_phrase_alone_empties_nothing(app: App, me: Person, ana: Principal):
    for _ in range(3):
        await question_of(me)
    assert len(await app.approvals.pending(ana, await vault_of(app))) == 1
    assert await me.total() == 1


async def test_sec_187_an_approval_is_used_once_also_by_many_calls_at_once(app: App, me: Person, ana: Principal):
    await app.approvals.approve(ana, await vault_of(app), await question_of(me))
    done = await asyncio.gather(*(me.call("forget_all_memories", confirmation=DELETE_ALL) for _ in range(6)))
    assert [bool(one.get("isError")) for one in done].count(False) == 1


async def test_sec_187_an_approval_does_not_serve_another_connection_or_vault(
    app: App, me: Person, stranger: Person, ana: Principal
):
    other = next(one.id for one in await app.vaults.list(OWNER) if one.name == "other")
    await stranger.store("theirs")
    await app.approvals.choose(ana, other, "page")
    await app.approvals.approve(ana, await vault_of(app), await question_of(me))
    async with Person.connected(app, asgi(app, Settings()), *Scope) as twin:
        await question_of(twin)
    await question_of(stranger)
    assert (await me.total(), await stranger.total()) == (1, 1)


async def test_sec_187_an_approval_does_not_serve_after_its_time(app: App, me: Person, ana: Principal):
    question = await question_of(me)
    await app.approvals.approve(ana, await vault_of(app), question)
    app.approvals.now.move(seconds=LIFE.total_seconds())  # type: ignore[attr-defined]  # the clock of the tests
    assert await question_of(me) != question
    assert await me.total() == 1


async def test_sec_187_the_credential_that_asked_cannot_approve_itself(app: App, ana: Principal):
    """It opens no page, and the answer that it writes for its person is not believed."""
    vault, server = await vault_of(app), asgi(app, Settings())
    _, key = await app.keys.create(await app.local(), name="script", scopes=frozenset(Scope))
    async with client(server, key=key) as http:
        person = Person(http)
        question = await question_of(person)
        for act in ("", "/approve", "/refuse"):
            page = f"/app/vaults/{vault}/approvals/{question}{act}"
            for answer in (await http.get(page), await http.post(page, data={"word": "delete"})):
                assert "memories" not in answer.text
        declared = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}, "url": {}}}}
        call = {"name": "forget_all_memories", "arguments": {"confirmation": DELETE_ALL}, "_meta": declared}
        asked = (await post(http, modern("tools/call", **call))).json()["result"]
        retry = {"requestState": asked["requestState"], "inputResponses": {"approval": {"action": "accept"}}}
        told = (await post(http, modern("tools/call", **call, **retry))).json()["result"]
        assert told["structuredContent"]["error"]["code"] == "approval_required"
        assert await person.total() == 1


async def test_sec_116_the_id_of_a_question_opens_it_for_its_deciders_alone(app: App, me: Person, ana: Principal):
    question, vault = await question_of(me), await vault_of(app)
    bob = await arrived(app, "Bob")
    other = await app.vaults.create(bob, "his", "project")
    for who, where in ((bob, vault), (bob, other.id), (ana, other.id)):
        with pytest.raises(NotFound, match="this question is over, or it is not yours to answer"):
            await app.approvals.approve(who, where, question)
    await question_of(me)
    assert await me.total() == 1
