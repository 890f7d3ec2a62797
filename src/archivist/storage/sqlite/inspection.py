"""Whether a file still is what it was: ours, in place, and readable."""

from pathlib import Path

from archivist.domain.errors import Unavailable
from archivist.storage.sqlite import connections
from archivist.storage.sqlite.driver import driver
from archivist.storage.sqlite.failures import translated
from archivist.storage.sqlite.files import MARKS
from archivist.telemetry.logging import logger

log = logger(__name__)


def look(path: Path) -> None:
    """Read the file's own header and, through its log, a row.

    Raises:
        Unavailable: it is gone, replaced, or not readable.
    """
    _inspect(path, "SELECT count(*) FROM heads")


def look_through(path: Path) -> None:
    """Read every page. Raises Unavailable unless all is well."""
    _inspect(path, "PRAGMA quick_check(1)", expected="ok")


def _inspect(path: Path, statement: str, expected: str | None = None) -> None:
    try:
        mark, _ = connections.header(path)
        connection = connections.reader(path)
        try:
            (found,) = connection.execute(statement).fetchone()
        finally:
            connection.close()
    except driver().Error as error:
        raise _seen(error) from error
    if mark not in MARKS.values() or (expected is not None and found != expected):
        log.error("a data file is damaged", file=path.name)  # its name is a vault's id, which callers need not know
        raise Unavailable("a data file is damaged; stop the server and run `archivist repair`")


def _seen(error: Exception) -> BaseException:
    translation = translated(error)
    if isinstance(translation, Unavailable):
        return translation
    return Unavailable("a data file is damaged; stop the server and run `archivist repair`")
