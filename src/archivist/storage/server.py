"""Stores on a database server: control and vaults are one database, and the vault column separates."""

import asyncio
import secrets
from pathlib import Path

import sqlalchemy as sa

from archivist.domain.errors import Conflict, NotFound, Refused
from archivist.domain.ids import CONTROL, VaultId
from archivist.storage import heads
from archivist.storage.database import Database
from archivist.storage.migrations.runner import MIGRATIONS, due
from archivist.storage.readonly import ReadOnly
from archivist.storage.sql import SqlDatabase

_LOCK = 4_715_623_001
"""Any number that others do not use: held while the schema is changed."""


class ServerStores:
    """The database at `url`, migrated when it is first used."""

    def __init__(self, url: str) -> None:
        self._database = SqlDatabase(url)
        self._ready = False
        self._opening = asyncio.Lock()

    async def control(self) -> Database:
        """See Stores.

        Raises:
            Refused: the database was written by a newer version.
        """
        async with self._opening:
            if not self._ready:
                await asyncio.to_thread(migrate, self._database.engine)
                await self._begin()
                self._ready = True
        return self._database

    async def vault(self, vault: VaultId, *, writable: bool = True) -> Database:  # noqa: ARG002 - all are in one
        database = await self.control()
        return database if writable else ReadOnly(database)

    async def create(self, vault: VaultId) -> None:
        """Nothing: rows need no room made."""

    async def backup(self, folder: Path) -> int:
        raise Refused(f"{folder}: a database server is backed up with its own tools, pg_dump or mariadb-dump")

    async def check(self) -> None:
        await heads.read(await self.control(), CONTROL)

    async def close(self) -> None:
        await self._database.close()

    async def _begin(self) -> None:
        """Another process may begin at the same time: one of the two does."""
        try:
            await heads.read(self._database, CONTROL)
        except NotFound:
            try:
                await self._database.apply([heads.make(CONTROL, secrets.token_bytes(32))])
            except Conflict:
                return


def migrate(engine: sa.Engine) -> None:
    """Bring the database to the newest schema, one process at a time.

    PostgreSQL does all of it or none. MariaDB ends a transaction with every table it makes; there the number moves on
    after each step, and a step that was cut off has to be mended by hand.

    Raises:
        Refused: it was written by a newer version.
    """
    name = engine.dialect.name
    with engine.begin() as connection:
        if name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        else:
            connection.exec_driver_sql(f"SELECT GET_LOCK('archivist-{_LOCK}', 60)")
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY)")
        version = connection.exec_driver_sql("SELECT coalesce(max(version), 0) FROM schema_version").scalar_one()
        for step in due(MIGRATIONS["server"], version, "the database"):
            for statement in step.up(name):
                connection.exec_driver_sql(statement)
            connection.execute(sa.text("INSERT INTO schema_version VALUES (:number)"), {"number": step.number})
        if name != "postgresql":
            connection.exec_driver_sql(f"SELECT RELEASE_LOCK('archivist-{_LOCK}')")
