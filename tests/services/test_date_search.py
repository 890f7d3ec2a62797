"""Windows of event time: whose days they are, in which order they come, and how cut pages go on."""

import asyncio
import random
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archivist.app import OWNER, assemble
from archivist.domain.access import LOCAL_OWNER, Scope
from archivist.domain.budget import CUT
from archivist.domain.dates import cursor
from archivist.domain.errors import InsufficientScope, InvalidArgument, NotFound
from archivist.domain.ids import CONTROL, MemoryId
from archivist.domain.limits import SEARCH_LIMIT
from archivist.embedders.hashed import HashedEmbedder
from archivist.services.deletion import DELETE_SELECTED
from archivist.settings import Settings
from archivist.storage import audit
from archivist.storage.people import users
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import NOON, Clock, a_memory, an_id
from tests.services.planting import plant

pytestmark = pytest.mark.anyio
LEAST = 1_000
DAY = {"start": "2026-11-30", "end": "2026-12-01"}


def texts(page):
    return [row.memory.text for row in page.rows]


async def numbered(app, who, count, **same):
    """Memories 0.. a minute apart, each with its number for a text."""
    changes = [{"event": NOON + timedelta(minutes=n), "text": str(n), **same} for n in range(count)]
    await plant(app, who, [a_memory(n, **change) for n, change in enumerate(changes)])


async def next_page(app, who, order, page, **more):
    """The page behind `page`, as its cursor asks for it."""
    bounds = {**DAY, "end": page.next_to} if order == "newest_first" else {**DAY, "start": page.next_from}
    return await app.search.by_date(who, order=order, max_tokens=LEAST, **{**bounds, **more})


# Whose days they are


async def in_zone(app, zone):
    await app.accounts.create(OWNER, "Ana")
    await app.accounts.set_zone(OWNER, "Ana", zone)


async def test_a_day_is_utc_until_there_is_an_account_and_then_that_of_the_account(app, me):
    await plant(app, me, [a_memory(1, text="late", event=NOON.replace(hour=23, minute=30))])
    assert texts(await app.search.by_date(me, start="2026-11-30", end="2026-11-30")) == ["late"]
    await app.accounts.create(OWNER, "Ana")
    assert texts(await app.search.by_date(me, start="2026-11-30", end="2026-11-30")) == ["late"]
    await app.accounts.set_zone(OWNER, "Ana", "Europe/Berlin")
    assert texts(await app.search.by_date(me, start="2026-11-30", end="2026-11-30")) == []
    page = await app.search.by_date(me, start="2026-12-01", end="2026-12-01")
    assert (texts(page), page.start) == (["late"], "2026-11-30T23:00:00.000000Z")


async def test_a_moment_without_an_offset_is_the_account_s_and_one_with_it_is_not(app, me):
    await in_zone(app, "Asia/Kathmandu")
    page = await app.search.by_date(me, start="2026-11-30T12:00", end="2026-11-30T12:00Z")
    assert (page.start, page.end) == ("2026-11-30T06:15:00.000000Z", "2026-11-30T12:00:00.000000Z")


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-30", 24)])
async def test_a_day_on_which_clocks_are_set_is_whole(app, me, day, hours):
    await in_zone(app, "Europe/Berlin")
    page = await app.search.by_date(me, start=day, end=day)
    edge = timedelta(microseconds=1)
    first = NOON.fromisoformat(page.start)
    last = first + timedelta(hours=hours) - edge
    events = [first - edge, first, last, last + edge]
    await plant(app, me, [a_memory(n, text=f"day {n}", event=event) for n, event in enumerate(events)])
    assert texts(await app.search.by_date(me, start=day, end=day)) == ["day 2", "day 1"]
    assert {*texts(await app.search.by_date(me, start=day, end=day, query="day"))} == {"day 2", "day 1"}


async def test_a_zone_that_this_computer_does_not_know_is_told_only_where_it_is_needed(app, me):
    user, _ = await app.accounts.create(OWNER, "Ana")
    await (await app.stores.control()).apply([users.set_zone(user.id, "Atlantis/Capital")])
    assert (await app.search.by_date(me, start="2026-11-30T00:00Z", end="2026-12-01T00:00Z")).rows == []
    for field, bounds in (("from", {"start": "2026-11-30"}), ("to", {"start": "2026-11-30T00Z", "end": "2026-11-30"})):
        with pytest.raises(InvalidArgument, match=f"^{field}: .*add an offset"):
            await app.search.by_date(me, **bounds)


async def test_a_zone_is_set_taken_back_and_each_time_leaves_an_entry(app, me):
    user, _ = await app.accounts.create(OWNER, "Ana")
    assert user.id == LOCAL_OWNER
    assert (await app.accounts.set_zone(OWNER, "ana", "america/sao_paulo")).zone == "America/Sao_Paulo"
    assert (await app.accounts.set_zone(OWNER, "Ana", "UTC")).zone == ""
    assert (await app.accounts.me(me)).zone == ""
    control = await app.stores.control()
    acts = [act for act in await audit.of_user(control, CONTROL, user.id, 10) if act.action == "users zone"]
    assert [act.target for act in acts] == [user.id] * 2


async def test_a_zone_that_there_is_not_and_a_person_that_there_is_not_are_refused(app, me):
    await in_zone(app, "Europe/Berlin")
    with pytest.raises(InvalidArgument, match="zone: must be an IANA time zone"):
        await app.accounts.set_zone(OWNER, "Ana", "Berlin")
    with pytest.raises(NotFound):
        await app.accounts.set_zone(OWNER, "Bo", "UTC")
    assert (await app.accounts.me(me)).zone == "Europe/Berlin"


# In which order they come


@pytest.mark.parametrize(
    ("order", "there"), [(None, "3210"), ("newest_first", "3210"), ("oldest_first", "0123")], ids=str
)
async def test_without_a_query_the_order_is_by_time(app, me, order, there):
    await numbered(app, me, 4)
    assert "".join(texts(await app.search.by_date(me, **DAY, order=order))) == there


@pytest.mark.parametrize(
    ("order", "query", "rule"),
    [
        ("oldest", None, "must be newest_first or oldest_first"),
        ("", None, "must be newest_first or oldest_first"),
        ("newest_first", "boat", "goes without query only"),
        ("oldest_first", "boat", "goes without query only"),
    ],
)
async def test_an_order_that_there_is_not_or_beside_a_query_is_refused(app, me, order, query, rule):
    with pytest.raises(InvalidArgument, match=f"^order: {rule}"):
        await app.search.by_date(me, **DAY, order=order, query=query)


async def test_the_filters_hold_in_both_orders(app, me):
    rows = [
        a_memory(1, text="raw"),
        a_memory(2, text="minor", tier=2, importance=3),
        a_memory(3, text="major", tier=2, importance=8),
        a_memory(4, text="top", tier=3, importance=9),
        a_memory(5, text="put away", tier=3, importance=9, archived=True),
    ]
    await plant(app, me, rows)
    for order in ("newest_first", "oldest_first"):
        page = await app.search.by_date(me, **DAY, tiers=[2, 3], importance=8, order=order)
        assert sorted(texts(page)) == ["major", "top"]


async def test_searching_by_date_needs_read(app, me):
    for scope in (Scope.WRITE, Scope.REFLECT, Scope.DELETE):
        with pytest.raises(InsufficientScope):
            await app.search.by_date(me.narrowed({scope}), **DAY)


# How cut pages go on


async def test_a_cut_page_names_its_last_row_as_the_bound_that_continues_it(app, me):
    await numbered(app, me, 40)
    newest = await app.search.by_date(me, **DAY, max_tokens=LEAST)
    last = newest.rows[-1].memory
    assert (newest.truncated, newest.next_to, newest.next_from) == (True, cursor(last.event, last.id), "")
    oldest = await app.search.by_date(me, **DAY, max_tokens=LEAST, order="oldest_first")
    last = oldest.rows[-1].memory
    assert (oldest.truncated, oldest.next_from, oldest.next_to) == (True, cursor(last.event, last.id), "")
    assert oldest.tokens <= LEAST


async def test_an_answer_repeats_its_bounds_so_that_they_can_be_passed_again(app, me):
    await numbered(app, me, 40)
    page = await app.search.by_date(me, **DAY, max_tokens=LEAST)
    second = await next_page(app, me, "newest_first", page)
    assert (second.start, second.end) == ("2026-11-30T00:00:00.000000Z", page.next_to)
    again = await app.search.by_date(me, start=second.start, end=second.end, max_tokens=LEAST)
    assert texts(again) == texts(second)


@pytest.mark.parametrize("order", ["newest_first", "oldest_first"])
async def test_a_row_larger_than_the_budget_is_cut_says_so_and_the_next_page_goes_on_behind_it(app, me, order):
    long = [a_memory(n, text=str(n) + "y" * 20_000, event=NOON + timedelta(seconds=n)) for n in (1, 2, 3)]
    await plant(app, me, [*long, a_memory(4, text="4", event=NOON + timedelta(seconds=4))])
    page = await app.search.by_date(me, **DAY, order=order, max_tokens=LEAST)
    seen = []
    while True:
        seen += [(row.memory.text[0], row.cut, row.memory.text.endswith(CUT)) for row in page.rows]
        assert page.tokens <= LEAST
        if not page.truncated:
            break
        page = await next_page(app, me, order, page)
    whole = [("4", False, False), ("3", True, True), ("2", True, True), ("1", True, True)]
    assert seen == (whole if order == "newest_first" else whole[::-1])


async def test_a_cursor_beside_a_query_parts_equal_times_by_id(app, me):
    await plant(app, me, [a_memory(n, text=f"boat {n}") for n in range(6)])
    at = cursor(NOON, an_id(2))
    assert {*texts(await app.search.by_date(me, start=at, query="boat"))} == {"boat 3", "boat 4", "boat 5"}
    before = await app.search.by_date(me, start="2026-11-30", end=at, query="boat")
    assert {*texts(before)} == {"boat 0", "boat 1"}


async def test_an_answer_to_a_query_has_no_cursor_and_says_when_it_is_not_all(app, me):
    await plant(app, me, [a_memory(n, text=f"boat {n}") for n in range(SEARCH_LIMIT + 1)])
    page = await app.search.by_date(me, **DAY, query="boat", max_tokens=200_000)
    assert (len(page.rows), page.truncated, page.next_to, page.next_from) == (SEARCH_LIMIT, True, "", "")
    page = await app.search.by_date(me, **DAY, query="boat", max_tokens=LEAST)
    assert (page.truncated, page.next_to, page.next_from, page.tokens <= LEAST) == (True, "", "", True)
    page = await app.search.by_date(me, start=cursor(NOON, an_id(490)), query="boat")
    assert (len(page.rows), page.truncated) == (10, False)


async def test_an_empty_query_is_refused_and_not_taken_for_none(app, me):
    with pytest.raises(InvalidArgument, match=r"^query: must be"):
        await app.search.by_date(me, **DAY, query=" ")


@pytest.mark.parametrize("order", ["newest_first", "oldest_first"])
async def test_ten_thousand_rows_are_seen_once_each_while_others_come_and_go(app, me, order):
    """About ten pages to every moment."""
    chance = random.Random(order)

    def somewhere(n):
        return a_memory(n, text=f"row {n}", event=NOON + timedelta(minutes=chance.randrange(60)))

    ids = chance.sample(range(100_000), 10_600)
    staying, leaving, coming = ids[:10_000], ids[10_000:10_300], ids[10_300:]
    await plant(app, me, [somewhere(n) for n in ids[:10_300]])
    page = await app.search.by_date(me, **DAY, order=order, max_tokens=LEAST)
    seen, pages = [row.memory.id for row in page.rows], 1
    while page.truncated:
        if pages % 25 == 0 and leaving:
            gone = [an_id(leaving.pop()) for _ in range(min(20, len(leaving)))]
            await app.deletion.delete(me, gone, DELETE_SELECTED)
            await plant(app, me, [somewhere(coming.pop()) for _ in range(min(20, len(coming)))])
        page = await next_page(app, me, order, page)
        seen += [row.memory.id for row in page.rows]
        pages += 1
    assert pages > 600
    assert len(seen) == len(set(seen))
    assert {an_id(n) for n in staying} <= set(seen)


row = st.tuples(st.integers(0, 3), st.sampled_from([1, 500, 2_000, 9_000]), st.booleans())
act = st.one_of(st.tuples(st.just("add"), row), st.tuples(st.just("remove"), st.integers(0, 11)))


@settings(max_examples=40)
@given(
    rows=st.lists(row, min_size=1, max_size=12),
    acts=st.lists(st.lists(act, max_size=3), max_size=8),
    order=st.sampled_from(["newest_first", "oldest_first"]),
    window=st.tuples(st.integers(0, 3), st.integers(1, 4)).filter(lambda ends: ends[0] < ends[1]),
)
def test_whatever_comes_and_goes_the_pages_of_any_window_hold_each_row_once(rows, acts, order, window):
    asyncio.run(_paged(rows, acts, order, window))


async def _paged(rows, acts, order, window):
    """Page through the window; between pages do `acts`. A row is a minute, a length, and whether it is archived."""
    chance = random.Random(0)
    numbers = iter(chance.sample(range(1_000), 100))

    def made(minute, length, archived):
        n = next(numbers)
        return a_memory(n, text=f"{n:03} " + "x" * length, event=NOON + timedelta(minutes=minute), archived=archived)

    with TemporaryDirectory() as folder:
        clock = Clock()
        stores = SqliteStores(Path(folder), now=clock)
        app = assemble(stores, HashedEmbedder(), clock, Settings(data=Path(folder)))
        me = await app.local()
        first = [made(*one) for one in rows]
        await plant(app, me, first)
        start, end = ((NOON + timedelta(minutes=minute)).isoformat() for minute in window)
        shown = {m.id for m in first if not m.archived and start <= m.event.isoformat() < end}
        seen: list[MemoryId] = []
        pending = iter(acts)
        while True:
            page = await app.search.by_date(me, start=start, end=end, order=order, max_tokens=LEAST)
            seen += [one.memory.id for one in page.rows]
            assert page.tokens <= LEAST
            assert page.truncated == bool(page.next_to or page.next_from)
            if not page.truncated:
                break
            start, end = page.next_from or start, page.next_to or end
            for what, value in next(pending, []):
                if what == "add":
                    await plant(app, me, [made(*value)])
                elif value < len(first):
                    await app.deletion.delete(me, [first[value].id], DELETE_SELECTED)
                    shown.discard(first[value].id)
        await app.close()
    assert len(seen) == len(set(seen))
    assert shown <= set(seen)
