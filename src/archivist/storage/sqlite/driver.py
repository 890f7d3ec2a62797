"""Which SQLite library serves: the bundled one, its twin for other machines, or the interpreter's own if it is safe."""

import importlib
from collections.abc import Iterable
from types import ModuleType

from archivist.domain.errors import Refused

CANDIDATES = ("pysqlite3.dbapi2", "sqlcipher3.dbapi2", "sqlite3")
_FIXED_SERIES = {(3, 50): 7, (3, 44): 6}


def driver(candidates: Iterable[str] = CANDIDATES) -> ModuleType:
    """The first DB-API module of `candidates` that is installed and whose SQLite is safe to use.

    Raises:
        Refused: there is none. Older libraries can corrupt a write-ahead log that several connections share
            (https://sqlite.org/wal.html, "the WAL-reset bug").
    """
    found = []
    for name in candidates:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if is_safe(module.sqlite_version_info):
            return module
        found.append(f"{name} brings {module.sqlite_version}")
    raise Refused(
        "no safe SQLite library: 3.51.3, 3.50.7 or 3.44.6 is needed"
        + (f" ({', '.join(found)})" if found else "")
        + "; install pysqlite3 0.6.1 or newer, or sqlcipher3"
    )


def is_safe(version: tuple[int, int, int]) -> bool:
    """Whether this SQLite has the write-ahead log fix: 3.51.3 and later, 3.50.7 and 3.44.6 in their series."""
    series = version[:2]
    return version >= (3, 51, 3) or (series in _FIXED_SERIES and version[2] >= _FIXED_SERIES[series])
