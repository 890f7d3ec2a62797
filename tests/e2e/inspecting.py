"""What does not fit together in a data folder: rows, log, audit, index, vectors. Read by nothing but SQLite."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from archivist.storage.schema import NO_ID
from archivist.storage.sqlite import erasing
from archivist.storage.sqlite.driver import driver

DIMENSION = 384
STORES = ("store_memory", "import", "commit_reflections", "update_memory")
DELETES = ("delete_memories",)

_COUNTS = {
    "a memory without its entry in the log": (
        "SELECT count(*) FROM memories m LEFT JOIN changes c"
        " ON c.vault = m.vault AND c.seq = m.doc AND c.id = m.id AND c.op = 'put' AND c.kind = 'memory'"
        " WHERE c.seq IS NULL"
    ),
    "a deletion in the log whose memory is there": (
        f"SELECT count(*) FROM changes c JOIN memories m ON m.id = c.id WHERE c.op = 'delete' AND m.going = '{NO_ID}'"
        " AND NOT EXISTS (SELECT 1 FROM changes p WHERE p.id = c.id AND p.op = 'put' AND p.seq > c.seq)"
    ),
    "a deletion in the log without its tombstone": (
        "SELECT count(*) FROM changes c LEFT JOIN tombstones t ON t.memory = c.id"
        " WHERE c.op = 'delete' AND t.memory IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM changes p WHERE p.id = c.id AND p.op = 'put' AND p.seq > c.seq)"
    ),
    "a tombstone whose memory is there": (
        f"SELECT count(*) FROM tombstones t JOIN memories m ON m.id = t.memory WHERE m.going = '{NO_ID}'"
    ),
    "a hidden memory that no deletion is taking away": (
        "SELECT count(*) FROM memories m LEFT JOIN erasures e ON e.id = m.going"
        f" WHERE m.going != '{NO_ID}' AND e.id IS NULL"
    ),
    "a tag without a memory": (
        "SELECT count(*) FROM tags t LEFT JOIN memories m ON m.id = t.memory WHERE m.id IS NULL"
    ),
    "a vector without a memory": (
        "SELECT count(*) FROM vectors v LEFT JOIN memories m ON m.id = v.memory WHERE m.id IS NULL"
    ),
    "a pending mark without a memory": (
        "SELECT count(*) FROM pending p LEFT JOIN memories m ON m.id = p.memory WHERE m.id IS NULL"
    ),
    "a memory with neither vectors of the wanted space nor a pending mark, or with both": (
        "SELECT count(*) FROM memories m JOIN heads h ON h.vault = m.vault WHERE"
        " (SELECT count(*) > 0 FROM vectors v WHERE v.memory = m.id AND h.space IN (v.space, ''))"
        " = (SELECT count(*) > 0 FROM pending p WHERE p.memory = m.id)"
    ),
    "a memory whose windows have a gap": (
        "SELECT count(*) FROM (SELECT memory FROM vectors GROUP BY memory HAVING max(window) + 1 != count(*))"
    ),
    "a vector of the wrong size": f"SELECT count(*) FROM vectors WHERE length(data) != {DIMENSION}",
    "a lineage without its reflection": (
        "SELECT count(*) FROM lineage l LEFT JOIN memories m ON m.id = l.parent"
        " LEFT JOIN tombstones t ON t.memory = l.parent WHERE m.id IS NULL AND t.memory IS NULL"
    ),
    "a row of another vault": " UNION ALL ".join(
        f"SELECT count(*) FROM {table} WHERE vault != (SELECT vault FROM heads)"
        for table in ("changes", "audit", "memories", "tags", "vectors", "pending", "lineage", "tombstones")
    ),
}


CHANGES_NOTHING = ("server start", "server stop", "backup", "export", "audit read")
"""Acts that leave a line in the trail of the control database, and none in its log."""

REFUSALS = ("refused", "unauthenticated", "insufficient_scope")
"""How an act ended that was not done: that too leaves a line in the trail alone."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a memory's row holds of what its writer gave."""

    id: str
    text: str
    tags: tuple[str, ...]


@contextmanager
def looking(path: Path) -> Iterator[Any]:
    """A connection for reading that leaves the file and its log as they are."""
    address = f"file:{quote(str(path))}?mode=ro"
    with closing(driver().connect(address, uri=True, timeout=10, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        yield connection


def vault_files(data: Path) -> list[Path]:
    """The files of vaults, but for those whose maker was killed before there was anything in them."""
    return [path for path in sorted((data / "vaults").glob("*.db")) if not _is_empty(path)]


def _is_empty(path: Path) -> bool:
    with looking(path) as connection:
        return bool(connection.execute("SELECT count(*) = 0 FROM sqlite_schema").fetchone()[0])


def memories(data: Path) -> list[Row]:
    """Every memory of every vault."""
    found = []
    for path in vault_files(data):
        with looking(path) as connection:
            tagged: dict[str, list[str]] = {}
            for memory, tag in connection.execute("SELECT memory, tag FROM tags ORDER BY memory, position"):
                tagged.setdefault(memory, []).append(tag)
            for id, text in connection.execute("SELECT id, text FROM memories WHERE going = ?", (NO_ID,)):
                found.append(Row(id, text, tuple(tagged.get(id, ()))))
    return found


def faults(data: Path) -> list[str]:
    """Everything that does not fit together; empty if all is well."""
    found = _control_faults(data)
    for path in vault_files(data):
        with looking(path) as connection:
            found += [f"{path.name}: {fault}" for fault in _vault_faults(connection)]
    return found


def _control_faults(data: Path) -> list[str]:
    with looking(data / "control.db") as connection:
        found = [f"control: {fault}" for fault in [*_integrity(connection), *_log_faults(connection)]]
        for (vault,) in connection.execute("SELECT vault FROM vaults").fetchall():
            if not (data / "vaults" / f"{vault}.db").exists():
                found.append("control: a vault without its file")
        (logged,) = connection.execute("SELECT count(*) FROM changes").fetchone()
        acts, outcomes = (", ".join("?" * len(words)) for words in (CHANGES_NOTHING, REFUSALS))
        count = f"SELECT count(*) FROM audit WHERE action NOT IN ({acts}) AND outcome NOT IN ({outcomes})"
        (audited,) = connection.execute(count, (*CHANGES_NOTHING, *REFUSALS)).fetchone()
        if logged != audited:
            found.append(f"control: {logged} changes, but {audited} audit entries")
    return found


def _vault_faults(connection: Any) -> Iterator[str]:
    yield from _integrity(connection)
    if connection.execute("SELECT count(*) FROM heads").fetchone() == (0,):
        return  # the vault's file is made, its log not begun
    yield from _log_faults(connection)
    for what, statement in _COUNTS.items():
        if any(count for (count,) in connection.execute(statement)):
            yield what
    yield from _audit_faults(connection)
    yield from index_faults(connection)


def _integrity(connection: Any) -> Iterator[str]:
    for (said,) in connection.execute("PRAGMA integrity_check").fetchall():
        if said != "ok":
            yield f"integrity: {said}"


def _log_faults(connection: Any) -> Iterator[str]:
    head = connection.execute("SELECT seq FROM heads").fetchone()[0]
    first, last, count = connection.execute("SELECT min(seq), max(seq), count(*) FROM changes").fetchone()
    if (first or 1, last or 0, count) != (1, head, head):
        yield f"the log runs from {first} to {last} with {count} entries, its head says {head}"


def _audit_faults(connection: Any) -> Iterator[str]:
    logged = Counter(dict(connection.execute("SELECT op, count(*) FROM changes WHERE kind = 'memory' GROUP BY op")))
    audited = Counter(dict(connection.execute("SELECT action, sum(count) FROM audit GROUP BY action")))
    # A withdrawn deletion logs what it shows again: the same memory in the same version.
    puts = "SELECT DISTINCT id, version FROM changes WHERE kind = 'memory' AND op = 'put'"
    logged["put"] = connection.execute(f"SELECT count(*) FROM ({puts})").fetchone()[0]
    for op, actions in (("put", STORES), ("delete", DELETES)):
        if logged[op] != (counted := sum(audited[action] for action in actions)):
            yield f"{logged[op]} entries of {op} in the log, {counted} in the audit trail"
    cleared = connection.execute("SELECT count(*) FROM changes WHERE op = 'clear'").fetchone()[0]
    forgotten = connection.execute("SELECT count(*) FROM audit WHERE action = 'forget_all_memories'").fetchone()[0]
    if cleared != forgotten:
        yield f"{cleared} entries of clear in the log, {forgotten} in the audit trail"


def index_faults(connection: Any) -> Iterator[str]:
    """Whether the full-text index holds exactly the terms of the rows. FTS5's own check cannot: it has no content."""
    connection.execute("CREATE VIRTUAL TABLE temp.postings USING fts5vocab(main, fts, instance)")
    # A kill during an erasure may leave the row of no memory that it had put there; the next erasure takes it out.
    indexed = Counter(connection.execute("SELECT term, doc FROM temp.postings WHERE doc != ?", (erasing.ROW,)))
    rows = Counter(
        (term, doc)
        for doc, terms in connection.execute("SELECT doc, terms FROM memories")
        for term in set(terms.split())
    )
    if indexed != rows:
        yield f"{(indexed - rows).total()} postings too many, {(rows - indexed).total()} missing"
