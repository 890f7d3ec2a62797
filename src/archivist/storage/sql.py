"""PostgreSQL and MariaDB: blocking engines, run in threads. Their drivers are extras, loaded by the URL."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchModuleError

from archivist.domain.errors import Conflict, Refused, Unavailable
from archivist.storage.database import Query, Row, Write
from archivist.storage.schema import VAULT

THREADS = 4
_TRIES = 3
_AGAIN = frozenset({"40001", "40P01", "1213"})  # serialisation failure, deadlock (PostgreSQL); deadlock (MariaDB)
_UNIQUE = frozenset({"23505", "1062"})
_READ_ONLY = {
    "postgresql": {"options": "-c default_transaction_read_only=on"},
    "mysql": {"init_command": "SET SESSION TRANSACTION READ ONLY"},
}
_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql"}
T = TypeVar("T")


class SqlDatabase:
    """A database on a server, for example `postgresql://…` or `mariadb://…`. Reading connections cannot write."""

    def __init__(self, url: str) -> None:
        """Raises Refused: no driver for the URL is installed."""
        address = sa.make_url(url)
        address = address.set(drivername=_DRIVERS.get(address.get_backend_name(), address.drivername))
        if address.get_backend_name() == "mysql":
            address = address.update_query_dict({"charset": "utf8mb4"})
        options: dict[str, Any] = {
            "pool_size": THREADS,
            "max_overflow": 0,
            "pool_pre_ping": True,
            "hide_parameters": True,
        }
        self.dialect = address.get_backend_name()
        try:
            self.engine = sa.create_engine(address, isolation_level="READ COMMITTED", **options)
            only = _READ_ONLY.get(self.dialect, {})
            self._reading = sa.create_engine(address, isolation_level="AUTOCOMMIT", connect_args=only, **options)
        except (ImportError, NoSuchModuleError) as error:
            extra = "postgres" if self.dialect == "postgresql" else "mariadb"
            raise Refused(f"no driver for this database; install archivist[{extra}]") from error
        self._readers = ThreadPoolExecutor(THREADS, thread_name_prefix="reader")
        self._writers = ThreadPoolExecutor(THREADS, thread_name_prefix="writer")

    async def read(self, query: Query, parameters: Mapping[str, Any] | None = None) -> Sequence[Row]:
        return await _in(self._readers, partial(self._read, query, parameters))

    async def apply(self, batch: Sequence[Write]) -> Sequence[int]:
        return await _in(self._writers, partial(self._apply, batch))

    async def scrub(self) -> bool:
        """Let the server reclaim what deleted rows took. Its own logs and copies are its operator's to keep or drop."""
        await _in(self._writers, self._reclaim)
        return True

    async def close(self) -> None:
        for threads in (self._readers, self._writers):
            await asyncio.to_thread(threads.shutdown)
        self._reading.dispose()
        self.engine.dispose()

    def _read(self, query: Query, parameters: Mapping[str, Any] | None) -> Sequence[Row]:
        try:
            with self._reading.connect() as connection:
                return [dict(row) for row in connection.execute(query, parameters or {}).mappings()]
        except DBAPIError as error:
            raise _translated(error) from error

    def _apply(self, batch: Sequence[Write]) -> list[int]:
        for attempt in range(1, _TRIES + 1):
            try:
                with self.engine.begin() as connection:
                    connection = connection.execution_options(preserve_rowcount=True)  # of inserts, too
                    return [_changed(connection, write) for write in batch]
            except DBAPIError as error:
                if not _codes(error) & _AGAIN or attempt == _TRIES:
                    raise _translated(error) from error
        raise AssertionError  # the last attempt returned or raised

    def _reclaim(self) -> None:
        command = "VACUUM" if self.dialect == "postgresql" else "OPTIMIZE TABLE"
        try:
            with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                for table in VAULT:
                    connection.exec_driver_sql(f"{command} {table.name}")
        except DBAPIError as error:
            raise _translated(error) from error


async def _in(threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    """The result of `work`. It goes on to its end even if nobody waits any more."""
    try:
        running = asyncio.get_running_loop().run_in_executor(threads, work)
    except RuntimeError as error:  # the threads are shut down
        raise Unavailable("the server is stopping; try again") from error
    running.add_done_callback(_heard)
    return await asyncio.shield(running)


def _heard(done: "asyncio.Future[Any]") -> None:
    """Whoever stopped waiting does not want to hear of a failure either."""
    if not done.cancelled():
        done.exception()


def _changed(connection: sa.Connection, write: Write) -> int:
    result = (
        connection.execute(write.statement, list(write.rows)) if write.rows else connection.execute(write.statement)
    )
    changed = max(0, result.rowcount)
    if write.must_change and changed == 0:
        raise Conflict("what this write relies on has changed; read again, then decide")
    return changed


def _codes(error: DBAPIError) -> frozenset[str]:
    """The SQLSTATE, and of MariaDB its own error number."""
    cause = error.orig
    number = cause.args[0] if cause is not None and cause.args else ""
    return frozenset({str(getattr(cause, "sqlstate", "")), str(number)})


def _translated(error: DBAPIError) -> Exception:
    """The error that callers get; a mistake of ours, such as a misspelt column, comes back as it is."""
    if isinstance(error, IntegrityError):
        return Conflict("a unique key is taken") if _codes(error) & _UNIQUE else error
    if isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError | sa.exc.InternalError):
        return Unavailable("the database server did not answer; check that it runs and has room, then try again")
    return error
