"""Finding memories: by meaning and words, or by date."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from archivist.domain import budget, queries
from archivist.domain.access import Principal
from archivist.domain.dates import Bound, cursor, end_of, start_of
from archivist.domain.errors import EmbedderUnavailable, InvalidArgument
from archivist.domain.limits import DATE_TOKENS_DEFAULT, RESULT_TOKENS, SEARCH_DEFAULT, SEARCH_LIMIT
from archivist.domain.operations import permit
from archivist.domain.queries import Filters, Ranked
from archivist.domain.times import LATEST, iso
from archivist.embedders.embedder import Embedder, Floats
from archivist.search.indexes import Indexes
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.stores import Stores

PAGE = 500
"""Rows read at once while a date page is filled."""


@dataclass(frozen=True, slots=True)
class Found:
    """An answer, best first. `note` says what the reader should know of it; `truncated` that the size guard cut it."""

    rows: Sequence[Ranked]
    note: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a date search. `next_to` is the `to` that continues it, empty if nothing is left."""

    rows: Sequence[Ranked]
    start: str
    end: str
    tokens: int
    truncated: bool
    next_to: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """The search use cases. They change nothing."""

    stores: Stores
    embedder: Embedder
    indexes: Indexes
    now: Callable[[], datetime]

    async def search(
        self,
        who: Principal,
        *,
        query: str,
        limit: int = SEARCH_DEFAULT,
        tiers: Sequence[int] | None = None,
        importance: int | None = None,
        neighbours: bool = False,
    ) -> Found:
        """The memories that answer `query` best, at most `limit`, never the whole vault unasked.

        neighbours: let turns of a conversation lend weight to the turns beside them.

        Raises:
            InvalidArgument: an argument is outside its range.
        """
        permit(who, "search_memories")
        query, limit = queries.checked_query(query), queries.checked_limit(limit)
        filters = queries.filters(tiers, importance)
        db = await self._reading(who)
        vector, missing = await self._vector(query)
        rows = await self._ranked(db, who, query, vector, limit=limit, filters=filters, neighbours=neighbours)
        fitting = budget.fit(rows, RESULT_TOKENS)
        return Found(fitting, _note(filters, fitting, missing), len(fitting) < len(rows))

    async def by_date(
        self,
        who: Principal,
        *,
        start: str,
        end: str | None = None,
        query: str | None = None,
        tiers: Sequence[int] | None = None,
        importance: int | None = None,
        max_tokens: int = DATE_TOKENS_DEFAULT,
    ) -> Page:
        """The memories of a window of event time: newest first, or by relevance if there is a query.

        Raises:
            InvalidArgument: an argument is outside its range, or `from` is after `to`.
        """
        permit(who, "date_search_memories")
        filters, max_tokens = queries.filters(tiers, importance), queries.checked_tokens(max_tokens)
        first = start_of("from", start)
        last = Bound(self.now() + timedelta(microseconds=1)) if end is None else end_of("to", end)
        if first.moment > last.moment:
            raise InvalidArgument("from", "must not be after to")
        db = await self._reading(who)
        if query is None:
            return await self._chronological(db, who, first, last, filters=filters, max_tokens=max_tokens)
        window = replace(filters, start=first.moment, end=last.moment)
        query = queries.checked_query(query)
        vector, _ = await self._vector(query)
        rows = await self._ranked(db, who, query, vector, limit=SEARCH_LIMIT, filters=window)
        return _page(budget.fit(rows, max_tokens), len(rows), first, last)

    async def _reading(self, who: Principal) -> Database:
        return await self.stores.vault(who.vault, writable=who.may_change)

    async def _ranked(
        self,
        db: Database,
        who: Principal,
        query: str,
        vector: Floats | None,
        *,
        limit: int,
        filters: Filters,
        neighbours: bool = False,
    ) -> list[Ranked]:
        """The rows of the best hits. A hit whose row is gone by now is dropped; of equal texts the best one stays."""
        hits = await self.indexes.of(who.vault, self.embedder.space).search(
            db, query_vector=vector, query_text=query, limit=limit, filters=filters, neighbours=neighbours
        )
        rows = await stored.find_many(db, who.vault, [hit.id for hit in hits])
        found = [Ranked(rows[hit.id], hit.score) for hit in hits if hit.id in rows]
        best = {row.memory.digest: row for row in reversed(found)}
        return [row for row in found if best[row.memory.digest] is row]

    async def _vector(self, query: str) -> tuple[Floats | None, str]:
        """The query's vector, or why there is none now."""
        try:
            return await self.embedder.query(query), ""
        except EmbedderUnavailable as error:
            return None, error.detail

    async def _chronological(
        self, db: Database, who: Principal, first: Bound, last: Bound, *, filters: Filters, max_tokens: int
    ) -> Page:
        rows: list[Ranked] = []
        left, until = max_tokens, last
        while True:
            page = await stored.window(db, who.vault, first, until, filters, PAGE)
            rows += [Ranked(memory, None) for memory in page]
            left -= sum(budget.cost_of(memory) for memory in page)
            if left < 0 or len(page) < PAGE:
                break
            until = Bound(page[-1].event, page[-1].id)
        return _page(budget.fit(rows, max_tokens), len(rows), first, last)


def _note(filters: Filters, rows: Sequence[Ranked], missing: str) -> str:
    """What the reader should know. missing: why the query has no vector, empty if it has one."""
    if filters.importance is not None and filters.tiers == {1}:
        return "Raw memories (tier 1) have no importance, so nothing can match; leave importance out."
    if not rows:
        return "Nothing found. memory_status says whether this vault holds anything."
    return f"Found by words alone: {missing}" if missing else ""


def _page(fitting: Sequence[Ranked], of: int, first: Bound, last: Bound) -> Page:
    truncated = len(fitting) < of
    by_time = bool(fitting) and fitting[-1].score is None
    oldest = fitting[-1].memory if truncated and by_time else None
    return Page(
        rows=fitting,
        start=iso(first.moment),
        end=iso(min(last.moment, LATEST)),
        tokens=sum(budget.cost_of(row.memory) for row in fitting),
        truncated=truncated,
        next_to=cursor(oldest.event, oldest.id) if oldest else "",
    )
