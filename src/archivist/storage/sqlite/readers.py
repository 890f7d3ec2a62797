"""The threads that read one file: each has a connection of its own, started when all others are busy."""

from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from archivist.storage.database import Row
from archivist.storage.sqlite import connections
from archivist.storage.sqlite.failures import is_damage, translated
from archivist.storage.sqlite.replies import Reply
from archivist.storage.sqlite.statements import Prepared

if TYPE_CHECKING:
    from archivist.storage.sqlite.connections import Connection

THREADS = 3
_Job = tuple[Prepared, Reply[list[Row]]]


class Readers:
    """Reads `path`. All but `_run` is called from one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._waiting = 0
        self._lock = Lock()

    def submit(self, prepared: Prepared, reply: Reply[list[Row]]) -> None:
        with self._lock:
            self._waiting += 1
            grow = self._waiting > len(self._threads) < THREADS
        if grow:
            thread = Thread(target=self._run, name=f"reader {self._path.name}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._jobs.put((prepared, reply))

    @property
    def busy(self) -> bool:
        return self._waiting > 0

    def stop(self) -> None:
        """Finish what was submitted, then let go of the connections. Blocks."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        connection: Connection | None = None
        while (job := self._jobs.get()) is not None:
            prepared, reply = job
            try:
                connection = connection or connections.reader(self._path)
                rows = rows_of(connection, prepared)
            except BaseException as error:  # whatever it is, it belongs to the caller, and the thread goes on
                if connection is not None and is_damage(error):
                    connection.close()
                    connection = None
                self._done()
                reply.fail(translated(error))
            else:
                self._done()
                reply.give(rows)
            del job, prepared, reply
        if connection is not None:
            connection.close()

    def _done(self) -> None:
        with self._lock:
            self._waiting -= 1


def rows_of(connection: "Connection", prepared: Prepared) -> list[Row]:
    """All rows of a query; nothing stays open when it returns."""
    cursor = connection.execute(prepared.sql, prepared.values)
    names = [column[0] for column in cursor.description]
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]
