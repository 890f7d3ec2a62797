"""SQLite's errors as ours, by its result codes (https://sqlite.org/rescode.html)."""

from collections.abc import Mapping

from archivist.domain.errors import Conflict, Unavailable

_CONSTRAINT = 19
_IOERR, _CORRUPT, _NOTADB, _FULL = 10, 11, 26, 13
# Copying a database tells no code, only SQLite's own words for it.
_TEXTS: Mapping[str, int] = {
    "disk I/O error": _IOERR,
    "database disk image is malformed": _CORRUPT,
    "database or disk is full": _FULL,
    "file is not a database": _NOTADB,
}
_NO_TEXT = "Could not decode to UTF-8"  # the rest of that message is the text itself, which is not to be told
DAMAGE = frozenset({_IOERR, _CORRUPT, _NOTADB})
_SAYS: Mapping[int, str] = {
    5: "the store is busy with another program; try again",
    6: "the store is busy with another program; try again",
    8: "the store cannot be written; make its files writable for this user, or restore them if they were replaced",
    _IOERR: "reading or writing the disk failed; check the disk and its free space, then try again",
    _CORRUPT: "the store's file is damaged; stop the server and run `archivist repair`",
    _FULL: "the disk is full; free some space, then try again",
    14: "the store's file cannot be opened; check that the data folder is there and belongs to this user",
    _NOTADB: "the store's file is damaged; stop the server and run `archivist repair`",
}


def code_of(error: BaseException) -> int:
    """SQLite's result code, extended where the driver tells it; 0 for errors that are not SQLite's."""
    code: int = getattr(error, "sqlite_errorcode", 0) or _TEXTS.get(str(error), 0)
    return code


def translated(error: BaseException) -> BaseException:
    """The error that callers get; a mistake of ours, such as a misspelt column, comes back as it is."""
    code = code_of(error) & 0xFF  # pysqlite3 gives primary codes, the interpreter's module extended ones
    says = _SAYS.get(code)
    if _NO_TEXT in str(error):
        return Unavailable("a row is damaged: it holds bytes that are no text; `archivist doctor` says which")
    if code == _CONSTRAINT and "UNIQUE" in str(error):
        translation: Exception = Conflict("a unique key is taken")
    elif says is not None:
        translation = Unavailable(says)
    else:
        return error
    translation.__cause__ = error
    return translation


def is_damage(error: BaseException) -> bool:
    """Whether nothing more may be written before the file was reopened and checked."""
    return code_of(error) & 0xFF in DAMAGE
