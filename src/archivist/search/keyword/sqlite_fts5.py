"""The full-text index of a SQLite vault file: a plain contentless FTS5 table, no positions, no stored text.

A vault is a file, so the table needs no vault column. Terms reach FTS5 as quoted strings: never as its query language.
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import sqlalchemy as sa

from archivist.domain.erasures import Erasure
from archivist.domain.ids import MemoryId, VaultId
from archivist.search.keyword.index import Docs
from archivist.storage.database import Database, Write

_INSERT = sa.text(
    "INSERT INTO fts (rowid, terms) SELECT doc, terms FROM memories WHERE vault = :vault AND id = :id",
)

# A contentless table forgets a row only if it is handed exactly the terms that were put in.
_FORGET = sa.text(
    "INSERT INTO fts (fts, rowid, terms) SELECT 'delete', doc, terms FROM memories WHERE vault = :vault AND id = :id",
)

_FORGET_GOING = sa.text(
    "INSERT INTO fts (fts, rowid, terms)"
    " SELECT 'delete', doc, terms FROM memories WHERE vault = :vault AND going = :erasure",
)

# What was stored since a whole vault began to go, and what other deletions hide, which take it out themselves. Taking
# out all but these one by one would take minutes.
_INSERT_OTHERS = sa.text(
    "INSERT INTO fts (rowid, terms) SELECT doc, terms FROM memories WHERE vault = :vault AND going != :erasure"
)

_CLEAR = sa.text("INSERT INTO fts (fts) VALUES ('delete-all')")

# FTS5 keeps a row for every document, https://sqlite.org/fts5.html#the_columnsize_option
_HOLDS = sa.text("SELECT id FROM fts_docsize WHERE id IN (SELECT value FROM json_each(:documents)) LIMIT 1")

_COUNTS = sa.text("SELECT term, doc FROM fts_terms WHERE term IN (SELECT value FROM json_each(:terms))")

# One line of numbers per term: parsing it is three times as fast as fetching a row per document.
_POSTINGS = sa.text(
    "SELECT wanted.key AS place,"
    " (SELECT group_concat(rowid) FROM fts"
    " WHERE fts MATCH json_extract(wanted.value, '$[0]')"
    " AND rowid > json_extract(wanted.value, '$[1]') AND rowid <= :upto) AS docs"
    " FROM json_each(:wanted) AS wanted"
)


class SqliteFts5:
    """`KeywordIndex` on the table `fts` and its vocabulary `fts_terms`."""

    def insert(self, vault: VaultId, memory: MemoryId) -> Write:
        return Write(_INSERT, rows=({"vault": vault, "id": memory},))

    def forget(self, vault: VaultId, memory: MemoryId) -> Write:
        return Write(_FORGET, rows=({"vault": vault, "id": memory},))

    def forget_going(self, erasure: Erasure) -> Sequence[Write]:
        named = {"vault": erasure.vault, "erasure": erasure.id}
        if erasure.whole:
            return [self.clear(erasure.vault), Write(_INSERT_OTHERS, rows=(named,))]
        return [Write(_FORGET_GOING, rows=(named,))]

    def clear(self, vault: VaultId) -> Write:  # noqa: ARG002 - a file is a vault
        return Write(_CLEAR)

    async def holds(self, db: Database, vault: VaultId, documents: Sequence[int]) -> bool:  # noqa: ARG002 - a file is a vault
        return bool(await db.read(_HOLDS, {"documents": json.dumps(list(documents))}))

    async def counts(self, db: Database, vault: VaultId, terms: Sequence[str]) -> Mapping[str, int]:  # noqa: ARG002 - a file is a vault
        rows = await db.read(_COUNTS, {"terms": json.dumps(list(terms))})
        return {row["term"]: row["doc"] for row in rows}

    async def postings(
        self,
        db: Database,
        vault: VaultId,  # noqa: ARG002 - a file is a vault
        after: Mapping[str, int],
        upto: int,
    ) -> Mapping[str, Docs]:
        terms = list(after)
        wanted = json.dumps([[_quoted(term), after[term]] for term in terms])
        rows = await db.read(_POSTINGS, {"wanted": wanted, "upto": upto})
        return {terms[row["place"]]: _numbers(row["docs"]) for row in rows}


def _quoted(term: str) -> str:
    """`term` as an FTS5 string."""
    return '"' + term.replace('"', '""') + '"'


def _numbers(line: str | None) -> Docs:
    return np.fromstring(line, dtype=np.int64, sep=",") if line else np.zeros(0, dtype=np.int64)
