"""The life of a connection, for every app: signed in, an hour later, and when it wants more than it was allowed.

The person allows reading alone at first, and whatever is asked for after that. The server has no way out, and its clock
is put forward.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
import pytest

from archivist.fetching.fallbacks import fallback
from tests.clients.apps import APPS, App
from tests.clients.people import READ, VAULT, WRITE, Connection, Person, Question, connections, questions
from tests.clients.serving import Asked, Clocked
from tests.clients.visits import Errand, Fact, Signed

HOUR = 61 * 60
PERSON = Person((READ, f"{READ} {WRITE}"))
STEPPING = [name for name, app in APPS.items() if not app.says]
STUCK = [name for name, app in APPS.items() if app.says]
DOCUMENTED = [name for name, app in APPS.items() if app.document]


@dataclass(frozen=True, slots=True)
class Chapter:
    """One visit: what the app answered, what the server was asked during it, what there was after it."""

    answer: str
    wire: list[Asked]
    asked: list[Question]
    connections: list[Connection]


@dataclass(frozen=True, slots=True)
class Life:
    """Four visits of one app: it asks; an hour later it asks again; it wants to store a fact; it asks for that."""

    app: App
    fact: Fact
    signed_in: Chapter
    later: Chapter
    wanting: Chapter
    after: Chapter


@pytest.fixture(scope="module", params=APPS)
def life(request: pytest.FixtureRequest, aged: Clocked, tmp_path_factory: pytest.TempPathFactory) -> Life:
    app, fact, home = APPS[request.param], Fact(), tmp_path_factory.mktemp("home")

    def chapters() -> Iterator[Chapter]:
        for call, later in ((fact.asking, 0), (fact.asking, HOUR), (fact.storing, 0), (fact.asking, 0)):
            aged.put_forward(later)
            before = len(aged.wire())
            errand = Errand(Signed(aged.server.url, PERSON), [call], home, look=False, later=later)
            [answer] = anyio.run(app.visit, errand).answers
            there = anyio.run(connections, aged.server.data, home)
            yield Chapter(answer, aged.wire()[before:], questions(home), there)

    return Life(app, fact, *chapters())


def test_it_finds_its_way_from_a_refusal_to_its_tokens(life):
    registering = [] if life.app.document else ["POST /oauth/register 201"]
    way = [
        *(["/mcp 401"] if life.app.knocks else []),
        "GET /.well-known/oauth-protected-resource/mcp 200",
        "GET /.well-known/oauth-authorization-server 200",
        *registering,
        "GET /oauth/authorize 200",
        "POST /oauth/token 200 authorization_code",
        "POST /mcp 200 carried",
    ]
    assert missing(way, life.signed_in.wire) == []


def test_its_person_allows_reading_alone(life):
    [question] = life.signed_in.asked
    [connection] = life.signed_in.connections
    assert (question.parameters["scope"], question.allowed) == (READ, [READ])
    assert (connection.vault, connection.scopes) == (VAULT, {READ})


@pytest.mark.parametrize("life", DOCUMENTED, indirect=True)
def test_an_app_with_a_document_is_known_by_it_and_the_page_says_that_a_copy_is_used(life):
    [question] = life.signed_in.asked
    copy = fallback(life.app.document)
    assert copy is not None
    assert question.parameters["client_id"] == life.app.document
    assert f"Its description lies at {urlsplit(life.app.document).hostname}" in question.page
    assert f"could not be fetched. The copy of {copy.dated.day} {copy.dated:%B %Y} that came" in question.page
    assert [one.path for one in life.signed_in.wire if one.path == "/oauth/register"] == []


def test_an_hour_later_it_refreshes_and_its_person_is_not_asked(life):
    assert life.later.asked == life.signed_in.asked
    assert life.later.connections == life.signed_in.connections
    assert [(one.grant, one.status) for one in life.later.wire if one.grant] == [("refresh_token", 200)]
    assert missing(["/token 200 refresh_token", "POST /mcp 200 carried"], life.later.wire) == []


@pytest.mark.parametrize("life", STEPPING, indirect=True)
def test_an_app_that_can_asks_for_more_within_the_same_connection(life):
    _, question = life.wanting.asked
    [before], [now] = life.later.connections, life.wanting.connections
    assert question.parameters["scope"] == f"{READ} {WRITE}"
    assert "Change vault" in question.page
    assert (now.id, now.vault, now.scopes) == (before.id, before.vault, {READ, WRITE})
    assert [one.status for one in life.wanting.wire if one.status == 403] == [403]
    assert life.fact.phrase in life.after.answer


@pytest.mark.parametrize("life", STUCK, indirect=True)
def test_an_app_that_cannot_ask_for_more_says_so_and_nothing_is_stored(life):
    assert life.app.says in life.wanting.answer
    assert life.wanting.asked == life.signed_in.asked
    assert life.wanting.connections == life.signed_in.connections
    assert life.fact.phrase not in life.after.answer


def missing(way: Sequence[str], wire: Sequence[Asked]) -> list[str]:
    """What of `way` the wire does not show in this order; each step names a part of what a request looks like."""
    left = list(way)
    for one in wire:
        seen = f"{one.method} {one.path} {one.status} {one.grant}{'carried' if one.carried else ''}"
        if left and left[0] in seen:
            left.pop(0)
    return left
