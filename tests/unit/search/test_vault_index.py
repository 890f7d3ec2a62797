"""The index of a vault: it answers as of now, whatever was written since by whom, and ranks by meaning and words."""

import asyncio
import random

import numpy as np
import pytest

from archivist.domain.errors import Unavailable
from archivist.domain.ids import MemoryId
from archivist.domain.queries import Filters
from archivist.search import loading, vault_index
from archivist.search.keyword import postings
from archivist.search.vault_index import VaultIndex
from tests.builders import an_id
from tests.unit.search.shelf import KEYWORDS, SPACE, Shelf, an_index, direction

pytestmark = pytest.mark.anyio

SENTENCES = [
    "Ana is allergic to peanuts.",
    "The API listens on port 8787.",
    "João moved to Lisbon in March.",
    "parse_http_date lives in utils/http.py",
    "安娜对花生过敏",
    "The staging server is emptied every Sunday.",
]


async def by_words(index: VaultIndex, shelf: Shelf, query: str, limit: int = 10, **more: object) -> list[MemoryId]:
    hits = await index.search(shelf.db, query_text=query, query_vector=None, limit=limit, **more)  # type: ignore[arg-type]  # options by name
    return [hit.id for hit in hits]


async def by_meaning(index: VaultIndex, shelf: Shelf, number: int, limit: int = 10, **more: object) -> list[MemoryId]:
    hits = await index.search(shelf.db, query_text="", query_vector=direction(number), limit=limit, **more)  # type: ignore[arg-type]  # options by name
    return [hit.id for hit in hits]


async def test_an_empty_vault_answers_nothing(shelf):
    assert await by_words(an_index(), shelf, "anything") == []
    assert await by_meaning(an_index(), shelf, 1) == []


async def test_a_memory_is_found_right_after_it_is_stored_by_word_and_by_meaning(shelf):
    index = an_index()
    for number, sentence in enumerate(SENTENCES):
        await shelf.put(number, sentence, direction(number))
        assert (await by_words(index, shelf, sentence))[0] == an_id(number)
        assert (await by_meaning(index, shelf, number))[0] == an_id(number)


async def test_a_deleted_memory_is_gone_from_the_next_search(shelf):
    index = an_index()
    await shelf.put_many(SENTENCES)
    assert an_id(0) in await by_words(index, shelf, "peanuts")
    await shelf.delete(0)
    assert await by_words(index, shelf, "peanuts") == []
    assert an_id(0) not in await by_meaning(index, shelf, 0)
    assert index.memories == len(SENTENCES) - 1


async def test_an_edited_memory_is_found_by_its_new_words_alone(shelf):
    index = an_index()
    await shelf.put_many(SENTENCES)
    await by_words(index, shelf, "peanuts walnuts")
    await shelf.edit(0, "Ana is allergic to walnuts.")
    assert await by_words(index, shelf, "walnuts") == [an_id(0)]
    assert await by_words(index, shelf, "peanuts") == []


async def test_a_marked_memory_is_filtered_as_it_is_now_and_neither_words_nor_vectors_are_read_again(
    shelf, monkeypatch
):
    index = an_index()
    await shelf.put_many(SENTENCES)
    await by_words(index, shelf, "peanuts")

    def forbidden(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(index._postings, "clear", forbidden)
    monkeypatch.setattr(loading, "vectors_of", forbidden)
    await shelf.mark(0, archived=1)
    await shelf.mark(1, batch=an_id(99))
    assert await by_words(index, shelf, "peanuts") == []
    assert await by_words(index, shelf, "peanuts", filters=Filters(archived=True)) == [an_id(0)]
    assert (await by_meaning(index, shelf, 1))[0] == an_id(1)


async def test_a_memory_that_is_marked_and_gone_by_then_is_gone(shelf):
    index = an_index()
    await shelf.put_many(SENTENCES)
    await by_words(index, shelf, "peanuts")
    await shelf.mark(0, batch=an_id(99))
    await shelf.delete(0)
    await shelf.put(9, "Peanuts again.", direction(9))
    await shelf.mark(9, batch=an_id(99))
    assert await by_words(index, shelf, "peanuts") == [an_id(9)]


async def test_vectors_that_come_later_are_used_from_then_on(shelf):
    index = an_index()
    await shelf.put(1, "waits for its vector")
    await shelf.put(2, "has one", direction(2))
    assert await by_meaning(index, shelf, 1) == [an_id(2)]
    await shelf.embed(1, direction(1))
    assert await by_meaning(index, shelf, 1) == [an_id(1), an_id(2)]


async def test_a_text_asked_for_word_by_word_comes_first_even_while_it_waits_for_its_vector(shelf):
    index, asked = an_index(), direction(1)
    await shelf.put(1, "fact 0 1")
    for number in range(2, 80):
        await shelf.put(number, f"fact 0 {number}", asked)
    hits = await index.search(shelf.db, query_text="fact 0 1", query_vector=asked, limit=10)
    assert hits[0].id == an_id(1)


async def test_vectors_of_another_space_are_never_compared(shelf):
    await shelf.put(1, "old", direction(1), space="space-0")
    await shelf.put(2, "new", direction(2))
    assert await by_meaning(an_index(), shelf, 1) == [an_id(2)]
    assert await by_meaning(an_index("space-0"), shelf, 1) == [an_id(1)]
    assert await by_meaning(an_index(""), shelf, 1) == []


async def test_a_vault_that_was_emptied_is_empty_and_can_be_filled_again(shelf):
    index = an_index()
    await shelf.put_many(SENTENCES)
    await by_words(index, shelf, "peanuts")
    await shelf.clear()
    await shelf.put(9, "Peanuts are back.", direction(9))
    assert await by_words(index, shelf, "peanuts") == [an_id(9)]
    assert await by_meaning(index, shelf, 0) == [an_id(9)]


async def test_after_a_restore_the_index_starts_over(shelf):
    index = an_index()
    await shelf.put_many(SENTENCES)
    await by_words(index, shelf, "peanuts")
    await shelf.db.apply([KEYWORDS.forget(shelf.vault, an_id(0))])
    await shelf.restore()
    assert await by_words(index, shelf, "peanuts") == []


async def test_documents_that_come_out_of_order_are_found_too(shelf):
    index = an_index()
    await shelf.put(1, "first")
    await shelf.put(2, "second")
    await by_words(index, shelf, "first")
    await shelf.delete(1)
    await shelf.put(3, "third", doc=1)
    assert await by_words(index, shelf, "third") == [an_id(3)]
    assert await by_words(index, shelf, "first") == []


async def test_many_changes_at_once_are_followed_page_by_page(shelf, monkeypatch):
    monkeypatch.setattr(loading, "PAGE", 7)
    monkeypatch.setattr(loading, "IDS_AT_A_TIME", 3)
    index, numbers = an_index(), list(range(60))
    random.Random(1).shuffle(numbers)
    await shelf.put(1_000, "something")
    await index.follow(shelf.db)
    loads = []
    monkeypatch.setattr(index, "_load", lambda *_: loads.append(1))
    for number in numbers:
        await shelf.put(number, f"word{number}", direction(number))
    for number in numbers[:20]:
        await shelf.delete(number)
    assert [await by_words(index, shelf, f"word{number}") for number in numbers] == [[]] * 20 + [
        [an_id(number)] for number in numbers[20:]
    ]
    assert loads == []


async def test_an_index_that_followed_step_by_step_equals_one_that_was_loaded(shelf, monkeypatch):
    monkeypatch.setattr(vault_index, "_LEAST_DEAD", 3)
    dice, followed, alive = random.Random(2), an_index(), set()
    for step in range(120):
        number = dice.randrange(30)
        if number not in alive:
            await shelf.put(number, f"{SENTENCES[number % 6]} note{number}", direction(number) if step % 3 else None)
            alive.add(number)
        elif dice.random() < 0.5:
            await shelf.delete(number)
            alive.remove(number)
        elif dice.random() < 0.5:
            await shelf.embed(number, direction(number + 100))
        else:
            await shelf.edit(number, f"{SENTENCES[number % 5]} note{number} edited")
        if step % 4 == 0:
            await search_both(followed, shelf, step)
    fresh = an_index()
    for number in range(40):
        one, other = await search_both(followed, shelf, number), await search_both(fresh, shelf, number)
        assert [hit.id for hit in one] == [hit.id for hit in other]
        assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], abs=1e-4)


async def search_both(index, shelf, number):
    return await index.search(
        shelf.db, query_text=f"note{number} edited server", query_vector=direction(number), limit=30
    )


async def test_nothing_new_costs_one_small_read(shelf, monkeypatch):
    index = an_index()
    await shelf.put_many(SENTENCES)
    await index.follow(shelf.db)
    asked = []
    for name in ("changed", "facets_of", "vectors_of", "all_facets", "all_vectors"):
        monkeypatch.setattr(loading, name, lambda *_, name=name: asked.append(name))
    await index.follow(shelf.db)
    assert asked == []


async def test_following_that_was_cut_short_is_made_good(shelf, monkeypatch):
    index = an_index()
    await shelf.put_many(SENTENCES)
    await index.follow(shelf.db)
    await shelf.delete(0)
    await shelf.put(7, "A new one.", direction(7))

    async def broken(*_):
        raise Unavailable("the store did not answer")

    with monkeypatch.context() as patch:
        patch.setattr(loading, "vectors_of", broken)
        with pytest.raises(Unavailable):
            await index.follow(shelf.db)
    assert (await by_meaning(index, shelf, 7))[0] == an_id(7)
    assert an_id(0) not in await by_meaning(index, shelf, 0)


async def test_many_searches_and_writes_at_a_time_get_along(shelf):
    index = an_index()

    async def write(number: int) -> None:
        await shelf.put(number, f"word{number}", direction(number))

    async def search(number: int) -> None:
        await by_words(index, shelf, f"word{number}")
        await by_meaning(index, shelf, number)

    for number in range(20):
        await asyncio.gather(write(number), *(search(n) for n in range(number)))
    assert [await by_words(index, shelf, f"word{n}") for n in range(20)] == [[an_id(n)] for n in range(20)]


async def test_filters_apply_before_the_cut(shelf):
    for number in range(150):
        await shelf.put(number, "the same words", direction(1), tier=1 + number % 3, archived=int(number < 3))
    index = an_index()
    rare = Filters(tiers=frozenset({3}))
    for hits in (
        await by_words(index, shelf, "same words", 100, filters=rare),
        await by_meaning(index, shelf, 1, 100, filters=rare),
    ):
        assert hits == [an_id(n) for n in range(149, 2, -1) if n % 3 == 2]
    assert an_id(0) not in await by_words(index, shelf, "same words", 200)
    assert an_id(0) in await by_words(index, shelf, "same words", 200, filters=Filters(archived=True))


async def test_equals_come_newest_first(shelf):
    for number in (3, 1, 2):
        await shelf.put(number, "the same", direction(1))
    index = an_index()
    assert await by_words(index, shelf, "same") == [an_id(2), an_id(1), an_id(3)]
    assert await by_meaning(index, shelf, 1) == [an_id(2), an_id(1), an_id(3)]


async def test_a_hit_says_what_its_score_is_made_of(shelf):
    await shelf.put_many(SENTENCES)
    hits = await an_index().search(shelf.db, query_text="peanuts", query_vector=direction(1), limit=10)
    parts = {hit.id: hit for hit in hits}
    assert (parts[an_id(0)].coverage, parts[an_id(1)].coverage) == (pytest.approx(1), 0)
    assert parts[an_id(1)].cosine > 0.9 > parts[an_id(0)].cosine
    assert all(0 < hit.score < 1 for hit in hits)


async def test_what_only_words_find_gets_its_cosine_and_what_only_meaning_finds_its_coverage(shelf, monkeypatch):
    monkeypatch.setattr(vault_index, "CANDIDATES", 1)
    await shelf.put(1, "alpha beta gamma", direction(1))
    await shelf.put(2, "alpha", direction(2))
    await shelf.put_many(["other"] * 5, first=10)
    hits = await an_index().search(shelf.db, query_text="alpha beta gamma", query_vector=direction(2), limit=1)
    assert hits[0].id == an_id(2)
    assert hits[0].coverage > 0
    both = await an_index().search(shelf.db, query_text="alpha beta gamma", query_vector=direction(2), limit=2)
    assert {hit.id for hit in both} == {an_id(1), an_id(2)}
    assert all(hit.cosine != 0 and hit.coverage > 0 for hit in both)


async def test_neighbours_lift_a_turn_of_a_dialogue(shelf):
    for number in range(12):
        await shelf.put(number, "peanuts" if number in {3, 5, 9} else "nothing here")
    index = an_index()
    assert await by_words(index, shelf, "peanuts", 3) == [an_id(9), an_id(5), an_id(3)]
    lifted = await index.search(shelf.db, query_text="peanuts", query_vector=None, limit=12, neighbours=True)
    scores = {hit.id: hit.score for hit in lifted}
    assert scores[an_id(4)] > scores[an_id(8)] > scores[an_id(1)]
    assert scores[an_id(4)] > scores[an_id(2)]


async def test_a_neighbour_that_filters_leave_out_is_not_returned(shelf):
    for number in range(6):
        await shelf.put(number, "peanuts" if number == 3 else "nothing", tier=1 + number % 2)
    hits = await by_words(an_index(), shelf, "peanuts", neighbours=True, filters=Filters(tiers=frozenset({2})))
    assert hits[0] == an_id(3)
    assert set(hits) <= {an_id(1), an_id(3), an_id(5)}


QUERIES = [
    '"',
    "'",
    "foo*",
    "NEAR(",
    "^col:val",
    '(x) AND "y',
    "terms:peanuts",
    "{a}",
    "\x00",
    "🎉",
    "-x",
    "%",
    "\ud83d",
]
LONG_QUERIES = ["a " * 50_000, "字" * 100_000, "(" * 100_000, '"' * 99_999, "a OR b NOT c"]


@pytest.mark.parametrize("query", QUERIES + LONG_QUERIES, ids=lambda query: ascii(query[:9]))
async def test_a_query_is_data_whatever_it_holds(shelf, query):
    await shelf.put_many(SENTENCES)
    hits = await an_index().search(shelf.db, query_text=query, query_vector=direction(2), limit=3)
    assert hits[0].id == an_id(2)


@pytest.mark.parametrize("query", ["NEAR", "AND", "peanuts AND", "near(8787"])
async def test_words_that_are_operators_elsewhere_are_words(shelf, query):
    await shelf.put_many([*SENTENCES, "near and far"])
    assert await by_words(an_index(), shelf, query) != []


async def test_a_long_memory_is_found_by_a_word_of_its_last_line(shelf):
    text = "\n".join(f"line {n} of the long report" for n in range(800)) + "\nzanzibar"
    await shelf.put(1, text, np.stack([direction(n) for n in range(20)]))
    await shelf.put_many(SENTENCES, first=50)
    assert await by_words(an_index(), shelf, "zanzibar") == [an_id(1)]
    assert (await by_meaning(an_index(), shelf, 19))[0] == an_id(1)


@pytest.mark.parametrize("looked_up", [0.0, 1e-9, 1e9])
async def test_the_ways_to_read_words_of_a_large_vault_all_find_the_same(shelf, monkeypatch, looked_up):
    """Lists at once, lists one by one, and frequent words looked up in the few rows that they can still decide."""
    dice = random.Random(3)
    texts = [" ".join(f"w{min(int(dice.paretovariate(0.6)), 60)}" for _ in range(8)) for _ in range(400)]
    for number, text in enumerate(texts):
        await shelf.put(number, text, direction(number))
    whole = an_index()
    monkeypatch.setattr(vault_index, "CANDIDATES", 5)
    queries = ["w1 w2 w3", "w60 w1", "w30 w7 w2 w1", "w1", "w59 w58 w57 w1 w2", "absent w1"]
    expected = [await rounded(whole, shelf, query) for query in queries]
    monkeypatch.setattr(postings, "SMALL", 10)
    monkeypatch.setattr(postings, "_SHORT", 1)
    monkeypatch.setattr(postings, "COUNT_DRIFT", 10**9)
    monkeypatch.setattr(postings, "_LOOKED_UP", looked_up)
    frugal = an_index()
    assert [await rounded(frugal, shelf, query) for query in queries] == expected
    assert [await rounded(frugal, shelf, query) for query in queries] == expected
    await shelf.put(900, "w60 w1", direction(900))
    await shelf.delete(5)
    assert [await rounded(frugal, shelf, query) for query in queries] == [
        await rounded(an_index(), shelf, query) for query in queries
    ]


async def rounded(index, shelf, query):
    hits = await index.search(shelf.db, query_text=query, query_vector=direction(77), limit=5)
    return [(hit.id, round(hit.coverage, 5)) for hit in hits]


async def test_kept_word_lists_stay_within_their_bound(shelf, monkeypatch):
    monkeypatch.setattr(postings, "_ROOM", 2_000)
    monkeypatch.setattr(postings, "BYTES_PER_ROW", 0)
    await shelf.put_many(SENTENCES)
    index = an_index()
    await index.follow(shelf.db)
    before = index.nbytes
    for n in range(50):
        await by_words(index, shelf, f"word{n} peanuts")
    assert index.nbytes - before <= 2_000
    assert await by_words(index, shelf, "peanuts") == [an_id(0)]


async def test_its_size_tells_what_it_holds(shelf):
    index = an_index()
    assert index.nbytes == 0
    await shelf.put_many(SENTENCES)
    await index.follow(shelf.db)
    assert index.nbytes > len(SENTENCES) * 32
    assert index.space == SPACE


@pytest.mark.parametrize("seed", range(4))
async def test_frequent_words_looked_up_in_few_rows_give_the_same_best_as_all_lists(shelf, monkeypatch, seed):
    dice = random.Random(seed)
    shares = {"rare": 0.06, "some": 0.15, "half": 0.5, "most": 0.7}
    for number in range(150):
        await shelf.put(
            number, " ".join(["filler", *(word for word, share in shares.items() if dice.random() < share)])
        )
    index = an_index()
    await index.follow(shelf.db)
    rows, exact = await index._postings.search(shelf.db, list(shares), shelf.seq, limit=8)
    index._postings.clear()
    monkeypatch.setattr(postings, "SMALL", 10)
    monkeypatch.setattr(postings, "_SHORT", 1)
    monkeypatch.setattr(postings, "_LOOKED_UP", 1e-9)
    also = np.array([3, 77])
    found, scores = await index._postings.search(shelf.db, list(shares), shelf.seq, limit=8, also=also)
    assert list(found) == list(rows)
    assert scores[[*found, *also]] == pytest.approx(exact[[*rows, *also]], abs=1e-6)
    assert scores.sum() < exact.sum()  # so not every list was read
