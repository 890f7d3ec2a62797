"""Apps that are known by a document, at the authorization endpoint: when it is fetched, and what of it shows."""

import asyncio
from dataclasses import replace
from typing import Any, get_args

import pytest

from archivist.app import OWNER
from archivist.domain.ids import UserId
from archivist.fetching import fallbacks
from archivist.fetching.documents import Reason
from tests.security.documents import Shelf, a_document
from tests.security.signing_in import LOOPBACK, OUTSIDE, READ, REVOKE, Answer, Asked, Flow, answered, opened, refused
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow

pytestmark = pytest.mark.anyio

ADDRESS = "https://client.example/app.json"
CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"


@pytest.fixture
def shelf(flow: Flow) -> Shelf:
    """Documents that the server finds on the internet."""
    return Shelf.behind(flow.app)


@pytest.fixture
def known(flow: Flow, shelf: Shelf) -> Flow:
    """An app that is known by its document."""
    return replace(flow, client=shelf.put(ADDRESS, a_document()))


def reason(answer: Answer) -> str:
    """The word for the app's maker, on a page that leads nowhere."""
    assert (answer.status_code, "location" in answer.headers) == (400, False)
    return Asked(answer.text).text.rpartition("Reason for the app’s maker: ")[2]


async def test_sec_096_nobody_who_is_not_signed_in_causes_a_fetch(flow, known, shelf):
    stranger = flow.hall.browser()
    for method in ("GET", "HEAD"):
        assert (await stranger.ask(method, known.question())).status_code == 200
    await stranger.post(known.question(), {"name": "Ana", "password": "wrong"})
    await stranger.post(known.question(), {"decision": "allow", "transaction": "avt_" + "A" * 43})
    for form in ({"token": "x"}, {"grant_type": "refresh_token", "refresh_token": "x"}):
        await known.call(REVOKE if "token" in form else "/oauth/token", {**form, "client_id": ADDRESS})
    await known.register(redirect_uris=[OUTSIDE], client_id=ADDRESS, client_uri=ADDRESS)
    assert shelf.asked == []
    half = flow.hall.browser()
    await half.get(known.question())
    assert shelf.asked == []


async def test_sec_096_it_is_fetched_once_for_whoever_is_signed_in(known, shelf):
    for _ in range(3):
        assert (await known.ask()).status_code == 200
    assert shelf.asked == [ADDRESS]


async def test_sec_096_fifty_questions_at_once_are_one_fetch(known, shelf):
    shelf.waits = asyncio.Event()
    questions = [asyncio.create_task(known.of(known.person.twin()).ask()) for _ in range(50)]
    await shelf.began.wait()
    shelf.waits.set()
    assert {answer.status_code for answer in await asyncio.gather(*questions)} == {200}
    assert shelf.asked == [ADDRESS]


async def test_sec_096_one_person_causes_five_fetches_in_a_minute(flow, known, shelf):
    bob = await flow.hall.joined("Bob")
    addresses = [shelf.put(f"https://client{number}.example/app.json", a_document()) for number in range(7)]
    answers = [await flow.ask(client_id=address) for address in addresses]
    assert [answer.status_code for answer in answers] == [200] * 5 + [400] * 2
    assert reason(answers[-1]) == "too_often"
    assert len(shelf.asked) == 5
    assert (await flow.of(bob).ask(client_id=addresses[5])).status_code == 200
    flow.clock.move(minutes=1)
    assert (await flow.ask(client_id=addresses[6])).status_code == 200


async def test_sec_096_one_host_is_asked_ten_times_in_an_hour_by_all_together(flow, shelf):
    for number in range(11):
        flow.clock.move(minutes=1)
        address = shelf.put(f"https://client.example/app{number}.json", a_document())
        assert (await flow.ask(client_id=address)).status_code == (200 if number < 10 else 400)
    assert len(shelf.asked) == 10


async def test_sec_101_a_question_that_is_open_is_about_the_document_as_it_was_shown(flow, known, shelf):
    page = await known.ask()
    flow.clock.move(minutes=6)
    shelf.put(ADDRESS, a_document(client_name="Another", redirect_uris=[OUTSIDE]))
    assert (await known.ask(redirect_uri=OUTSIDE)).status_code == 200
    answer = await known.decide(page, scope=[READ])
    assert answer.headers["location"].startswith(LOOPBACK)
    assert (await known.exchange(answered(answer)["code"])).status_code == 200
    [grant] = await flow.rows("grants")
    assert grant["client_name"] == "A described app"
    assert "It has changed" in Asked((await known.ask(redirect_uri=OUTSIDE)).text).text


FAILURES = [one for one in get_args(Reason) if one not in ("address", "own")]


@pytest.mark.parametrize("failure", FAILURES)
async def test_sec_103_a_failed_fetch_is_told_alike_whatever_happened(flow, known, shelf, failure):
    """Refused, too slow, status 500, another type: the page is the same bytes, and nothing of the target is in it."""
    shelf.failure = failure
    answer = await known.ask(state="mine")
    assert reason(answer) == "document_unreachable"
    shelf.failure = "not_resolved"
    flow.clock.move(minutes=1)
    assert (await known.ask()).text == answer.text
    for told in ("client.example", "mine", "127.0.0.1"):
        assert told not in answer.text
    assert await flow.rows("transactions") == []


BROKEN: list[dict[str, Any]] = [
    {"client_id": "https://other.example/app.json"},
    {"redirect_uris": []},
    {"client_name": ""},
    {"client_secret": "x"},
    {"token_endpoint_auth_method": "client_secret_basic"},
]


@pytest.mark.parametrize("changes", BROKEN, ids=range(len(BROKEN)))
async def test_sec_103_a_broken_document_is_told_alike_whatever_is_wrong_with_it(flow, shelf, changes):
    address = shelf.put(ADDRESS, a_document(**changes))
    assert reason(await flow.ask(client_id=address)) == "document_invalid"
    assert await flow.rows("transactions") == []
    assert [row for row in await flow.rows("clients") if row["client_id"] == ADDRESS] == []


async def test_sec_103_a_target_that_the_document_does_not_name_is_refused_here(known):
    assert reason(await known.ask(redirect_uri=OUTSIDE)) == "redirect_uri"


async def test_sec_103_after_a_failure_the_next_try_works(flow, known, shelf):
    shelf.failure = "status"
    assert (await known.ask()).status_code == 400
    shelf.failure = None
    assert (await known.ask()).status_code == 200


async def test_a_copy_that_ships_stands_in_and_the_page_says_so(flow, shelf):
    shelf.failure = "not_resolved"
    page = await flow.ask(client_id=CLAUDE_CODE, redirect_uri="http://localhost:1/callback")
    assert fallbacks.fallback(CLAUDE_CODE) is not None
    assert "could not be fetched" in Asked(page.text).text


SETTINGS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"client_documents": False}, False),
    ({"denied_hosts": ("client.example",)}, False),
    ({"denied_hosts": ("Client.Example",)}, False),
    ({"denied_hosts": ("example", "other.example")}, True),
    ({"document_hosts": ("CLIENT.example",)}, True),
    ({"document_hosts": ("other.example",)}, False),
    ({"document_hosts": ("client.example",), "denied_hosts": ("client.example",)}, False),
]


@pytest.mark.parametrize(("settings", "admitted"), SETTINGS, ids=range(len(SETTINGS)))
async def test_sec_104_operators_say_which_hosts_may_describe_apps(tmp_path, clock, settings, admitted):
    """What was connected before goes on, or stops being refreshed; nothing is fetched that is not admitted."""
    async with opened(tmp_path / "data", clock) as flow:
        shelf = Shelf.behind(flow.app)
        app = replace(flow, client=shelf.put(ADDRESS, a_document()))
        tokens, code = await app.tokens(), await app.code()
    async with opened(tmp_path / "data", clock, **settings) as flow:
        shelf = Shelf.behind(flow.app)
        app = replace(flow, client=shelf.put(ADDRESS, a_document()))
        for person in (flow.person, flow.hall.browser()):
            answer = await flow.of(person).ask(client_id=ADDRESS)
            assert answer.status_code == (200 if admitted else 400)
            assert admitted or reason(answer) == "document_refused"
        assert shelf.asked == ([ADDRESS] if admitted else [])
        refreshed, exchanged = await app.refresh(tokens["refresh_token"]), await app.exchange(code)
        if admitted:
            assert (refreshed.status_code, exchanged.status_code) == (200, 200)
        else:
            assert refused(refreshed, "invalid_grant")
            assert refused(exchanged, "invalid_grant")


async def test_sec_104_a_question_that_is_open_when_its_host_is_denied_is_closed(tmp_path, clock):
    async with opened(tmp_path / "data", clock) as flow:
        shelf = Shelf.behind(flow.app)
        page = await flow.ask(client_id=shelf.put(ADDRESS, a_document()))
        person = flow.person
    async with opened(tmp_path / "data", clock, denied_hosts=("client.example",)) as flow:
        person.server = flow.hall.server
        answer = await flow.of(person).decide(page, scope=[READ])
        assert (answer.status_code, await flow.rows("codes")) == (400, [])


async def test_sec_105_no_address_in_a_document_is_asked_for(flow, shelf):
    came = 0

    async def visited(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal came
        came += 1
        writer.close()

    listener = await asyncio.start_server(visited, "127.0.0.1", 0)
    try:
        port = listener.sockets[0].getsockname()[1]
        names = ("client_uri", "logo_uri", "tos_uri", "policy_uri", "jwks_uri", "software_statement")
        urls = {name: f"https://127.0.0.1:{port}/{name}" for name in names}
        document = a_document(token_endpoint_auth_method="private_key_jwt", **urls)
        app = replace(flow, client=shelf.put(ADDRESS, document))
        page = await app.ask()
        assert str(port) not in page.text
        tokens = await app.tokens()
        await app.refresh(tokens["refresh_token"])
    finally:
        listener.close()
        await listener.wait_closed()
    assert (came, shelf.asked) == (0, [ADDRESS])


@pytest.mark.parametrize("path", ["/app.json", "/mcp", "/.well-known/oauth-authorization-server"])
async def test_sec_106_an_app_on_our_own_host_is_refused_and_not_fetched(tmp_path, clock, path):
    async with opened(tmp_path / "data", clock, public_url="https://memory.example.org") as flow:
        shelf = Shelf.behind(flow.app)
        address = shelf.put(f"https://memory.example.org{path}", a_document())
        assert reason(await flow.ask(client_id=address)) == "document_refused"
        assert shelf.asked == []


async def test_sec_106_a_name_that_turns_out_to_be_ours_is_refused(flow, known, shelf):
    shelf.failure = "own"
    assert reason(await known.ask()) == "document_refused"


async def test_documents_are_remembered_so_that_programs_cause_no_fetch(flow, known, shelf):
    await known.tokens()
    [row] = [row for row in await flow.rows("clients") if row["client_id"] == ADDRESS]
    assert (row["kind"], row["method"], row["secret"]) == ("document", "none", "")
    assert UserId("") not in [grant["user"] for grant in await flow.rows("grants")]


async def test_sec_137_an_app_blocked_while_its_document_is_fetched_stays_blocked(flow, known, shelf):
    await known.tokens()
    shelf.put(ADDRESS, a_document(client_name="Another name"))
    flow.clock.move(hours=25)
    await flow.person.sign_in()
    shelf.waits = asyncio.Event()
    shelf.began.clear()
    asking = asyncio.create_task(known.ask())
    await shelf.began.wait()
    await flow.app.clients.set_blocked(OWNER, ADDRESS, blocked=True)
    shelf.waits.set()
    await asking
    [client] = [one for one in await flow.app.clients.list(OWNER) if one.client_id == ADDRESS]
    assert client.blocked is not None
    assert client.name == "Another name"
    assert reason(await known.ask()) == "client_blocked"
