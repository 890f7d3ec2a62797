"""No deleted term stays in the full-text index, not even where FTS5 keeps one for itself."""

import random
import re
import string

import pytest

from archivist.storage.sqlite import connections, erasing, files
from archivist.storage.sqlite.database import SqliteDatabase
from archivist.storage.sqlite.statements import Statements


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "v.db"
    connections.make_private(path)
    files.prepare(path, "vault")
    connection = connections.writer(path)
    yield path, connection
    connection.close()


def words(chance, count):
    return ["".join(chance.choices(string.ascii_lowercase, k=12)) for _ in range(count)]


def insert(connection, docs):
    for start in range(1, len(docs), 50):  # several transactions: several segments
        connection.execute("BEGIN")
        for doc in range(start, min(start + 50, len(docs) + 1)):
            connection.execute("INSERT INTO fts(rowid, terms) VALUES (?, ?)", (doc, " ".join(docs[doc])))
        connection.execute("COMMIT")


def delete(connection, docs, gone):
    connection.execute("BEGIN")
    for doc in gone:
        connection.execute("INSERT INTO fts(fts, rowid, terms) VALUES ('delete', ?, ?)", (doc, " ".join(docs[doc])))
    connection.execute("COMMIT")


def rewrite(connection):
    while erasing.keeps_terms(connection):
        erasing.begin_anew(connection)
        while not erasing.go_on(connection):
            pass


def test_the_first_terms_of_pages_go_with_their_rows(file):
    path, connection = file
    chance = random.Random(5)
    docs = {doc: words(chance, 100) for doc in range(1, 1001)}
    insert(connection, docs)
    gone = chance.sample(sorted(docs), 400)
    delete(connection, docs, gone)
    assert erasing.keeps_terms(connection)
    rewrite(connection)
    assert erasing.truncate(connection)
    kept = {bytes(term)[1:].decode() for (term,) in connection.execute("SELECT term FROM fts_idx")}
    living = sorted(word for doc, terms in docs.items() if doc not in gone for word in terms)
    starts = {word[:length] for word in living for length in range(13)}
    assert kept - starts == set()
    assert [row[0] for row in connection.execute("SELECT term FROM fts_terms")] == living
    runs = re.findall(rb"[a-z]{10,}", path.read_bytes())
    pieces = {run[start : start + 10] for run in runs for start in range(len(run) - 9)}
    assert [word for doc in gone for word in docs[doc] if word[:10].encode() in pieces] == []
    connection.execute("INSERT INTO fts(fts) VALUES ('integrity-check')")
    for doc in chance.sample(sorted(set(docs) - set(gone)), 20):
        found = connection.execute("SELECT rowid FROM fts WHERE fts MATCH ?", (f'"{docs[doc][0]}"',)).fetchall()
        assert found == [(doc,)]


@pytest.mark.anyio
async def test_a_scrub_leaves_no_term_of_a_deleted_row_in_the_index(file):
    path, connection = file
    chance = random.Random(5)
    docs = {doc: words(chance, 100) for doc in range(1, 1001)}
    insert(connection, docs)
    delete(connection, docs, chance.sample(sorted(docs), 400))
    assert erasing.keeps_terms(connection)
    database = SqliteDatabase(path, Statements())
    assert await database.scrub()
    await database.close()
    assert not erasing.keeps_terms(connection)


def test_a_rewriting_that_was_cut_off_is_taken_up(file):
    _, connection = file
    chance = random.Random(6)
    docs = {doc: words(chance, 60) for doc in range(1, 501)}
    insert(connection, docs)
    delete(connection, docs, range(1, 251))
    erasing.begin_anew(connection)
    erasing.begin_anew(connection)
    rewrite(connection)
    while not erasing.go_on(connection):
        pass
    assert connection.execute("SELECT count(*), sum(doc) FROM fts_terms").fetchone() == (250 * 60, 250 * 60)


def test_an_index_without_rows_keeps_nothing(file):
    _, connection = file
    assert not erasing.keeps_terms(connection)
    connection.execute("INSERT INTO fts(rowid, terms) VALUES (1, 'only')")
    assert not erasing.keeps_terms(connection)
    delete(connection, {1: ["only"]}, [1])
    rewrite(connection)
    assert connection.execute("SELECT count(*) FROM fts_terms").fetchone() == (0,)
