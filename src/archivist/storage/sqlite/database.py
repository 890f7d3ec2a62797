"""One SQLite file as a Database: a writing thread, a few reading ones, both started on demand."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from archivist.domain.errors import Unavailable
from archivist.storage.database import Query, Row, Write
from archivist.storage.sqlite.readers import Readers
from archivist.storage.sqlite.replies import Reply
from archivist.storage.sqlite.statements import Statements
from archivist.storage.sqlite.writer import Batch, Truncation, Writer

SCRUB_SECONDS = 5.0
_PAUSE_SECONDS = 0.05


class SqliteDatabase:
    """The file `path`, which exists and is migrated. Handles stay good: after `rest` the next call opens it again."""

    dialect = "sqlite"

    def __init__(self, path: Path, statements: Statements) -> None:
        self.path = path
        self._statements = statements
        self._readers: Readers | None = None
        self._writer: Writer | None = None
        self._closed = False

    async def read(self, query: Query, parameters: Mapping[str, Any] | None = None) -> Sequence[Row]:
        self._require_open()
        if self._readers is None:
            self._readers = Readers(self.path)
        reply: Reply[list[Row]] = Reply()
        self._readers.submit(self._statements.query(query, parameters), reply)
        return await reply.future

    async def apply(self, batch: Sequence[Write]) -> Sequence[int]:
        reply: Reply[list[int]] = Reply()
        self._writing().submit(Batch([self._statements.write(write) for write in batch], reply))
        return await reply.future

    async def scrub(self) -> bool:
        """See Database. Deleted rows and index entries are overwritten as they go (secure_delete, also FTS5's); what
        is left is the log, which this empties, and the copies kept before a migration, which this removes."""
        deadline = time.monotonic() + SCRUB_SECONDS
        for kept in self.path.parent.glob(f"{self.path.name}.before-*"):
            kept.unlink(missing_ok=True)
        while True:
            reply: Reply[bool] = Reply()
            self._writing().submit(Truncation(reply))
            if await reply.future:
                return True
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(_PAUSE_SECONDS)

    @property
    def damaged(self) -> bool:
        """Whether a write met a failing disk or file; see `renew`."""
        return self._writer is not None and self._writer.damaged

    @property
    def is_open(self) -> bool:
        return self._readers is not None or self._writer is not None

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return (self._readers is not None and self._readers.busy) or (self._writer is not None and self._writer.busy)

    async def rest(self) -> None:
        """Let go of file and threads; what is under way is finished first."""
        readers, self._readers = self._readers, None
        writer, self._writer = self._writer, None
        for threads in (readers, writer):  # the last to go empties the log, which only a writer can
            if threads is not None:
                await asyncio.to_thread(threads.stop)

    async def close(self) -> None:
        self._closed = True
        await self.rest()

    def _writing(self) -> Writer:
        self._require_open()
        if self._writer is None:
            self._writer = Writer(self.path)
        return self._writer

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("the server is stopping; try again")
