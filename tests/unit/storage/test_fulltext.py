"""The full-text table holds exactly the blank-separated tokens it is given, and forgets them without a trace."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archivist.storage.sqlite import connections, files

TOKENS = [
    "src/app/main.py",
    "c++",
    "v2.3.1-rc4",
    "err_ssl",
    "don't",
    'say"x"',
    "a`b\\c",
    "適",
    "e\u0301",
    "x\u200dy",
    "👨‍👩‍👧",
    "a\u00a0b",
]
token = st.text(st.characters(exclude_categories=["Cs", "Lu"], exclude_characters=" \x00"), min_size=1, max_size=30)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("fts") / "v.db"
    connections.make_private(path)
    files.prepare(path, "vault")
    connection = connections.writer(path)
    yield connection
    connection.close()


def assert_kept_exactly(table, tokens):
    line = " ".join(tokens)
    table.execute("INSERT INTO fts(rowid, terms) VALUES (1, ?)", (line,))
    assert {row[0] for row in table.execute("SELECT term FROM fts_terms")} == set(tokens)
    for token in tokens:
        quoted = '"' + token.replace('"', '""') + '"'
        assert table.execute("SELECT rowid FROM fts WHERE fts MATCH ?", (quoted,)).fetchall() == [(1,)]
    table.execute("INSERT INTO fts(fts, rowid, terms) VALUES ('delete', 1, ?)", (line,))
    assert table.execute("SELECT count(*) FROM fts_terms").fetchone() == (0,)


def test_identifiers_and_other_scripts_are_single_tokens(table):
    assert_kept_exactly(table, TOKENS)


@settings(max_examples=50, deadline=None)
@given(st.lists(token, min_size=1, max_size=5, unique=True))
def test_any_characters_between_blanks_are_one_token(table, tokens):
    assert_kept_exactly(table, tokens)
