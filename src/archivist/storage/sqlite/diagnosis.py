"""What is wrong with a data file: every page, every memory against its checksum, and whether all that belongs is there.

Nothing is changed, and nothing is opened for writing, so a file that others use can be looked through as well.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from archivist.domain.changes import Head
from archivist.domain.ids import MemoryId
from archivist.storage.migrations.runner import Kind
from archivist.storage.rows import COLUMNS, memory_of
from archivist.storage.sqlite import connections
from archivist.storage.sqlite.driver import driver
from archivist.storage.sqlite.files import MARKS

if TYPE_CHECKING:
    from archivist.storage.sqlite.connections import Connection

PAGE = 1_000
"""Memories looked at between two reports of progress."""

Trouble = Literal["missing", "unreadable", "rows", "index"]
"""missing: there is no file, or an empty one. unreadable: its pages are damaged, or it is none of ours. rows: some
memories are not what was written. index: the full-text index does not hold what the memories say."""

_ROWS = f"SELECT rowid AS place, {', '.join(COLUMNS)} FROM memories WHERE rowid > ? ORDER BY rowid LIMIT {PAGE}"  # noqa: S608 - names of columns of ours
_TAGS = "SELECT tag FROM tags WHERE vault = ? AND memory = ? ORDER BY position"
_DOCUMENTS = """
SELECT (SELECT count(*) FROM memories) = (SELECT count(*) FROM fts_docsize WHERE id >= 0)
AND NOT EXISTS (SELECT 1 FROM memories m LEFT JOIN fts_docsize d ON d.id = m.doc WHERE d.id IS NULL)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """trouble: None if all is well. memories: the damaged ones. head: where the log stands, if that is legible."""

    path: Path
    kind: Kind
    trouble: Trouble | None = None
    memories: tuple[MemoryId, ...] = ()
    head: Head | None = None
    detail: str = ""


def expected(path: Path) -> int:
    """How many memories `examine` will look at in a vault's file; 0 if it cannot be read."""
    try:
        connection = connections.reader(path)
        try:
            return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])
        finally:
            connection.close()
    except driver().Error:
        return 0


def examine(path: Path, kind: Kind, seen: Callable[[int], None] = lambda _memories: None) -> Finding:
    """Look through a whole file. `seen` is told of every so many memories that were looked at."""
    if not path.exists() or path.stat().st_size == 0:
        return Finding(path=path, kind=kind, trouble="missing", detail="the file is missing or empty")
    try:
        mark, _ = connections.header(path)
        connection = connections.reader(path)
        connection.text_factory = _as_it_is
        try:
            return _examined(connection, path, kind, mark, seen)
        finally:
            connection.close()
    except driver().Error as error:
        return Finding(path=path, kind=kind, trouble="unreadable", detail=f"it is damaged: {error}")


def _examined(connection: "Connection", path: Path, kind: Kind, mark: int, seen: Callable[[int], None]) -> Finding:
    if mark != MARKS[kind]:
        return Finding(
            path=path, kind=kind, trouble="unreadable", detail="it is none of our files, or its head is damaged"
        )
    (checked,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if checked != "ok":
        return Finding(path=path, kind=kind, trouble="unreadable", detail=f"its pages are damaged: {checked}")
    found = connection.execute("SELECT epoch, seq FROM heads").fetchone()
    head = None if found is None else Head(*found)
    if kind == "vault":
        if damaged := tuple(_damaged(connection, seen)):
            detail = f"{len(damaged)} of its memories are not what was written"
            return Finding(path=path, kind=kind, trouble="rows", memories=damaged, head=head, detail=detail)
        if not connection.execute(_DOCUMENTS).fetchone()[0]:
            detail = "its full-text index lacks memories, or holds some that are gone"
            return Finding(path=path, kind=kind, trouble="index", head=head, detail=detail)
    return Finding(path=path, kind=kind, head=head)


def _as_it_is(text: bytes) -> str:
    """Bytes that are no text any more are no reason to stop: the checksum tells which memory they belong to."""
    return text.decode("utf-8", "surrogateescape")


def _damaged(connection: "Connection", seen: Callable[[int], None]) -> Iterator[MemoryId]:
    last = -(2**63)
    while True:
        cursor = connection.execute(_ROWS, (last,))
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]
        for row in rows:
            last = row.pop("place")
            tags = [tag for (tag,) in connection.execute(_TAGS, (row["vault"], row["id"]))]
            if not _is_whole(row, tags):
                yield MemoryId(str(row["id"]))
        seen(len(rows))
        if len(rows) < PAGE:
            return


def _is_whole(row: dict[str, object], tags: list[str]) -> bool:
    try:
        return memory_of(row, tags) is not None
    except (ValueError, TypeError, OverflowError):  # what cannot even be read as a memory
        return False
