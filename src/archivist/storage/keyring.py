"""The server's own secrets: what seals things that go out and come back, kept in a file beside the database.

Two versions can be valid at once, so that a secret can be exchanged while everything runs. The newest one seals; all
of them open. The file is read again when it changes: other processes may exchange it.
"""

import base64
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from archivist.domain.errors import Conflict, NotFound, Refused

if sys.platform != "win32":
    import fcntl

FILE = "server.key"
"""What the file is called in the data folder."""

MODE = 0o600
_DIFFERENT = 16
"""So many different bytes, and steps from one to the next, 32 random bytes always have; what people make up has not."""


@dataclass(slots=True)
class _Read:
    """What the file held when it was last looked at."""

    stamp: tuple[int, int, int]
    keys: tuple[str, ...]
    fernet: MultiFernet


class Keyring:
    """Seals values so that only this server can open them, for a purpose and a time."""

    def __init__(self, path: Path, now: Callable[[], datetime]) -> None:
        self._path, self._now = path, now
        self._read: _Read | None = None

    def prepare(self) -> None:
        """Make the file if there is none.

        Raises:
            Refused: others can read it, or what it holds is no secret; the text says how to mend it.
        """
        self._current()

    def seal(self, purpose: str, value: Any) -> str:
        """`value`, anything that JSON can hold, as text without blanks."""
        text = json.dumps([purpose, value], ensure_ascii=False, separators=(",", ":"))
        return _unpadded(self._current().fernet.encrypt_at_time(text.encode(), self._seconds()))

    def open(self, purpose: str, sealed: str, life: timedelta | None = None) -> Any:
        """The value again.

        Raises:
            NotFound: not sealed here, for another purpose, changed, or older than `life`.
        """
        fernet = self._current().fernet
        try:
            _require_canonical(_padded(sealed))
            if life is None:
                text = fernet.decrypt(_padded(sealed))
            else:
                text = fernet.decrypt_at_time(_padded(sealed), int(life.total_seconds()), self._seconds())
            found, value = json.loads(text)
        except (InvalidToken, UnicodeEncodeError, ValueError):
            raise NotFound("this page is too old; load it again") from None
        if found != purpose:
            raise NotFound("this page is too old; load it again")
        return value

    def reseal(self, sealed: str) -> str:
        """The same, sealed by the newest secret. Raises NotFound if none opens it."""
        try:
            return _unpadded(self._current().fernet.rotate(_padded(sealed)))
        except (InvalidToken, UnicodeEncodeError):
            raise NotFound("sealed by a secret that is struck off") from None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """For so long nobody else exchanges secrets of this folder. Who is killed meanwhile lets go of it.

        Raises:
            Conflict: somebody else does at this moment.
        """
        if sys.platform == "win32":  # where folders cannot be locked
            yield
            return
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict("others exchange secrets at this moment; nothing was changed, try again") from None
            yield
        finally:
            os.close(folder)

    @property
    def versions(self) -> int:
        """How many secrets are valid."""
        return len(self._current().keys)

    def rotate(self) -> None:
        """A new secret seals from now on; the one before it still opens. An older one is struck off."""
        self._write([_new_key(), self._current().keys[0]])

    def strike(self) -> None:
        """Only the newest secret is valid any more; what others sealed is dead."""
        self._write([self._current().keys[0]])

    def _current(self) -> _Read:
        if not self._path.exists():
            self._write([_new_key()], first=True)
        try:
            status = self._path.stat()
        except OSError as error:
            raise Refused(f"{self._path} cannot be read ({error.strerror}); restore it from a backup") from None
        stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        if self._read is None or self._read.stamp != stamp:
            if os.name == "posix" and status.st_mode & 0o077:
                raise Refused(f"{self._path} can be read by others; run: chmod 600 {self._path}")
            keys = self._keys()
            self._read = _Read(stamp, keys, MultiFernet([Fernet(key) for key in keys]))
        return self._read

    def _keys(self) -> tuple[str, ...]:
        try:
            keys = tuple(json.loads(self._path.read_text(encoding="utf-8"))["keys"])
            [Fernet(key) for key in keys]
        except (OSError, ValueError, TypeError, KeyError):
            keys = ()
        if not keys or not all(_is_random(key) for key in keys):
            raise Refused(f"{self._path} holds no secret that this server made; restore it from a backup, or remove it")
        return keys

    def _write(self, keys: list[str], *, first: bool = False) -> None:
        """Whole or not at all, and readable by nobody else from the start. The first one there is stays."""
        fresh = _beside(self._path, json.dumps({"keys": keys}).encode())
        if first:
            with suppress(FileExistsError):
                os.link(fresh, self._path)
            fresh.unlink()
        else:
            fresh.replace(self._path)
        _sync(self._path.parent)
        self._read = None

    def _seconds(self) -> int:
        return int(self._now().timestamp())


def copy_file(source: Path, target: Path) -> None:
    """Make `target` hold what `source` holds, whole or not at all; nothing happens while there is no `source`."""
    try:
        held = source.read_bytes()
    except FileNotFoundError:
        return
    if not target.exists() or target.read_bytes() != held:
        _beside(target, held).replace(target)
        _sync(target.parent)


def _beside(path: Path, content: bytes) -> Path:
    """A new file beside `path`, on disk, and readable by nobody else from the start."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return fresh


def _sync(folder: Path) -> None:
    """Wait until the names in it are on disk; a system without folders that can be opened sees to it itself."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unpadded(token: bytes) -> str:
    """Without the marks at the end, which cookies would have to quote."""
    return token.rstrip(b"=").decode()


def _padded(sealed: str) -> bytes:
    return f"{sealed}{'=' * (-len(sealed) % 4)}".encode()


def _require_canonical(padded: bytes) -> None:
    """Raises ValueError for another spelling of the same bytes, which base64 has: what was changed is not ours."""
    if base64.urlsafe_b64encode(base64.urlsafe_b64decode(padded)) != padded:
        raise ValueError


def _new_key() -> str:
    return Fernet.generate_key().decode()


def _is_random(key: str) -> bool:
    """Whether a Fernet key, 32 bytes in base64, looks like one of a generator's: no phrase, no pattern, no sequence."""
    made = base64.urlsafe_b64decode(key)
    steps = {(after - before) % 256 for before, after in pairwise(made)}
    return min(len(set(made)), len(steps)) >= _DIFFERENT and not all(0x20 <= byte < 0x7F for byte in made)
