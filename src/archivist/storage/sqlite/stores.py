"""Stores on SQLite: `control.db`, and a file for each vault, opened on demand and let go when idle."""

import asyncio
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from archivist.domain.errors import NotFound, Refused, Unavailable
from archivist.domain.ids import CONTROL, VaultId, is_uuid
from archivist.domain.times import utc_now
from archivist.storage.database import Database
from archivist.storage.migrations.runner import Kind
from archivist.storage.readonly import ReadOnly
from archivist.storage.sqlite import backup, connections, files, folder, inspection
from archivist.storage.sqlite.database import SqliteDatabase
from archivist.storage.sqlite.driver import driver
from archivist.storage.sqlite.failures import translated
from archivist.storage.sqlite.statements import Statements
from archivist.telemetry.logging import logger

OPEN_FILES = 32
"""Vault files open at once, if none of them is busy; each costs a few threads and descriptors."""

IDLE = timedelta(minutes=5)
_RECHECK = timedelta(seconds=5)
log = logger(__name__)

_CONTROL_HEAD = "INSERT OR IGNORE INTO heads (vault, epoch, seq, secret, space, erasing) VALUES (?, 1, 0, ?, '', 0)"


class SqliteStores:
    """The data folder `data`, made and checked when it is first used. `now` says how long something was idle."""

    def __init__(self, data: Path, now: Callable[[], datetime] = utc_now) -> None:
        self._data = data
        self._control = data / "control.db"
        self._paths: dict[VaultId, Path] = {}
        self._now = now
        self._statements = Statements()
        self._known: dict[Path, SqliteDatabase] = {}
        self._used: dict[Path, datetime] = {}
        self._checked: dict[Path, datetime] = {}
        self._opening = asyncio.Lock()

    async def control(self) -> Database:
        """See Stores.

        Raises:
            Refused: the folder or `control.db` cannot serve; says why and how to mend it.
        """
        if self._control not in self._known:
            await asyncio.to_thread(_prepare, self._data)
        return await self._database(self._control, "control")

    async def vault(self, vault: VaultId, *, writable: bool = True) -> Database:
        database = await self._database(self._path(vault), "vault")
        return database if writable else ReadOnly(database)

    async def create(self, vault: VaultId) -> None:
        await self.control()  # the folder is made and checked there
        await asyncio.to_thread(_create, self._path(vault), "vault")

    async def backup(self, folder: Path) -> int:
        return await asyncio.to_thread(backup.take, self._data, folder)

    async def check(self) -> None:
        for path in [self._control, *(path for path, known in self._known.items() if known.is_open)]:
            await asyncio.to_thread(inspection.look, path)

    async def close(self) -> None:
        for database in self._known.values():
            await database.close()

    def _path(self, vault: VaultId) -> Path:
        if vault not in self._paths:
            if not is_uuid(vault):  # an id becomes a file name; nothing else may
                raise NotFound("no such vault")
            self._paths[vault] = self._data / "vaults" / f"{vault}.db"
        return self._paths[vault]

    async def _database(self, path: Path, kind: Kind) -> SqliteDatabase:
        """The database of `path`: known, or prepared now; reopened if its disk had failed."""
        self._used[path] = self._now()
        known = self._known.get(path)
        if known is not None and known.is_open and not known.damaged:
            return known
        async with self._opening:
            known = self._known.get(path)
            if known is None:
                known = self._known[path] = await self._prepared(path, kind)
            elif known.damaged:
                await self._reopen(path, known)
            await self._let_go_of_idle()
        return known

    async def _prepared(self, path: Path, kind: Kind) -> SqliteDatabase:
        try:
            await asyncio.to_thread(files.open_existing, path, kind)
        except FileNotFoundError as error:
            raise NotFound("no such vault") from error
        except Refused as error:
            if kind == "control":
                raise
            log.error("a vault cannot be opened", reason=error.detail)  # names the file, which callers need not know
            raise Unavailable("this vault cannot be opened; the server's log says why and how to mend it") from error
        except driver().Error as error:
            raise translated(error) from error
        return SqliteDatabase(path, self._statements)

    async def _reopen(self, path: Path, database: SqliteDatabase) -> None:
        """Check the whole file, then let it be written again. Tried now and then, since it reads everything."""
        now = self._now()
        if path in self._checked and abs(now - self._checked[path]) < _RECHECK:
            return
        self._checked[path] = now
        await asyncio.to_thread(inspection.look_through, path)
        await database.rest()

    async def _let_go_of_idle(self) -> None:
        """Close what was not used for IDLE, and the longest unused beyond OPEN_FILES."""
        now = self._now()
        idle = [path for path, known in self._known.items() if known.is_open and not known.busy]
        idle.sort(key=lambda path: self._used[path])
        surplus = len(idle) - OPEN_FILES
        for place, path in enumerate(idle):
            if place < surplus or now - self._used[path] >= IDLE:
                await self._known[path].rest()


def _prepare(data: Path) -> None:
    """The folder, and in it a control file with a log of its own. Waits for no other program that writes there."""
    driver()
    folder.prepare(data)
    path = data / "control.db"
    if not (path.exists() and path.stat().st_size) and any((data / "vaults").glob("*.db")):
        raise Refused(f"{path} is missing or empty, so nobody knows the vaults beside it; run `archivist repair`")
    _create(path, "control")
    connection = connections.writer(path)
    try:
        if connection.execute("SELECT 1 FROM heads").fetchone() is None:
            connection.execute(_CONTROL_HEAD, (CONTROL, secrets.token_bytes(32)))
    except driver().Error as error:
        raise translated(error) from error
    finally:
        connection.close()


def _create(path: Path, kind: Kind) -> None:
    """Make and migrate the file, unless it is there. Its name is on disk before anybody learns of it."""
    try:
        connections.make_private(path)
        connections.sync(path.parent)
        files.prepare(path, kind)
    except OSError as error:
        raise Refused(f"{path} cannot be made: {error.strerror}; check the folder and its free space") from error
    except driver().Error as error:
        raise translated(error) from error
