"""The steps that take the last traces of deleted rows out of a file.

Rows, index entries and the postings of deleted terms are overwritten with zeros as they go (secure_delete, and FTS5's
own). Two things stay behind. The log keeps earlier pages until it is truncated. And FTS5 keeps, in `fts_idx`, the first
term of each page of its index, in full or its beginning, after that term was deleted (seen with SQLite 3.53): only
writing the index anew removes it. FTS5 does that for two segments or more, so a row of no meaning makes a second one.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from archivist.storage.sqlite.connections import Connection

PAGES = 500
"""Pages of the index that one step writes: about a tenth of a second in which no other batch can commit."""

_TRY_MILLISECONDS = 50  # how long one try may wait for readers: it holds up the writers of all processes
ROW, _TERM = -1, "\x01"  # what no memory has and no analyser makes

# A kept term begins with the index's number, 0. It is a trace if no living term begins with it.
_TRACE = """
SELECT 1 FROM fts_idx AS page WHERE length(page.term) > 1 AND NOT coalesce((
    SELECT substr(CAST(living.term AS BLOB), 1, length(page.term) - 1) = substr(page.term, 2) FROM fts_terms AS living
    WHERE living.term >= CAST(substr(page.term, 2) AS TEXT) LIMIT 1), 0) LIMIT 1
"""


def keeps_terms(connection: "Connection") -> bool:
    """Whether the full-text index keeps a term, or its beginning, that no row has any more. About 20 µs a page."""
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'fts_idx'").fetchone()
    return found is not None and connection.execute(_TRACE).fetchone() is not None


def begin_anew(connection: "Connection") -> bool:
    """Start to write the index anew; a start that was cut off before is taken up. Always True."""
    connection.execute("BEGIN IMMEDIATE")
    if not _is_marked(connection):
        connection.execute("INSERT INTO fts(rowid, terms) VALUES (?, ?)", (ROW, _TERM))
    connection.execute("INSERT INTO fts(fts, rank) VALUES ('merge', ?)", (-PAGES,))
    connection.execute("COMMIT")
    return True


def go_on(connection: "Connection") -> bool:
    """Write the next pages; whether it was the end."""
    connection.execute("BEGIN IMMEDIATE")
    before = connection.total_changes
    connection.execute("INSERT INTO fts(fts, rank) VALUES ('merge', ?)", (PAGES,))
    done = connection.total_changes - before < 2  # https://sqlite.org/fts5.html#the_merge_command
    if done and _is_marked(connection):
        connection.execute("INSERT INTO fts(fts, rowid, terms) VALUES ('delete', ?, ?)", (ROW, _TERM))
    connection.execute("COMMIT")
    return done


def truncate(connection: "Connection") -> bool:
    """Bring the log into the file and empty it; whether nobody held that up."""
    (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout={_TRY_MILLISECONDS}")
    try:
        busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout={before}")
    return busy == 0


def _is_marked(connection: "Connection") -> bool:
    return connection.execute("SELECT 1 FROM fts_terms WHERE term = ?", (_TERM,)).fetchone() is not None
