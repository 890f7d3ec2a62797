"""One promise for every app that signs its person in: they are asked once, in their browser, and then it works.

The server knows no app by a document here, so all of them register. See test_aging for the rest of their lives.
"""

from dataclasses import dataclass

import anyio
import pytest

from tests.clients.apps import APPS, App
from tests.clients.people import READ, VAULT, WRITE, Connection, Person, Question, connections, questions
from tests.clients.serving import Server
from tests.clients.visits import Errand, Fact, Signed, Visit

TOOLS = {
    "search_memories", "date_search_memories", "store_memory", "memory_status", "forget_all_memories",
    "consolidate_memories", "commit_reflections", "inspect_memory", "delete_memories", "search",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """Two visits of one app: the first signed in, looked around and stored the fact; the second is a new connection."""

    app: App
    fact: Fact
    stored: Visit
    found: Visit
    asked: list[Question]
    connections: list[Connection]


@pytest.fixture(scope="module", params=APPS)
def seen(request: pytest.FixtureRequest, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    app, fact, home = APPS[request.param], Fact(), tmp_path_factory.mktemp("home")
    target = Signed(server.url, Person((f"{READ} {WRITE}",)))
    stored = anyio.run(app.visit, Errand(target, [fact.storing], home, look=True))
    found = anyio.run(app.visit, Errand(target, [fact.asking], home, look=False))
    return Seen(app, fact, stored, found, questions(home), anyio.run(connections, server.data, home))


def test_it_lists_the_tools_and_reads_the_resources(seen):
    assert set(seen.stored.tools) == TOOLS
    assert "totalMemories" in seen.stored.read


def test_what_it_stored_is_found_by_its_next_connection(seen):
    assert seen.fact.phrase not in seen.stored.answers[0]
    assert seen.fact.phrase in seen.found.answers[0]


def test_its_person_is_asked_once_and_for_reading_alone(seen, server):
    [question] = seen.asked
    assert question.parameters["scope"] == READ
    assert question.parameters["resource"] == server.url
    assert question.parameters["code_challenge_method"] == "S256"


def test_the_page_shows_what_it_calls_itself_and_that_this_is_not_verified(seen):
    [question] = seen.asked
    assert question.parameters["client_id"].startswith("app-")
    assert f"An app that calls itself {seen.app.name} " in question.page
    assert "on this computer not verified" in question.page


def test_it_is_connected_to_the_vault_that_was_picked_with_the_rights_that_were_ticked(seen, server):
    [connection] = seen.connections
    assert (connection.vault, connection.scopes) == (VAULT, {READ, WRITE})
    assert {one["target"] for one in server.uses(connection.id)} >= {"store_memory", "search_memories"}
