"""The one door to a database: read a query, or apply a batch of writes, all or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa

Row = Mapping[str, Any]
Query = sa.Select[Any] | sa.CompoundSelect[Any] | sa.TextClause
Statement = sa.Insert | sa.Update | sa.Delete | sa.TextClause
AT_ONCE = {"at_once": True}
"""Execution options of a query for a few small rows by their keys. A backend in this process then answers without
another thread."""


@dataclass(frozen=True, slots=True)
class Write:
    """One statement of a batch. If `must_change` and it changes no row, the batch fails.

    `rows`: parameters for one execution each; () runs the statement once with what is bound in it.
    """

    statement: Statement
    must_change: bool = False
    rows: Sequence[Mapping[str, Any]] = ()


class Database(Protocol):
    """What every backend promises; tests/contract runs one suite against each."""

    @property
    def dialect(self) -> str:
        """`sqlite`, `postgresql` or `mysql`."""
        ...

    async def read(self, query: Query, parameters: Mapping[str, Any] | None = None) -> Sequence[Row]:
        """Rows in query order, of one consistent state.

        Raises:
            Unavailable: the backend did not answer.
        """
        ...

    async def apply(self, batch: Sequence[Write]) -> Sequence[int]:
        """All of `batch`, in order, or none; on disk when it returns. Returns the rows each write changed.

        A batch that met a deadlock or a serialisation failure is tried again: it is a value.

        Raises:
            Conflict: a `must_change` write changed no row, or a unique key is taken.
            Unavailable: the backend did not answer; whether the batch was applied is unknown.
            InsufficientScope: this database was handed out for reading only.
        """
        ...

    async def scrub(self) -> bool:
        """Make the bytes of deleted rows unreadable in every file of this database.

        Returns whether that is done; False when readers held it up for longer than 5 s, so: ask again later.
        """
        ...

    async def close(self) -> None:
        """Finish what is under way, then let go of files and connections."""
        ...
