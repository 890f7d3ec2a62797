"""One SQLite file as a Database: a writing thread, a few reading ones, both started on demand."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archivist.domain.errors import Unavailable
from archivist.storage.database import Query, Row, Write
from archivist.storage.sqlite import erasing
from archivist.storage.sqlite.glance import Glance
from archivist.storage.sqlite.readers import Readers
from archivist.storage.sqlite.replies import Reply
from archivist.storage.sqlite.statements import Statements
from archivist.storage.sqlite.writer import Batch, Task, Writer

if TYPE_CHECKING:
    from archivist.storage.sqlite.connections import Connection

SCRUB_SECONDS = 5.0
_PAUSE_SECONDS = 0.05


class SqliteDatabase:
    """The file `path`, which exists and is migrated. Handles stay good: after `rest` the next call opens it again."""

    dialect = "sqlite"

    def __init__(self, path: Path, statements: Statements) -> None:
        self.path = path
        self._statements = statements
        self._glance = Glance(path)
        self._readers: Readers | None = None
        self._writer: Writer | None = None
        self._closed = False

    async def read(self, query: Query, parameters: Mapping[str, Any] | None = None) -> Sequence[Row]:
        self._require_open()
        prepared = self._statements.query(query, parameters)
        if prepared.at_once and (rows := self._glance.rows(prepared)) is not None:
            return rows
        if self._readers is None:
            self._readers = Readers(self.path)
        reply: Reply[list[Row]] = Reply()
        self._readers.submit(prepared, reply)
        return await reply.future

    async def apply(self, batch: Sequence[Write]) -> Sequence[int]:
        reply: Reply[list[int]] = Reply()
        self._writing().submit(Batch([self._statements.write(write) for write in batch], reply))
        return await reply.future

    async def scrub(self) -> bool:
        """See Database; how, see `erasing`. The copies that were kept before a migration go, too."""
        deadline = time.monotonic() + SCRUB_SECONDS
        for kept in self.path.parent.glob(f"{self.path.name}.before-*"):
            kept.unlink(missing_ok=True)
        if await self._do(erasing.keeps_terms):
            await self._do(erasing.begin_anew)
            while not await self._do(erasing.go_on):
                if time.monotonic() >= deadline:
                    return False
        while not await self._do(erasing.truncate):
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(_PAUSE_SECONDS)
        return True

    @property
    def damaged(self) -> bool:
        """Whether a write met a failing disk or file; see `renew`."""
        return self._writer is not None and self._writer.damaged

    @property
    def is_open(self) -> bool:
        return self._glance.is_open or self._readers is not None or self._writer is not None

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return (self._readers is not None and self._readers.busy) or (self._writer is not None and self._writer.busy)

    async def rest(self) -> None:
        """Let go of file and threads; what is under way is finished first."""
        self._glance.close()
        readers, self._readers = self._readers, None
        writer, self._writer = self._writer, None
        for threads in (readers, writer):  # the last to go empties the log, which only a writer can
            if threads is not None:
                await asyncio.to_thread(threads.stop)

    async def close(self) -> None:
        self._closed = True
        await self.rest()

    async def _do(self, work: "Callable[[Connection], bool]") -> bool:
        reply: Reply[bool] = Reply()
        self._writing().submit(Task(work, reply))
        return await reply.future

    def _writing(self) -> Writer:
        self._require_open()
        if self._writer is None:
            self._writer = Writer(self.path)
        return self._writer

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("the server is stopping; try again")
