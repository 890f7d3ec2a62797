"""Documents that are kept: one fetch for all, within budgets, never a failure, and what stands in for one."""

import asyncio
import json
from datetime import date, timedelta

import pytest

from archivist.domain.documents import InvalidDocument
from archivist.domain.errors import RateLimited
from archivist.fetching import cached
from archivist.fetching.cached import CachedDocuments
from archivist.fetching.documents import Fetched, FetchFailed, Reason
from tests.builders import Clock

pytestmark = pytest.mark.anyio

HERE = "https://app.example/client.json"
CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"
HOUR = timedelta(hours=1)


def a_body(address: str = HERE, name: str = "App") -> bytes:
    members = {"client_id": address, "client_name": name, "redirect_uris": ["http://127.0.0.1/cb", "cursor://x"]}
    return json.dumps(members).encode()


class Source:
    """Gives `body` or fails with `failure`, once `open` is set; `asked` keeps the addresses."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.body: bytes | None = None
        self.failure: Reason | None = None
        self.max_age = HOUR
        self.open = asyncio.Event()
        self.open.set()

    async def fetch(self, address: str) -> Fetched:
        self.asked.append(address)
        await self.open.wait()
        if self.failure:
            raise FetchFailed(self.failure)
        return Fetched(self.body or a_body(address), self.max_age)


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def documents(source: Source, clock: Clock) -> CachedDocuments:
    return CachedDocuments(source, frozenset(), clock)


async def others_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_sec_101_a_good_document_is_fetched_again_only_when_it_is_old(documents, source, clock):
    first = await documents.get(HERE, "ana")
    source.body = a_body(name="New")
    clock.move(minutes=59)
    assert await documents.get(HERE, "ben") == first
    clock.move(minutes=1)
    assert (await documents.get(HERE, "ana")).document.name == "New"
    assert source.asked == [HERE] * 2


async def test_sec_101_a_clock_that_was_set_back_makes_no_copy_last_longer(documents, source, clock):
    await documents.get(HERE, "ana")
    clock.move(days=-365)
    await documents.get(HERE, "ana")
    assert len(source.asked) == 2


@pytest.mark.parametrize("failure", ["status", "timeout", "not_public", "type", "tls"])
async def test_sec_101_a_failure_is_not_kept(documents, source, failure):
    source.failure = failure
    with pytest.raises(FetchFailed, match=failure):
        await documents.get(HERE, "ana")
    source.failure = None
    assert (await documents.get(HERE, "ana")).document.name == "App"


async def test_sec_101_an_invalid_document_is_not_kept(documents, source):
    source.body = b"{}"
    with pytest.raises(InvalidDocument, match="client_id"):
        await documents.get(HERE, "ana")
    source.body = None
    assert (await documents.get(HERE, "ana")).document.name == "App"


@pytest.mark.parametrize("failure", ["timeout", "refused", "not_resolved"])
async def test_the_last_good_copy_stands_in_for_a_day_if_the_server_is_not_heard(documents, source, clock, failure):
    await documents.get(HERE, "ana")
    source.failure = failure
    clock.move(hours=23)
    assert (await documents.get(HERE, "ana")).document.name == "App"
    clock.move(hours=1)
    with pytest.raises(FetchFailed, match=failure):
        await documents.get(HERE, "ana")


@pytest.mark.parametrize("failure", ["status", "type", "tls", "not_public", "too_large"])
async def test_the_last_good_copy_does_not_outlive_another_answer(documents, source, clock, failure):
    await documents.get(HERE, "ana")
    clock.move(hours=1)
    source.failure = failure
    with pytest.raises(FetchFailed, match=failure):
        await documents.get(HERE, "ana")
    source.failure = "timeout"
    with pytest.raises(FetchFailed, match="timeout"):
        await documents.get(HERE, "ana")


async def test_sec_096_fifty_requests_at_once_by_one_user_make_one_fetch(documents, source):
    source.open.clear()
    asking = [asyncio.create_task(documents.get(HERE, "ana")) for _ in range(50)]
    await others_run()
    source.open.set()
    assert {found.document.name for found in await asyncio.gather(*asking)} == {"App"}
    assert source.asked == [HERE]


async def test_sec_096_a_failure_is_told_to_all_who_wait_for_it(documents, source):
    source.open.clear()
    asking = [asyncio.create_task(documents.get(HERE, user)) for user in ("ana", "ben")]
    await others_run()
    source.failure = "status"
    source.open.set()
    told = await asyncio.gather(*asking, return_exceptions=True)
    assert [str(failure) for failure in told] == ["status", "status"]
    assert source.asked == [HERE]


async def test_who_hangs_up_does_not_end_the_fetch_for_the_others(documents, source):
    source.open.clear()
    first, second = (asyncio.create_task(documents.get(HERE, user)) for user in ("ana", "ben"))
    await others_run()
    first.cancel()
    await others_run()
    source.open.set()
    assert (await second).document.name == "App"
    assert source.asked == [HERE]


async def test_a_failure_that_nobody_waits_for_any_more_is_no_warning(documents, source):
    source.open.clear()
    asking = asyncio.create_task(documents.get(HERE, "ana"))
    await others_run()
    asking.cancel()
    source.failure = "status"
    source.open.set()
    await others_run()
    source.failure = None
    assert (await documents.get(HERE, "ana")).document.name == "App"


async def test_closing_ends_what_is_under_way(documents, source):
    source.open.clear()
    asking = asyncio.create_task(documents.get(HERE, "ana"))
    await others_run()
    await documents.close()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_sec_096_a_user_has_five_fetches_a_minute_and_the_sixth_looks_nothing_up(documents, source, clock):
    for number in range(5):
        await documents.get(f"https://app{number}.example/c", "ana")
    with pytest.raises(RateLimited) as refused:
        await documents.get("https://app5.example/c", "ana")
    assert (refused.value.retry_after, len(source.asked)) == (60, 5)
    assert (await documents.get("https://app0.example/c", "ana")).document.host == "app0.example"
    await documents.get("https://app6.example/c", "ben")
    clock.move(minutes=1)
    await documents.get("https://app5.example/c", "ana")


async def test_sec_096_a_host_has_ten_fetches_an_hour_whoever_asks(documents, source, clock):
    for number in range(10):
        await documents.get(f"https://app.example/{number}", f"user {number}")
    with pytest.raises(RateLimited) as refused:
        await documents.get("https://app.example/10", "ana")
    assert (refused.value.retry_after, len(source.asked)) == (3600, 10)
    clock.move(hours=1)
    await documents.get("https://app.example/10", "ana")


async def test_sec_096_what_the_host_refuses_costs_the_user_nothing(documents):
    for number in range(10):
        await documents.get(f"https://app.example/{number}", f"user {number}")
    for _ in range(9):
        with pytest.raises(RateLimited):
            await documents.get("https://app.example/10", "ana")
    await documents.get("https://other.example/c", "ana")


async def test_sec_096_kept_documents_take_bounded_memory(documents, source, monkeypatch):
    monkeypatch.setattr(cached, "KEPT", 2)
    for host in ("a", "b", "c", "a"):
        await documents.get(f"https://{host}.example/c", host)
    assert [address[8] for address in source.asked] == ["a", "b", "c", "a"]


async def test_a_shipped_document_stands_in_only_if_the_fetch_fails_and_is_dated(documents, source):
    source.failure = "refused"
    found = await documents.get(CLAUDE_CODE, "ana")
    assert (found.document.name, found.dated) == ("Claude Code", date(2026, 9, 16))
    source.failure, source.body = None, a_body(CLAUDE_CODE, "Claude Code 3")
    found = await documents.get(CLAUDE_CODE, "ana")
    assert (found.document.name, found.dated) == ("Claude Code 3", None)


async def test_a_shipped_document_stands_in_once_the_budget_is_used_up(documents, source):
    source.failure = "refused"
    for _ in range(8):
        assert (await documents.get(CLAUDE_CODE, "ana")).dated is not None
    assert len(source.asked) == 5


async def test_an_invalid_document_is_not_replaced_by_a_shipped_one(documents, source):
    source.body = b"{}"
    with pytest.raises(InvalidDocument):
        await documents.get(CLAUDE_CODE, "ana")


async def test_the_operators_schemes_hold_for_documents(source, clock):
    strict, lenient = (CachedDocuments(source, schemes, clock) for schemes in (frozenset(), frozenset({"cursor"})))
    assert (await strict.get(HERE, "ana")).document.redirect_uris == ("http://127.0.0.1/cb",)
    assert (await lenient.get(HERE, "ana")).document.redirect_uris == ("http://127.0.0.1/cb", "cursor://x")
