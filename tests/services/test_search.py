"""Finding by words and by date, on the hashed embedder; by meaning is the real model's business."""

from datetime import timedelta

import pytest

from archivist.app import assemble
from archivist.domain.access import Scope
from archivist.domain.errors import EmbedderUnavailable, InsufficientScope, InvalidArgument
from archivist.embedders.embedder import Floats
from archivist.embedders.hashed import HashedEmbedder
from archivist.settings import Settings
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import NOON

pytestmark = pytest.mark.anyio


async def found(app, who, query, **more):
    return [row.memory.text for row in (await app.search.search(who, query=query, **more)).rows]


async def test_a_search_right_after_the_store_finds_it(app, me):
    for number in range(20):
        await app.memories.store(me, text=f"The zebra {number} lives in house{number}.")
        assert (await found(app, me, f"house{number}"))[0].endswith(f"house{number}.")


async def test_nothing_of_another_vault_is_ever_found(app, me, other):
    await app.memories.store(other, text="the hidden harbour")
    assert await found(app, me, "hidden harbour") == []


async def test_the_last_line_of_a_long_memory_finds_it(app, me):
    await app.memories.store(me, text="filler words go on\n" * 1_050 + "quetzalcoatl")
    await app.memories.store(me, text="another memory")
    assert (await found(app, me, "quetzalcoatl"))[0].endswith("quetzalcoatl")


@pytest.mark.parametrize("limit", [0, 501, -1])
async def test_a_limit_out_of_range_is_refused(app, me, limit):
    with pytest.raises(InvalidArgument, match=r"limit: must be 1\.\.500"):
        await app.search.search(me, query="x", limit=limit)


@pytest.mark.parametrize("tiers", [[], [4], [0], [1, 4]])
async def test_tiers_that_there_are_not_are_refused(app, me, tiers):
    with pytest.raises(InvalidArgument, match="tiers: must be one or more of 1, 2, 3"):
        await app.search.search(me, query="x", tiers=tiers)


@pytest.mark.parametrize("importance", [0, 11])
async def test_an_importance_out_of_range_is_refused(app, me, importance):
    with pytest.raises(InvalidArgument, match=r"importance: must be 1\.\.10"):
        await app.search.search(me, query="x", importance=importance)


async def test_an_importance_bar_on_raw_memories_explains_itself(app, me):
    await app.memories.store(me, text="a fact")
    answer = await app.search.search(me, query="fact", tiers=[1], importance=5)
    assert answer.rows == []
    assert "no importance" in answer.note


async def test_an_empty_vault_says_where_to_look(app, me):
    answer = await app.search.search(me, query="anything")
    assert answer.rows == []
    assert "memory_status" in answer.note


class Refusing(HashedEmbedder):
    """Ready, but it takes no question."""

    async def query(self, text: str) -> Floats:
        raise EmbedderUnavailable(f"refused {len(text)} characters")


async def test_an_answer_by_words_alone_says_so_also_when_only_this_query_has_no_vector(tmp_path, clock):
    app = assemble(
        SqliteStores(tmp_path / "refusing", now=clock), Refusing(), clock, Settings(data=tmp_path / "refusing")
    )
    await app.embedder.start()
    me = await app.local()
    await app.memories.store(me, text="the boat is blue")
    answer = await app.search.search(me, query="boat")
    await app.close()
    assert (len(answer.rows), answer.note) == (1, "Found by words alone: refused 4 characters")


async def test_searching_needs_read(app, me):
    for scope in (Scope.WRITE, Scope.REFLECT, Scope.DELETE):
        with pytest.raises(InsufficientScope):
            await app.search.search(me.narrowed({scope}), query="x")


HOSTILE = [
    '"',
    "'",
    "a*",
    "NEAR(a b)",
    "(",
    ")",
    "((a",
    "AND",
    "a AND NOT b",
    "^x",
    "col:val",
    "-",
    "👩‍👩‍👧‍👦",
    "a\x00b",
    "\ud83d",
    "%",
    "_",
    "\\",
    "x" * 100_000,
]


@pytest.mark.parametrize("query", HOSTILE)
async def test_query_text_is_data(app, me, query):
    await app.memories.store(me, text="plain words about a boat")
    await app.search.search(me, query=query)
    if len(query) < 100:
        assert await found(app, me, f"{query} boat") == ["plain words about a boat"]


@pytest.mark.parametrize("query", HOSTILE)
async def test_no_query_ever_finds_a_row_of_another_vault(app, me, other, query):
    await app.memories.store(me, text="mine about a boat")
    for number in range(5):
        await app.memories.store(
            other, text=f"theirs {query[:200]} boat {number}".replace("\x00", "").replace("\ud83d", "")
        )
    assert set(await found(app, me, query)) <= {"mine about a boat"}


# By date


async def fill(app, me, clock, count):
    for number in range(count):
        await app.memories.store(me, text=f"event number {number:04}")
        clock.move(minutes=1)


async def test_a_window_without_a_query_is_newest_first(app, me, clock):
    await fill(app, me, clock, 5)
    page = await app.search.by_date(me, start="2026-11-30T12:01:00Z", end="2026-11-30T12:04:00Z")
    assert [row.memory.text[-4:] for row in page.rows] == ["0003", "0002", "0001"]
    assert (page.truncated, page.next_to) == (False, "")


async def test_a_bare_day_is_the_whole_day(app, me, clock):
    await fill(app, me, clock, 3)
    page = await app.search.by_date(me, start="2026-11-30", end="2026-11-30")
    assert len(page.rows) == 3


async def test_paging_back_shows_every_row_once_also_at_equal_times(app, me, clock):
    for number in range(300):
        await app.memories.store(me, text=f"{number:04} " + "x" * 95)
        clock.move(seconds=number % 7 == 0)
    seen, end = [], "2026-12-01"
    while end:
        page = await app.search.by_date(me, start="2026-11-30", end=end, max_tokens=1_000)
        seen += [row.memory.text[:4] for row in page.rows]
        assert page.tokens <= 1_000
        assert page.truncated == bool(page.next_to)
        end = page.next_to
    assert sorted(seen) == [f"{number:04}" for number in range(300)]


async def test_a_row_longer_than_the_budget_comes_cut_and_the_next_page_goes_on(app, me, clock):
    await app.memories.store(me, text="older")
    clock.move(seconds=1)
    await app.memories.store(me, text="y" * 20_000)
    page = await app.search.by_date(me, start="2026-11-30", max_tokens=1_000)
    assert page.rows[0].memory.text.endswith("[cut]")
    page = await app.search.by_date(me, start="2026-11-30", end=page.next_to, max_tokens=1_000)
    assert [row.memory.text for row in page.rows] == ["older"]


async def test_with_a_query_the_window_is_ranked(app, me, clock):
    await app.memories.store(me, text="the boat is blue")
    clock.move(days=2)
    await app.memories.store(me, text="the boat is red")
    await app.memories.store(me, text="nothing to do with it")
    page = await app.search.by_date(me, start="2026-12-01", end="2026-12-05", query="boat")
    assert page.rows[0].memory.text == "the boat is red"
    assert "the boat is blue" not in [row.memory.text for row in page.rows]
    assert all(row.score is not None for row in page.rows)


async def test_a_window_that_ends_before_it_begins_is_refused(app, me):
    with pytest.raises(InvalidArgument, match="from: must not be after to"):
        await app.search.by_date(me, start="2026-12-02", end="2026-11-30")


@pytest.mark.parametrize("tokens", [999, 200_001, 0, -5])
async def test_a_token_budget_out_of_range_is_refused(app, me, tokens):
    with pytest.raises(InvalidArgument, match=r"max_tokens: must be 1000\.\.200000"):
        await app.search.by_date(me, start="2026-11-30", max_tokens=tokens)


async def test_without_an_end_the_window_ends_now(app, me, clock):
    await app.memories.store(me, text="just now")
    page = await app.search.by_date(me, start=(NOON - timedelta(hours=1)).isoformat())
    assert [row.memory.text for row in page.rows] == ["just now"]
