"""Opening SQLite files: private, durable, erasing; for writing or for reading only."""

import os
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import quote

from archivist.storage.sqlite.driver import driver

if TYPE_CHECKING:
    import sqlite3

    Connection = sqlite3.Connection

BUSY_SECONDS = 10.0
"""How long a statement waits for other processes before it gives up."""

_BOTH = ("foreign_keys=ON", "trusted_schema=OFF", "cell_size_check=ON", "temp_store=MEMORY")
# FULL syncs the log before a commit returns; secure_delete overwrites what is deleted with zeros.
_WRITER = (*_BOTH, "synchronous=FULL", "secure_delete=ON", "wal_autocheckpoint=1000", "journal_size_limit=67108864")
_READER = (*_BOTH, "query_only=ON")


def writer(path: Path) -> "Connection":
    """A connection that may change the existing file `path`."""
    connection = _connect(path, "mode=rw")
    try:
        _use_wal(connection)
        for pragma in _WRITER:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def reader(path: Path, *, patience: float = BUSY_SECONDS) -> "Connection":
    """A connection to the existing file `path` on which SQLite itself refuses every write.

    patience: seconds that a statement waits for other processes.
    """
    connection = _connect(path, "mode=ro", patience)
    for pragma in _READER:
        connection.execute(f"PRAGMA {pragma}")
    return connection


def header(path: Path) -> tuple[int, int]:
    """(application_id, user_version) as they stand in the file itself, its log left aside.

    SQLite reads them, not we: closing a descriptor of our own would drop the locks of every connection to the file.
    """
    connection = _connect(path, "mode=ro&immutable=1")
    try:
        return _number(connection, "application_id"), _number(connection, "user_version")
    finally:
        connection.close()


def plain(path: Path) -> "Connection":
    """A connection to a file that is being made and that nobody else knows."""
    return _connect(path, "mode=rw")


def sync(path: Path) -> None:
    """Wait until a finished file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private(path: Path) -> None:
    """Create the empty file `path` for its owner alone, unless it exists. SQLite's side files take over its mode."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    os.close(descriptor)


def _connect(path: Path, options: str, patience: float = BUSY_SECONDS) -> "Connection":
    api: ModuleType = driver()
    connection: Connection = api.connect(
        f"file:{quote(str(path.absolute()))}?{options}",
        uri=True,
        timeout=patience,
        isolation_level=None,  # we say BEGIN ourselves
        check_same_thread=False,  # opened here, used by one thread, closed by another
        cached_statements=256,
    )
    return connection


def _use_wal(connection: "Connection") -> None:
    """Switch to the write-ahead log. SQLite does not wait for locks here, so we do."""
    busy: type[Exception] = driver().OperationalError
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchone()
            return
        except busy as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (5, 6) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _number(connection: "Connection", pragma: str) -> int:
    value: int = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return value
