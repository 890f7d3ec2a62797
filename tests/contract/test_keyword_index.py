"""What every full-text index promises, run against each."""

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from archivist.search.keyword.index import KeywordIndex
from archivist.search.keyword.sqlite_fts5 import SqliteFts5
from archivist.storage import heads
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import MINE, SECRET, an_id
from tests.unit.search.shelf import Shelf

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[SqliteFts5])
def index(request: pytest.FixtureRequest) -> KeywordIndex:
    made: KeywordIndex = request.param()
    return made


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    stores = SqliteStores(tmp_path / "data")
    await stores.control()  # makes the folder
    await stores.create(MINE)
    db = await stores.vault(MINE)
    await db.apply([heads.make(MINE, SECRET)])
    yield Shelf(db)
    await stores.close()


async def docs(index: KeywordIndex, shelf: Shelf, term: str, after: int = -1, upto: int = 10**9) -> list[int]:
    found = await index.postings(shelf.db, MINE, {term: after}, upto)
    assert found[term].dtype == np.int64
    return found[term].tolist()


async def test_an_entry_is_found_by_each_of_its_terms_and_no_other(index, shelf):
    await shelf.put(1, "parse_http_date was fixed")
    assert [await docs(index, shelf, term) for term in ("parse_http_date", "http", "fix", "date")] == [[1]] * 4
    assert await docs(index, shelf, "pars") == [1]
    assert await docs(index, shelf, "htt") == await docs(index, shelf, "*") == []


async def test_documents_ascend_and_keep_to_the_asked_range(index, shelf):
    for number in (5, 3, 9, 1):
        await shelf.put(number, "word")
    assert await docs(index, shelf, "word") == [1, 2, 3, 4]
    assert await docs(index, shelf, "word", after=1, upto=3) == [2, 3]
    assert await docs(index, shelf, "word", after=4) == []


async def test_many_terms_are_answered_at_once_each_from_its_own_place(index, shelf):
    for text in ("a b", "b c", "c a"):
        await shelf.put(shelf.seq, text)
    found = await index.postings(shelf.db, MINE, {"a": -1, "b": 1, "none": -1}, 3)
    assert {term: rows.tolist() for term, rows in found.items()} == {"a": [1, 3], "b": [2], "none": []}


async def test_counts_are_of_documents_not_of_words(index, shelf):
    await shelf.put(1, "ping ping ping pong")
    await shelf.put(2, "ping")
    counts = await index.counts(shelf.db, MINE, ["ping", "pong", "none"])
    assert (counts["ping"], counts["pong"], counts.get("none", 0)) == (2, 1, 0)


async def test_a_forgotten_entry_is_gone_from_lists_counts_and_vocabulary(index, shelf):
    await shelf.put(1, "zanzibar harbour")
    await shelf.put(2, "harbour")
    await shelf.delete(1)
    assert await docs(index, shelf, "zanzibar") == []
    assert await docs(index, shelf, "harbour") == [2]
    assert not (await index.counts(shelf.db, MINE, ["zanzibar"])).get("zanzibar")


async def test_an_edited_entry_has_its_new_terms_alone(index, shelf):
    await shelf.put(1, "old words")
    await shelf.edit(1, "new words")
    assert [await docs(index, shelf, term) for term in ("old", "new", "word")] == [[], [1], [1]]


async def test_forgetting_what_is_not_there_changes_nothing(index, shelf):
    await shelf.put(1, "word")
    await shelf.db.apply([index.forget(MINE, an_id(404))])
    assert await docs(index, shelf, "word") == [1]


async def test_clearing_forgets_everything(index, shelf):
    await shelf.put(1, "word")
    await shelf.clear()
    assert await docs(index, shelf, "word") == []


@pytest.mark.parametrize(
    "term", ['"', "'", "a'b", "word*", "NEAR", "or", "-x", "^w", "terms:w", "c++", "a/b?c=d", "字", "😀"]
)
async def test_a_term_is_data(index, shelf, term):
    await shelf.put(1, "word")
    assert await docs(index, shelf, term) == []
    assert not (await index.counts(shelf.db, MINE, [term])).get(term)
