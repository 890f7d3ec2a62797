"""What a search asks: the checked arguments of every way to look something up."""

from collections.abc import Sequence
from dataclasses import dataclass

from archivist.domain.dates import Bound
from archivist.domain.errors import InvalidArgument
from archivist.domain.limits import DATE_TOKENS, QUERY_LENGTH, SEARCH_LIMIT
from archivist.domain.memories import TIERS, Memory

ORDERS = ("newest_first", "oldest_first")
"""How an answer without a query is sorted; the first one unless the other is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a hit must be. tiers: any of them; all if empty. importance: at least this; tier 1 has none.

    start ≤ event time < end, each open if None; one with `after` begins or ends behind that row. Archived memories are
    left out unless asked for.
    """

    tiers: frozenset[int] = frozenset()
    importance: int | None = None
    start: Bound | None = None
    end: Bound | None = None
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory and how well it answers, 0..1; `score` is None where the order is by time.

    cut: the text is not all of it, for it alone was more than the whole answer may hold.
    """

    memory: Memory
    score: float | None
    cut: bool = False


def filters(tiers: Sequence[int] | None, importance: int | None) -> Filters:
    """Raises InvalidArgument: no tier, a tier that there is not, or importance outside 1..10."""
    if tiers is not None and (not tiers or not set(TIERS).issuperset(tiers)):
        raise InvalidArgument("tiers", "must be one or more of 1, 2, 3; leave it out for all")
    if importance is not None and not 1 <= importance <= 10:
        raise InvalidArgument("importance", "must be 1..10")
    return Filters(tiers=frozenset(tiers or ()), importance=importance)


def checked_query(query: str) -> str:
    """The query without surrounding white space.

    Raises:
        InvalidArgument: empty or longer than QUERY_LENGTH characters.
    """
    query = query.strip()
    if not 1 <= len(query) <= QUERY_LENGTH:
        raise InvalidArgument("query", f"must be 1..{QUERY_LENGTH} characters")
    return query


def checked_limit(limit: int) -> int:
    """Raises InvalidArgument unless 1..SEARCH_LIMIT."""
    if not 1 <= limit <= SEARCH_LIMIT:
        raise InvalidArgument("limit", f"must be 1..{SEARCH_LIMIT}")
    return limit


def checked_tokens(max_tokens: int) -> int:
    """Raises InvalidArgument unless inside DATE_TOKENS."""
    least, most = DATE_TOKENS
    if not least <= max_tokens <= most:
        raise InvalidArgument("max_tokens", f"must be {least}..{most}")
    return max_tokens


def checked_order(order: str | None, query: str | None) -> str:
    """The order of an answer, which is by relevance if there is a query and by time otherwise.

    Raises:
        InvalidArgument: there is no such order, or there is a query beside it.
    """
    if order is not None and order not in ORDERS:
        raise InvalidArgument("order", f"must be {' or '.join(ORDERS)}")
    if order is not None and query is not None:
        raise InvalidArgument("order", "goes without query only, which ranks by relevance; leave one of them out")
    return order or ORDERS[0]
