"""Finding memories: by meaning and words, or by date."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo

from archivist.domain import budget, queries
from archivist.domain.access import Principal
from archivist.domain.dates import Bound, cursor, end_of, says_its_zone, start_of, written, zone_named
from archivist.domain.errors import Damaged, EmbedderUnavailable, InvalidArgument
from archivist.domain.ids import MemoryId
from archivist.domain.limits import DATE_TOKENS_DEFAULT, RESULT_TOKENS, SEARCH_DEFAULT, SEARCH_LIMIT
from archivist.domain.operations import permit
from archivist.domain.queries import Filters, Ranked
from archivist.embedders.embedder import Embedder, Floats
from archivist.search.indexes import Indexes
from archivist.storage import memories as stored
from archivist.storage.database import Database
from archivist.storage.people import users
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
    """One page of a date search, from `start` to `end` as they can be passed again.

    truncated: not everything came. `next_to` (newest first) or `next_from` (oldest first) is the bound that continues
    it behind the last row; both are empty if nothing is left, or if there was a query.
    """

    rows: Sequence[Ranked]
    start: str
    end: str
    tokens: int
    truncated: bool
    next_to: str = ""
    next_from: str = ""


@dataclass(frozen=True, slots=True)
class _Best:
    """more: there were more hits. damage: what could not be shown."""

    rows: Sequence[Ranked]
    more: bool
    damage: Damaged | None


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
        best = await self._ranked(db, who, query, vector, limit=limit, filters=filters, neighbours=neighbours)
        fitting = budget.fit(best.rows, RESULT_TOKENS)
        note = _note(filters, fitting, missing) if best.damage is None else best.damage.detail
        return Found(fitting, note, len(fitting) < len(best.rows))

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
        order: str | None = None,
    ) -> Page:
        """The memories of a window of event time: newest first, or as `order` says, or best first for `query`.

        Days and moments without a zone are in the one of the account. With a query every memory of the window is
        scored, and at most the SEARCH_LIMIT best come. So no part of the window is left unscored for a cursor to name:
        such an answer has none, and `truncated` alone says that the window holds more than came.

        Raises:
            InvalidArgument: an argument is outside its range, `from` is after `to`, or `order` stands beside a query.
        """
        permit(who, "date_search_memories")
        filters, max_tokens = queries.filters(tiers, importance), queries.checked_tokens(max_tokens)
        query = None if query is None else queries.checked_query(query)
        oldest_first = queries.checked_order(order, query) == "oldest_first"
        first = start_of("from", start, await self._zone(who, "from", start))
        last = Bound(self.now() + timedelta(microseconds=1))
        if end is not None:
            last = end_of("to", end, await self._zone(who, "to", end))
        if first.moment > last.moment:
            raise InvalidArgument("from", "must not be after to, which is now if it is left out")
        db = await self._reading(who)
        if query is None:
            return await self._chronological(
                db, who, first, last, filters=filters, max_tokens=max_tokens, oldest_first=oldest_first
            )
        vector, _ = await self._vector(query)
        window = replace(filters, start=first, end=last)
        best = await self._ranked(db, who, query, vector, limit=SEARCH_LIMIT, filters=window)
        if best.damage is not None:
            raise best.damage
        fitting = budget.fit(best.rows, max_tokens)
        return _page(fitting, first, last, truncated=best.more or len(fitting) < len(best.rows))

    async def _zone(self, who: Principal, field: str, text: str) -> tzinfo:
        """The zone in which `text` is meant: that of the account, UTC if there is none.

        Raises:
            InvalidArgument: the account sets one that this computer does not know.
        """
        user = None if says_its_zone(text) else await users.find(await self.stores.control(), who.user)
        zone = UTC if user is None else zone_named(user.zone)
        if zone is None:
            rule = "this server does not know the account's time zone; add an offset, such as 2026-11-30T00:00:00+01:00"
            raise InvalidArgument(field, rule)
        return zone

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
    ) -> "_Best":
        """The rows of the `limit` best hits. A hit whose row is gone is dropped; of equal texts the best one stays."""
        hits = await self.indexes.of(who.vault, self.embedder.space).search(
            db, query_vector=vector, query_text=query, limit=limit + 1, filters=filters, neighbours=neighbours
        )
        damaged: list[MemoryId] = []
        rows = await stored.find_many(db, who.vault, [hit.id for hit in hits[:limit]], damaged)
        found = [Ranked(rows[hit.id], hit.score) for hit in hits[:limit] if hit.id in rows]
        best = {row.memory.digest: row for row in reversed(found)}
        shown = [row for row in found if best[row.memory.digest] is row]
        return _Best(shown, len(hits) > limit, Damaged(damaged) if damaged else None)

    async def _vector(self, query: str) -> tuple[Floats | None, str]:
        """The query's vector, or why there is none now."""
        try:
            return await self.embedder.query(query), ""
        except EmbedderUnavailable as error:
            return None, error.detail

    async def _chronological(
        self,
        db: Database,
        who: Principal,
        first: Bound,
        last: Bound,
        *,
        filters: Filters,
        max_tokens: int,
        oldest_first: bool,
    ) -> Page:
        rows: list[Ranked] = []
        start, end, left = first, last, max_tokens
        while True:
            most = min(PAGE, budget.enough_rows(left))
            page = await stored.window(db, who.vault, start, end, filters, most, oldest_first=oldest_first)
            rows += [Ranked(memory, None) for memory in page]
            left -= sum(budget.cost_of(memory) for memory in page)
            if left < 0 or len(page) < most:
                break
            seen = Bound(page[-1].event, page[-1].id)
            start, end = (seen, end) if oldest_first else (start, seen)
        fitting = budget.fit(rows, max_tokens)
        more = len(fitting) < len(rows)
        whole = _page(fitting, first, last, truncated=more)
        if not more:
            return whole
        behind = cursor(fitting[-1].memory.event, fitting[-1].memory.id)
        return replace(whole, next_from=behind) if oldest_first else replace(whole, next_to=behind)


def _note(filters: Filters, rows: Sequence[Ranked], missing: str) -> str:
    """What the reader should know. missing: why the query has no vector, empty if it has one."""
    if filters.importance is not None and filters.tiers == {1}:
        return "Raw memories (tier 1) have no importance, so nothing can match; leave importance out."
    if not rows:
        return "Nothing found. memory_status says whether this vault holds anything."
    return f"Found by words alone: {missing}" if missing else ""


def _page(rows: Sequence[Ranked], first: Bound, last: Bound, *, truncated: bool) -> Page:
    tokens = sum(budget.cost_of(row.memory) for row in rows)
    return Page(rows, written(first), written(last), tokens, truncated)
