"""The analyser: what one can type is found again, in every script and spelling, and nothing makes it slow."""

import unicodedata
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.search.analysis import LONGEST_TOKEN, QUERY_TERMS, analyse, query_terms
from archivist.storage.fulltext import FTS_DDL
from archivist.storage.sqlite.driver import driver


def finds(query: str, document: str) -> bool:
    """Whether every term of the query is in the document."""
    return set(query_terms(query)) <= set(analyse(document))


@pytest.fixture(scope="module")
def fts5():
    db = driver().connect(":memory:", isolation_level=None)
    for statement in FTS_DDL:
        db.execute(statement)
    yield db
    db.close()


def as_indexed(db: Any, tokens: list[str]) -> set[str]:
    db.execute("INSERT INTO fts (fts) VALUES ('delete-all')")
    db.execute("INSERT INTO fts (rowid, terms) VALUES (1, ?)", [" ".join(tokens)])
    return {term for (term,) in db.execute("SELECT term FROM fts_terms")}


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("适者生存", "即适者生存，生存等于正确的道理"),
        ("止损", "今天的止损线是五个点"),
        ("しりとり", "今日は成語しりとりをした"),
        ("끝말잇기", "오늘 끝말잇기 게임을 했다"),
        ("끝말잇기", "어제는 끝말잇기를 했다"),
        ("redis", "用Redis缓存会话"),
        ("缓存", "用Redis缓存会话"),
        ("東京", "明日東京へ行く"),
        ("ไทย", "ภาษาไทย"),
    ],
)
def test_words_of_scripts_without_blanks_are_found_inside_a_sentence(query, document):
    assert finds(query, document)


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("alérgica", "Ana es ALERGICA a los cacahuetes"),
        ("cafe", "Um café, por favor"),
        ("straße", "Die STRASSE ist gesperrt"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("İstanbul", "istanbul"),
        ("don't", "They don’t use agents"),
        ("ﬁne", "fine"),
        ("soft\u00adhyphen", "softhyphen"),
        ("identities", "her identity"),
        ("gpu issues", "issues with the gpu"),
        ("Caroline's", "Caroline said so"),
    ],
)
def test_a_word_is_found_in_another_spelling(query, document):
    assert finds(query, document)


@pytest.mark.parametrize(
    "text", ["café déjà vu", "Ångström", "한국어", "がぎぐ パピプ", "Việt Nam", "Čeština", "é" * 50]
)
def test_composed_and_decomposed_text_are_the_same(text):
    assert analyse(unicodedata.normalize("NFC", text)) == analyse(unicodedata.normalize("NFD", text)) != []


def test_kana_with_and_without_voicing_are_different_letters():
    assert not finds("ガス", "カス")


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("parse_http_date", ["http", "date"]),
        ("getElementByTestId", ["element", "test", "id"]),
        ("ERR_SSL_PROTOCOL_ERROR", ["err", "ssl", "protocol"]),
        ("v2.3.1-rc4", ["v2", "rc4"]),
        ("src/app/main.py", ["main.py", "src", "app"]),
        ("uteke-cloud-dev", ["cloud"]),
        ("grammar::fa", ["grammar", "fa"]),
        ("GB/s", ["GB"]),
        ("a'b", ["a", "b"]),
        ("192.168.7.1", ["192", "168"]),
        ("2026-11-30", ["2026", "11", "30"]),
        ("E11000", []),
        ("ana.silva@example.com", ["example.com", "silva"]),
        ("https://docs.example.com/a/b?page=2", ["docs.example.com", "page"]),
        ("HTTPServer", ["http", "server"]),
        ("c++", ["c"]),
        ("F#", ["f"]),
        ("current.md", ["current", "md"]),
        ("C:\\Users\\Zoe", ["users", "Zoe"]),
        ("key=value", ["key", "value"]),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(identifier, parts):
    document = f"See {identifier}, there."
    assert identifier.casefold() in analyse(document)
    assert finds(identifier, document)
    assert [part for part in parts if not finds(part, document)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("E11000", "E11600"),
        ("v2.3.1-rc4", "v2.3.1-rc5"),
        ("192.168.7.1", "192.168.7.11"),
        ("parse_user_agent", "parse_user_agent_v2"),
        ("getElementByTestId", "getElementByTestIdOrThrow"),
        ("ls -la", "ls -l"),
        ("allergic", "not allergic"),
    ],
)
def test_near_equal_texts_differ_in_the_index(one, other):
    assert set(analyse(one)) != set(analyse(other))


def test_stop_words_stay_in_the_index_and_leave_the_query():
    assert "not" in analyse("She is not allergic")
    assert query_terms("What is she allergic to?") == analyse("allergic")


def test_a_query_of_stop_words_alone_is_asked_as_it_is():
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]
    assert query_terms("什么时候") != []


def test_a_stop_word_of_another_language_is_a_word():
    assert "son" in query_terms("What did her son say?")
    assert "son" not in query_terms("Quel est son métier ?")


def test_a_long_query_is_asked_by_a_bounded_number_of_terms_from_all_of_it():
    terms = query_terms(" ".join(f"word{i}" for i in range(20_000)))
    assert len(terms) == QUERY_TERMS
    assert int(terms[-1].removeprefix("word")) > 19_000


@pytest.mark.parametrize("text", ["", " ", "\n", "!!!", "🎉", "\x00", "\ud83d", "—", "'\"*()"])
def test_text_without_words_has_no_tokens(text):
    assert analyse(text) == query_terms(text) == []


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 65_536,
        "a." * 32_768,
        "_" * 65_536,
        "a-" * 32_768 + "!",
        "Aa" * 32_768,
        "a'b" * 21_845,
        "字" * 21_845,
        "é\u0301" * 20_000,
    ],
)
def test_hostile_text_makes_few_and_short_tokens_per_character(hostile):
    tokens = analyse(hostile)
    assert all(len(token) <= LONGEST_TOKEN for token in tokens)
    assert len(" ".join(tokens)) <= 2 * len(hostile)


def test_the_work_grows_no_faster_than_the_text():
    """Counted in steps of the interpreter, not in time."""
    import sys

    def steps(text: str) -> int:
        count = 0

        def tick(*_):
            nonlocal count
            count += 1
            return tick

        sys.settrace(tick)
        try:
            analyse(text)
        finally:
            sys.settrace(None)
        return count

    for piece in ("a.", "Ab", "a_b-c/", "word ", "a'"):
        sizes = [steps(piece * n) for n in (500, 1_000, 2_000)]
        assert all(later < 2.5 * earlier + 1_000 for earlier, later in pairwise(sizes))


@given(st.text())
def test_a_token_holds_no_blank_and_comes_once(text):
    tokens = analyse(text)
    assert len(set(tokens)) == len(tokens)
    assert [token for token in tokens if token.split() != [token] or '"' in token] == []


@given(st.text(), st.text())
def test_the_tokens_of_two_texts_are_those_of_both_together(one, other):
    assert set(analyse(f"{one}\n{other}")) == set(analyse(one)) | set(analyse(other))


WORDS = st.text(alphabet=st.characters(categories=["L", "N", "M", "P"]), max_size=40)


@given(st.lists(WORDS, max_size=8).map(" ".join))
def test_every_token_comes_back_from_the_index_as_one_and_the_same_token(fts5, text):
    tokens = analyse(text)
    assert as_indexed(fts5, tokens) == set(tokens)
