"""The one thread that writes a file. Batches that wait together are committed together, each still all or nothing."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from archivist.domain.errors import Conflict, Unavailable
from archivist.storage.sqlite import connections
from archivist.storage.sqlite.failures import is_damage, translated
from archivist.storage.sqlite.replies import Reply
from archivist.storage.sqlite.statements import Prepared

if TYPE_CHECKING:
    from archivist.storage.sqlite.connections import Connection

_TOGETHER = 64


@dataclass(frozen=True, slots=True)
class Batch:
    """Writes to apply; the reply is the number of rows that each changed."""

    writes: Sequence[Prepared]
    reply: Reply[list[int]]


@dataclass(frozen=True, slots=True)
class Task:
    """Work of its own on the writing connection, which it leaves outside of a transaction."""

    work: Callable[["Connection"], bool]
    reply: Reply[bool]


_Job = Batch | Task


class Writer:
    """Writes `path`. `damaged` once a write met a failing disk or file: then nothing more is written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._connection: Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._unfinished = 0
        self.damaged = False
        self._thread = Thread(target=self._run, name=f"writer {path.name}", daemon=True)
        self._thread.start()

    def submit(self, job: _Job) -> None:
        self._unfinished += 1
        job.reply.future.add_done_callback(self._finished)
        self._jobs.put(job)

    @property
    def busy(self) -> bool:
        return self._unfinished > 0 or not self._jobs.empty()

    def stop(self) -> None:
        """Finish what was submitted, then let go of the connection. Blocks."""
        self._jobs.put(None)
        self._thread.join()

    def _finished(self, _future: object) -> None:
        self._unfinished -= 1

    def _run(self) -> None:
        going_on = True
        while going_on:
            jobs, going_on = self._waiting()
            batches = [job for job in jobs if isinstance(job, Batch)]
            if batches:
                self._commit(batches)
            for job in jobs:
                if isinstance(job, Task):
                    self._do(job)
            del jobs, batches
        self._let_go()

    def _waiting(self) -> tuple[list[_Job], bool]:
        """What waits, at least one job; and whether more may come."""
        jobs = [self._jobs.get()]
        with suppress(Empty):
            while len(jobs) < _TOGETHER:
                jobs.append(self._jobs.get_nowait())
        return [job for job in jobs if job is not None], None not in jobs

    def _commit(self, batches: Sequence[Batch]) -> None:
        """Apply the batches in one transaction and answer each after it is on disk."""
        outcomes: list[list[int] | BaseException]
        try:
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            outcomes = [_apply(connection, batch.writes) for batch in batches]
            connection.execute("COMMIT")
        except BaseException as error:  # the thread must go on and every caller must hear
            self._after(error)
            outcomes = [translated(error) for _ in batches]
        for batch, outcome in zip(batches, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                batch.reply.fail(outcome)
            else:
                batch.reply.give(outcome)

    def _do(self, task: Task) -> None:
        try:
            answer = task.work(self._open())
        except BaseException as error:
            self._after(error)
            task.reply.fail(translated(error))
        else:
            task.reply.give(answer)

    def _open(self) -> "Connection":
        if self.damaged:
            raise Unavailable("writing stopped after the disk failed; it goes on once the file was checked, try again")
        if self._connection is not None and self._identity != _identity(self._path):
            self._let_go()  # the file was moved or deleted under us: what is written to it now would be lost
        if self._connection is None:
            self._connection, self._identity = connections.writer(self._path), _identity(self._path)
        return self._connection

    def _after(self, error: BaseException) -> None:
        """Undo what is open; after damage, write no more."""
        if self._connection is not None and self._connection.in_transaction:
            with suppress(Exception):  # SQLite may have rolled back already; the first error is the one to tell
                self._connection.execute("ROLLBACK")
        if is_damage(error):
            self.damaged = True
            self._let_go()

    def _let_go(self) -> None:
        if self._connection is not None:
            with suppress(Exception):  # a failing disk may fail here again
                self._connection.close()
            self._connection = None


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file `path` names now; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _apply(connection: "Connection", writes: Sequence[Prepared]) -> "list[int] | BaseException":
    """The rows that each write changed; or why none of them was applied. Damage and lost locks are raised."""
    connection.execute("SAVEPOINT batch")
    try:
        counts = [_changed(connection, write) for write in writes]
    except BaseException as error:
        if is_damage(error) or not connection.in_transaction:
            raise
        connection.execute("ROLLBACK TO batch")
        connection.execute("RELEASE batch")
        return translated(error)
    connection.execute("RELEASE batch")
    return counts


def _changed(connection: "Connection", write: Prepared) -> int:
    run = connection.executemany if write.many else connection.execute
    changed = max(0, run(write.sql, write.values).rowcount)
    if write.must_change and changed == 0:
        raise Conflict("what this write relies on has changed; read again, then decide")
    return changed
