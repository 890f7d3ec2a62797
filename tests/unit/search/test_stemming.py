"""The stemmer against the published algorithm, as SQLite implements it too, and against its own promises."""

import sqlite3

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from archivist.search.stemming import stem


@pytest.fixture(scope="module")
def porter():
    """The stem that SQLite's own tokenizer makes of a word."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("CREATE VIRTUAL TABLE fts USING fts5 (word, tokenize='porter ascii')")
    db.execute("CREATE VIRTUAL TABLE fts_terms USING fts5vocab (fts, 'row')")

    def stemmed(word: str) -> str:
        db.execute("DELETE FROM fts")
        db.execute("INSERT INTO fts VALUES (?)", [word])
        return db.execute("SELECT term FROM fts_terms").fetchone()[0]

    yield stemmed
    db.close()


ENDINGS = st.sampled_from(
    [
        "s",
        "es",
        "ies",
        "sses",
        "ed",
        "eed",
        "ing",
        "y",
        "e",
        "ational",
        "tional",
        "izer",
        "bli",
        "alli",
        "ization",
        "ation",
        "ator",
        "alism",
        "iveness",
        "fulness",
        "biliti",
        "logi",
        "icate",
        "ative",
        "alize",
        "iciti",
        "ical",
        "ful",
        "ness",
        "al",
        "ance",
        "ence",
        "er",
        "ic",
        "able",
        "ible",
        "ant",
        "ement",
        "ment",
        "ent",
        "ion",
        "sion",
        "tion",
        "ou",
        "ism",
        "ate",
        "iti",
        "ous",
        "ive",
        "ize",
        "ll",
        "ss",
    ]
)
BEGINNINGS = st.text(alphabet="aeioubcdlmnrstvwxyz", min_size=1, max_size=7)


@given(BEGINNINGS, ENDINGS)
def test_every_ending_is_treated_as_published(porter, beginning, ending):
    word = beginning + ending
    assume(len(word) > 5)  # in shorter ones SQLite takes an ending for a whole word
    assert stem(word) == porter(word)


@pytest.mark.parametrize(
    "words",
    [
        "allergies allergy",
        "running runs run",
        "identity identities",
        "relational relate",
        "hopping hopped hop",
        "database databases",
    ],
)
def test_forms_of_one_word_have_one_stem(words):
    assert len({stem(word) for word in words.split()}) == 1


@pytest.mark.parametrize("word", ["", "as", "über", "v2", "日本", "e11000", "a1ing"])
def test_short_words_and_other_alphabets_are_left_alone(word):
    assert stem(word) == word


@given(st.text(alphabet=st.characters(categories=["Ll"]), max_size=30))
def test_a_stem_is_never_longer_than_its_word_nor_empty(word):
    assert len(stem(word)) <= len(word)
    assert bool(stem(word)) == bool(word)
