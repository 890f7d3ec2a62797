"""A vault's posting lists, kept between searches: a word that was asked for before costs only what is new."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from archivist.domain.ids import VaultId
from archivist.search.facets import Facets
from archivist.search.keyword.coverage import Floats, Mask, Rows, Scores, best, bound_of_best
from archivist.search.keyword.index import KeywordIndex
from archivist.storage.database import Database
from archivist.storage.schema import memories

SMALL = 20_000
"""Rows up to which every list is read at once: counting first would cost more than it saves."""

BYTES_PER_ROW = 32
"""How much the kept lists may take, for each memory of the vault."""

COUNT_DRIFT = 100
"""A count read earlier still holds until the log has grown by one in so many of it."""

_SHORT = 5_000  # postings that are not worth a question whether they are needed
_ENTRY = 400  # bytes of a kept list besides its rows
_MOST_COUNTS = 20_000
_ROOM = 4 * 1024 * 1024  # bytes that every vault may keep
_FETCHED = 0.15  # µs for a posting through SQL
_LOOKED_UP = 6.0  # µs for the terms of one row
_ROUNDING = 1e-6
_LOOKUPS = 1_000  # rows whose terms are read at most, instead of a long list
_DOCS: sa.BindParameter[Any] = sa.bindparam("docs", expanding=True)
_TERMS = sa.select(memories.c.doc, memories.c.terms).where(
    memories.c.vault == sa.bindparam("of_vault", type_=sa.String), memories.c.doc.in_(_DOCS)
)


@dataclass(slots=True)
class _List:
    rows: NDArray[np.int32]
    upto: int  # the last document it knows of

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + _ENTRY


@dataclass(frozen=True, slots=True)
class _Want:
    limit: int
    allowed: Mask | None
    also: Rows | None


class Postings:
    """Follows `facets`, whose row numbers it keeps; `clear` when those change."""

    def __init__(self, vault: VaultId, index: KeywordIndex, facets: Facets) -> None:
        self._vault = vault
        self._index = index
        self._facets = facets
        self._lists: OrderedDict[str, _List] = OrderedDict()
        self._nbytes = 0
        self._counts: dict[str, tuple[int, int]] = {}  # term: memories that hold it, seq at which that was read
        self._spent: dict[str, float] = {}  # term: µs of looking up so far; a list that would have cost less is bought

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def clear(self) -> None:
        self._lists.clear()
        self._nbytes = 0
        self._counts.clear()
        self._spent.clear()

    async def search(
        self,
        db: Database,
        terms: Sequence[str],
        seq: int,
        *,
        limit: int,
        allowed: Mask | None = None,
        also: Rows | None = None,
    ) -> tuple[Rows, Floats]:
        """The rows of highest coverage, best first, and coverages by row.

        The coverages are exact for the rows found and for `also`; without `also`, for every row.
        seq: where the facets stand in the change log. allowed: by row; None for all.
        """
        want = _Want(limit, allowed, also)
        counts = await self._counted(db, terms, seq)
        rarest = sorted(counts, key=lambda term: (counts[term], term))
        scores = Scores(self._facets.live, len(self._facets), counts)
        for term in rarest:
            if term in self._lists:
                scores.add(term, self._lists[term].rows)
        left = [term for term in rarest if term not in self._lists]
        while left and not await self._looked_up(db, left, counts, scores, want):
            left = await self._fetch_next(db, left, counts, seq, scores)
        bound = bound_of_best(scores.by_row, self._seeds(counts), allowed, limit)
        found = best(scores.by_row, bound, allowed, limit)
        self._shrink()
        return found, scores.by_row

    async def _counted(self, db: Database, terms: Sequence[str], seq: int) -> dict[str, int]:
        """How many living memories hold each term. Kept lists are up to date afterwards."""
        known = [term for term in terms if term in self._lists or len(self._facets) <= SMALL]
        await self._fetch(db, known, seq)
        counts = {term: self._living(self._lists[term].rows) for term in known}
        unknown = [term for term in terms if term not in counts]
        for term in unknown:
            count, read_at = self._counts.get(term, (0, seq))
            if (seq - read_at) * COUNT_DRIFT < count:
                counts[term] = count
        missing = [term for term in unknown if term not in counts]
        if missing:
            read = await self._index.counts(db, self._vault, missing)
            counts |= {term: read.get(term, 0) for term in missing}
            self._counts |= {term: (counts[term], seq) for term in missing}
        return counts

    async def _fetch(self, db: Database, terms: Sequence[str], seq: int) -> None:
        """Bring the lists of `terms` up to `seq`, in one read."""
        after = {term: self._lists[term].upto if term in self._lists else -1 for term in terms}
        behind = {term: upto for term, upto in after.items() if upto < seq}
        if behind:
            for term, docs in (await self._index.postings(db, self._vault, behind, seq)).items():
                places = self._facets.rows_of_docs(docs)
                rows = places[places >= 0].astype(np.int32)
                if term in self._lists:
                    earlier = self._lists.pop(term)
                    self._nbytes -= earlier.nbytes
                    rows = np.concatenate((earlier.rows, rows))
                self._lists[term] = _List(rows, seq)
                self._nbytes += self._lists[term].nbytes
        for term in terms:
            self._lists.move_to_end(term)

    async def _fetch_next(
        self, db: Database, left: list[str], counts: Mapping[str, int], seq: int, scores: Scores
    ) -> list[str]:
        """Add the rarest terms of `left`, at least one and more while they are short; returns the others."""
        cost, n = counts[left[0]], 1
        while n < len(left) and cost + counts[left[n]] <= _SHORT:
            cost, n = cost + counts[left[n]], n + 1
        await self._fetch(db, left[:n], seq)
        for term in left[:n]:
            scores.add(term, self._lists[term].rows)
        return left[n:]

    async def _looked_up(
        self,
        db: Database,
        left: Sequence[str],
        counts: Mapping[str, int],
        scores: Scores,
        want: _Want,
    ) -> bool:
        """Whether the terms `left` could be settled from the rows of the few memories that they can still decide.

        A memory that holds none of the terms added so far gets at most `weight(left)`: too little once `limit`
        others have more. The rest is decided among those that are no further than that from the best.
        """
        if want.also is None:
            return False
        bound = bound_of_best(scores.by_row, self._seeds(counts), want.allowed, want.limit)
        rest = scores.weight(left)
        if rest >= bound:
            return False
        undecided = np.flatnonzero(scores.by_row >= bound - rest - _ROUNDING)
        rows = np.union1d(undecided if want.allowed is None else undecided[want.allowed[undecided]], want.also)
        cost = len(rows) * _LOOKED_UP
        if len(rows) > _LOOKUPS or self._spent.get(left[0], 0) + cost > counts[left[0]] * _FETCHED:
            return False
        self._spent[left[0]] = self._spent.get(left[0], 0) + cost
        for term, holders in (await self._holders(db, left, rows)).items():
            scores.add(term, holders)
        return True

    async def _holders(self, db: Database, terms: Sequence[str], rows: Rows) -> dict[str, NDArray[np.int32]]:
        """Which of `rows` hold each of `terms`, read from the memories themselves."""
        docs = [int(doc) for doc in self._facets.docs[rows]]
        read = await db.read(_TERMS, {"of_vault": self._vault, "docs": docs})
        held = {row["doc"]: set(row["terms"].split(" ")) for row in read}
        return {term: rows[[term in held.get(doc, ()) for doc in docs]].astype(np.int32) for term in terms}

    def _seeds(self, counts: Mapping[str, int]) -> list[NDArray[np.int32]]:
        """The lists at hand, shortest first: their rows are the likely winners."""
        return sorted((self._lists[term].rows for term in counts if term in self._lists), key=len)

    def _living(self, rows: NDArray[np.int32]) -> int:
        return int(np.count_nonzero(self._facets.alive[rows])) if self._facets.dead else len(rows)

    def _shrink(self) -> None:
        """Drop the lists that were not asked for longest, as many as are too much."""
        budget = _ROOM + BYTES_PER_ROW * len(self._facets)
        while self._nbytes > budget:
            self._nbytes -= self._lists.popitem(last=False)[1].nbytes
        if len(self._counts) > _MOST_COUNTS:
            self._counts.clear()
            self._spent.clear()
