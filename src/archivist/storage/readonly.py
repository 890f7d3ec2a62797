"""A database handed out for reading only."""

from collections.abc import Mapping, Sequence
from typing import Any

from archivist.domain.errors import InsufficientScope
from archivist.storage.database import Database, Query, Row, Write


class ReadOnly:
    """Reads go on to `database`, whose reading connections refuse writes by themselves; writes are refused here."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def dialect(self) -> str:
        return self._database.dialect

    async def read(self, query: Query, parameters: Mapping[str, Any] | None = None) -> Sequence[Row]:
        return await self._database.read(query, parameters)

    async def apply(self, batch: Sequence[Write]) -> Sequence[int]:  # noqa: ARG002 - whatever it is, it is refused
        raise InsufficientScope("this connection may only read; ask its owner to allow more")

    async def scrub(self) -> bool:
        raise InsufficientScope("this connection may only read; ask its owner to allow more")

    async def close(self) -> None:
        """Nothing: the database belongs to its stores."""
