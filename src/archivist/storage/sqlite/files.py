"""Our SQLite files: recognised by their mark, migrated before use, a copy kept before existing data is changed."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from archivist.domain.errors import Refused
from archivist.storage.migrations.runner import MIGRATIONS, Kind, Migration, due
from archivist.storage.sqlite import connections
from archivist.storage.sqlite.driver import driver

if TYPE_CHECKING:
    from archivist.storage.sqlite.connections import Connection

MARKS: dict[Kind, int] = {"control": 0x41726331, "vault": 0x41727631}
"""SQLite's application_id, "Arc1" and "Arv1": tells our files from another program's, and the two kinds apart."""


def prepare(path: Path, kind: Kind, migrations: Sequence[Migration] | None = None) -> None:
    """Bring the existing file to the newest schema. An empty file becomes a new database.

    Raises:
        FileNotFoundError: there is no such file.
        Refused: it is not ours, of another kind, or written by a newer version.
    """
    path.stat()
    steps = MIGRATIONS[kind] if migrations is None else migrations
    try:
        version, is_new = _version(path, kind)
        if due(steps, version, path.name):
            if not is_new:
                _keep_copy(path, version)
            _migrate(path, kind, steps)
    except driver().DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (11, 26):
            raise Refused(
                f"{path} is not a database, or is damaged; run `archivist repair`, or move it away"
            ) from error
        raise


def open_existing(path: Path, kind: Kind) -> None:
    """The same for a file that was made before: if it is empty now, what it held is lost.

    Raises:
        FileNotFoundError, Refused: as for `prepare`.
    """
    if path.stat().st_size == 0:
        raise Refused(f"{path} is empty, so what it held is lost; run `archivist repair`")
    prepare(path, kind)


def _version(path: Path, kind: Kind) -> tuple[int, bool]:
    """The schema number of the file, 0 for an empty one, and whether it holds nothing yet."""
    connection = connections.reader(path)
    try:
        mark, version, tables, pages = _identity(connection)
    finally:
        connection.close()
    is_empty = pages > 0 or path.stat().st_size == 0  # what is too short for a page is no database of ours either
    if (mark, version, tables) == (0, 0, 0) and is_empty:
        return 0, True
    if mark != MARKS[kind]:
        raise Refused(f"{path} belongs to another program; move it away, or choose another data folder")
    return version, False


def _identity(connection: "Connection") -> tuple[int, int, int, int]:
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    return mark, version, tables, pages


def _migrate(path: Path, kind: Kind, migrations: Sequence[Migration]) -> None:
    """All steps in one transaction: another process, or a crash, finds the old state or the new one."""
    connection = connections.writer(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()  # another process may have been faster
        for step in due(migrations, version, path.name):
            for statement in step.up("sqlite"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={step.number:d}")
        connection.execute(f"PRAGMA application_id={MARKS[kind]:d}")
        connection.execute("COMMIT")
    finally:
        connection.close()


def _keep_copy(path: Path, version: int) -> None:
    """A copy beside the file, taken whole; erasing anything from the file later removes it (see scrub)."""
    copy = path.with_name(f"{path.name}.before-{version + 1}")
    if not copy.exists():
        copy_to(path, copy)


def copy_to(path: Path, target: Path) -> None:
    """A consistent copy as one private file, complete on disk or not there. Others may read and write meanwhile."""
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    connections.make_private(part)
    source = connections.reader(path)
    try:
        into = connections.plain(part)
        try:
            source.backup(into)
        finally:
            into.close()
    finally:
        source.close()
    connections.sync(part)
    part.replace(target)
    connections.sync(target.parent)
