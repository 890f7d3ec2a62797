"""Recall with the built-in model and the real index: by meaning and by word, in any language, exactly."""

import pytest

from archivist.app import OWNER, assemble
from archivist.domain.access import ALL_SCOPES, Principal
from archivist.settings import Settings
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import Clock

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(tmp_path, builtin):
    """The services on the real model; the model outlives them."""
    clock = Clock()
    app = assemble(SqliteStores(tmp_path / "data", now=clock), builtin, clock, Settings(data=tmp_path / "data"))
    await app.stores.control()
    yield app
    await app.stores.close()


@pytest.fixture
async def me(app):
    vault = await app.vaults.create(OWNER, "recall", "project")
    return Principal(OWNER.user, vault.id, ALL_SCOPES, "key", "0193b000-0000-7000-8000-0000000000fd")


async def keep(app, who, *texts):
    for text in texts:
        await app.memories.store(who, text=text)


async def best(app, who, query):
    return (await app.search.search(who, query=query)).rows[0].memory.text


async def by_words(app, who, query):
    """What the words alone find, best first."""
    db = await app.stores.vault(who.vault)
    index = app.search.indexes.of(who.vault, "")
    hits = await index.search(db, query_text=query, query_vector=None, limit=10)
    texts = {memory.id: memory.text for memory in await app.memories.recent(who, 100)}
    return [texts[hit.id] for hit in hits]


async def by_meaning(app, who, query):
    """What the vectors alone find, best first: no word of the query is asked for."""
    db = await app.stores.vault(who.vault)
    index = app.search.indexes.of(who.vault, app.embedder.space)
    hits = await index.search(db, query_text="", query_vector=await app.embedder.query(query), limit=10)
    texts = {memory.id: memory.text for memory in await app.memories.recent(who, 100)}
    return [texts[hit.id] for hit in hits]


DISTRACTORS = (
    "The quarterly report is due on the first Monday of the month.",
    "Bruno prefers the window seat on night trains.",
    "The staging database runs on the old machine in the cellar.",
    "Tomatoes need six hours of sun and little water on the leaves.",
    "The choir rehearses on Thursdays at eight in the parish hall.",
)


async def test_a_fact_is_found_by_other_words_right_after_it_was_stored(app, me):
    await keep(app, me, *DISTRACTORS, "Ana must never eat peanuts, she carries an adrenaline pen.")
    assert "peanuts" in await best(app, me, "Which food allergy does she have?")
    await keep(app, me, "Our cat is called Moustache and is fourteen years old.")
    assert "Moustache" in await best(app, me, "how old is the pet?")


async def test_a_fact_is_found_across_languages(app, me):
    await keep(app, me, *DISTRACTORS, "安娜对花生过敏，随身带着肾上腺素笔。")
    assert "花生" in await best(app, me, "What is Ana allergic to?")


async def test_the_last_line_of_a_twenty_thousand_character_memory_finds_it_by_word_and_by_meaning(app, me):
    paragraph = "Minutes of the allotment club: compost, hoses and the roster were talked about at length. "
    last = "The key to the zeppelin hangar lies under the third flowerpot."
    long = paragraph * (20_000 // len(paragraph)) + "\n" + last
    assert len(long) >= 19_900
    await keep(app, me, *DISTRACTORS, long)
    assert await by_words(app, me, "zeppelin") == [long]
    assert (await by_meaning(app, me, "zeppelin"))[0] == long
    assert (await by_meaning(app, me, "Where is the key to the zeppelin hangar?"))[0] == long


CJK = (
    "即适者生存，生存等于正确的道理",
    "今日は成語しりとりをした",
    "오늘 끝말잇기 게임을 했다",
    "我们用GPU训练模型，止损设为5%",
)


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("适者生存", "适者生存"),
        ("止损", "止损"),
        ("しりとり", "しりとり"),
        ("끝말잇기", "끝말잇기"),
        ("GPU", "GPU"),
        ("模型", "模型"),
    ],
)
async def test_words_of_scripts_without_blanks_are_found_by_words_alone(app, me, query, holds):
    await keep(app, me, *CJK, *DISTRACTORS)
    assert holds in (await by_words(app, me, query))[0]


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("Le café Zoë ouvre à 8 h", "cafe zoe"),
        ("Le cafe\u0301 Zoe\u0308 ouvre à 8 h", "caf\u00e9 zo\u00eb"),
        ("Die Straße heißt Müllerweg", "müllerweg"),
        ("parse_http_date fails on RFC 850 dates", "parse_http_date"),
        ("parse_http_date fails on RFC 850 dates", "http date"),
        ("The proxy answers ERR_SSL_PROTOCOL_ERROR", "ERR_SSL_PROTOCOL_ERROR"),
        ("We pinned v2.3.1-rc4 of the parser", "v2.3.1-rc4"),
        ("The bug is in src/app/main.py", "src/app/main.py"),
        ("The bug is in src/app/main.py", "main.py"),
        ("Released on 2026-11-30 at noon", "2026-11-30"),
        ("The ticket number is 48213", "48213"),
        ("uteke-cloud-dev is the namespace of multi-agent runs", "uteke-cloud-dev"),
        ("uteke-cloud-dev is the namespace of multi-agent runs", "multi-agent"),
        ("see current.md for the plan", "current.md"),
        ("the disk does 3 GB/s", "GB/s"),
        ("grammar::fa holds the rules", "grammar::fa"),
        ("we don't use agents here", "don't use agents"),
        ("issues with the gpu", "gpu issues"),
    ],
)
async def test_accents_identifiers_dates_and_numbers_are_found_by_words_alone(app, me, stored, query):
    await keep(app, me, *DISTRACTORS, stored)
    assert (await by_words(app, me, query))[0] == stored


NEAR = (
    ("The router has the address 192.168.7.1", "The router has the address 192.168.9.1", "192.168.9.1"),
    ("Upgraded the parser to v1.2.3", "Upgraded the parser to v1.2.4", "parser v1.2.4"),
    ("ORA-01555 killed the report", "ORA-01653 killed the report", "ORA-01653"),
)


@pytest.mark.parametrize(("one", "other", "query"), NEAR)
async def test_of_two_nearly_equal_facts_the_one_that_is_asked_for_comes_first(app, me, one, other, query):
    await keep(app, me, one, other)
    assert await best(app, me, query) == other


async def test_scores_are_spread_and_tell_good_from_bad(app, me):
    await keep(app, me, *DISTRACTORS)
    rows = (await app.search.search(me, query="When does the choir sing?")).rows
    scores = [row.score for row in rows]
    assert rows[0].memory.text.startswith("The choir")
    assert scores == sorted(scores, reverse=True)
    assert scores[0] - scores[-1] > 0.2
    assert all(0 <= score <= 1 for score in scores)
