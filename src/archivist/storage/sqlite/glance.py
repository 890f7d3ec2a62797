"""Reading a row by its key on the thread that asks: handing it to another thread costs ten times as much."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from archivist.storage.database import Row
from archivist.storage.sqlite import connections
from archivist.storage.sqlite.driver import driver
from archivist.storage.sqlite.readers import rows_of
from archivist.storage.sqlite.statements import Prepared

if TYPE_CHECKING:
    from archivist.storage.sqlite.connections import Connection


class Glance:
    """A connection to `path` that never waits for a lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: Connection | None = None

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    def rows(self, prepared: Prepared) -> list[Row] | None:
        """None if it would have to wait, or went wrong: then a reading thread shall wait, or tell what is wrong."""
        try:
            if self._connection is None:
                self._connection = connections.reader(self._path, patience=0)
            return rows_of(self._connection, prepared)
        except driver().Error:
            self.close()
            return None

    def close(self) -> None:
        """Let go of the connection; the next look opens another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(driver().Error):  # a failing disk may fail here again
                connection.close()
