"""The search index of one vault in memory: facets and vectors of every memory, word statistics, and how to rank.

It follows the vault's change log before every search, so it answers right after every write of any process.
"""

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from archivist.domain.changes import Head
from archivist.domain.ids import VaultId
from archivist.domain.queries import Filters
from archivist.search import loading
from archivist.search.analysis import query_terms
from archivist.search.facets import Block, Facets, Mask, Rows, halves
from archivist.search.fusion import CANDIDATES, Hit, fused, ranking, reported, smoothed
from archivist.search.keyword.index import KeywordIndex
from archivist.search.keyword.postings import Postings
from archivist.search.vector.exact import Matrix
from archivist.search.vector.quantised import Floats
from archivist.storage import heads
from archivist.storage.database import Database

EVERYTHING = Filters()
_UNREAD = Head(-1, 0)
_MOST_DEAD = 4  # dead rows are dropped when they are one in so many
_LEAST_DEAD = 1_000
_THREAD_FROM = 20_000  # vectors from which a scan would keep others waiting


class VaultIndex:
    """Safe to use from many tasks of one event loop: a lock lets them follow and search one after the other.

    Vectors of any other space than `space` are as good as absent; for another space make another index.
    """

    def __init__(self, vault: VaultId, space: str, keywords: KeywordIndex) -> None:
        self.vault = vault
        self.space = space
        self._keywords = keywords
        self._lock = asyncio.Lock()
        self._head = _UNREAD
        self._forget_everything()

    @property
    def nbytes(self) -> int:
        """Memory that would be free if this index were dropped."""
        return self._facets.nbytes + self._postings.nbytes + (0 if self._matrix is None else self._matrix.nbytes)

    @property
    def memories(self) -> int:
        """How many memories it knows of, as of the last time it followed."""
        return self._facets.live

    async def follow(self, db: Database) -> None:
        """Catch up with the vault's change log; a single small read if there is nothing new."""
        async with self._lock:
            await self._follow(db)

    async def search(
        self,
        db: Database,
        *,
        query_text: str,
        query_vector: Floats | None,
        limit: int,
        filters: Filters = EVERYTHING,
        neighbours: bool = False,
    ) -> list[Hit]:
        """The best memories for a query, best first, of equals the newer one first; as of now.

        Args:
            query_text: any text at all; its words are data.
            query_vector: (d,) unit length, of this index's space; None asks by words alone.
            limit: at least 1. Fewer come only if fewer are allowed or, by words alone, hold any.
            neighbours: let the memories stored just before and after count too, for dialogues stored turn by turn.
        """
        async with self._lock:
            await self._follow(db)
            allowed = self._facets.allowed(filters)
            wanted = max(CANDIDATES, limit)
            near = await self._nearest(query_vector, wanted, allowed)
            worded, coverages = await self._worded(db, query_text, wanted, allowed, None if neighbours else near)
            rows = np.union1d(near, worded)
            if neighbours:
                rows = self._with_neighbours(rows)
            cosines = None if query_vector is None or self._matrix is None else self._matrix.cosines(query_vector, rows)
            covered = None if coverages is None else coverages[rows]
            if cosines is None and covered is None:
                return []
            scores = fused(cosines, covered)
            if neighbours:
                scores = self._smoothed(rows, scores)
            places = ranking(rows, scores, allowed)[:limit]
            return self._hits(rows[places], scores[places], _at(cosines, places), _at(covered, places))

    # Searching

    async def _nearest(self, query: Floats | None, wanted: int, allowed: Mask | None) -> Rows:
        if query is None or self._matrix is None:
            return np.zeros(0, dtype=np.int64)
        if len(self._matrix) < _THREAD_FROM:
            return self._matrix.nearest(query, wanted, allowed)[0]
        return (await asyncio.to_thread(self._matrix.nearest, query, wanted, allowed))[0]

    async def _worded(
        self, db: Database, text: str, wanted: int, allowed: Mask | None, also: Rows | None
    ) -> tuple[Rows, Floats | None]:
        terms = query_terms(text)
        if not terms or not len(self._facets):
            return np.zeros(0, dtype=np.int64), None
        return await self._postings.search(db, terms, self._head.seq, limit=wanted, allowed=allowed, also=also)

    def _hits(self, rows: Rows, scores: Floats, cosines: Floats | None, covered: Floats | None) -> list[Hit]:
        ids = self._facets.ids_of(rows)
        nothing = np.zeros(len(rows), dtype=np.float32)
        parts = (scores, nothing if cosines is None else cosines, nothing if covered is None else covered)
        return [
            Hit(id, reported(score), cosine, coverage)
            for id, score, cosine, coverage in zip(ids, *(part.tolist() for part in parts), strict=True)
        ]

    def _with_neighbours(self, rows: Rows) -> Rows:
        """`rows`, the two turns on each side of each: what can rise, and what lifts it."""
        alive = np.flatnonzero(self._facets.alive)
        places = np.searchsorted(alive, rows)
        around = np.unique((places[:, None] + np.arange(-2, 3)).ravel())
        return alive[around[(around >= 0) & (around < len(alive))]]

    def _smoothed(self, rows: Rows, scores: Floats) -> Floats:
        """Scores with their neighbours' share; rows that are not side by side do not touch."""
        alive = np.flatnonzero(self._facets.alive)
        places = np.searchsorted(alive, rows)
        runs = np.split(scores, np.flatnonzero(np.diff(places) > 1) + 1)
        return np.concatenate([smoothed(run) for run in runs])

    # Following

    async def _follow(self, db: Database) -> None:
        now = (await heads.read(db, self.vault)).head
        if now == self._head:
            return
        before, self._head = self._head, _UNREAD  # if this is cut short, the next one starts over
        later = now.epoch == before.epoch and now.seq > before.seq
        if not (later and await self._catch_up(db, before, now)):
            await self._load(db, now)
        self._tidy()
        self._head = now

    def _forget_everything(self) -> None:
        self._facets = Facets()
        self._matrix: Matrix | None = None
        self._postings = Postings(self.vault, self._keywords, self._facets)

    async def _load(self, db: Database, now: Head) -> None:
        self._forget_everything()
        async for block in loading.all_facets(db, self.vault, now.seq):
            self._facets.append(block)
        async for vectors in loading.all_vectors(db, self.vault, self.space, now.seq):
            self._add_vectors(vectors)

    async def _catch_up(self, db: Database, at: Head, now: Head) -> bool:
        """Apply the changes after `at` up to `now`; False if that cannot be: documents came out of order."""
        while at.seq < now.seq:
            rows = await loading.changed(db, self.vault, at, now.seq)
            if any(row["op"] == "clear" for row in rows):
                return False
            at = Head(now.epoch, rows[-1]["seq"]) if len(rows) == loading.PAGE else now
            put = {row["id"]: row["seq"] for row in rows if row["op"] == "put"}
            renewed = {row["id"] for row in rows if row["op"] != "mark"}
            await self._remark(db, sorted({row["id"] for row in rows} - renewed), at.seq)
            ids = sorted(renewed, key=lambda id: put.get(id, 0))  # new documents in their order
            for start in range(0, len(ids), loading.IDS_AT_A_TIME):
                if not await self._renew(db, ids[start : start + loading.IDS_AT_A_TIME], put.keys(), at.seq):
                    return False
        return True

    async def _remark(self, db: Database, ids: Sequence[str], upto: int) -> None:
        """Read the facets of some memories anew, whose words and vectors are as before."""
        for start in range(0, len(ids), loading.IDS_AT_A_TIME):
            block = await loading.facets_of(db, self.vault, ids[start : start + loading.IDS_AT_A_TIME], upto)
            rows = self._facets.rows_of_docs(block.docs)
            self._facets.replace(rows[rows >= 0], _part(block, rows >= 0))

    async def _renew(self, db: Database, ids: Sequence[str], put: AbstractSet[str], upto: int) -> bool:
        """Read some memories anew: what is gone goes, what is new or changed is taken in.

        put: those whose words may be others than before. upto: what was stored later comes later.
        """
        block = await loading.facets_of(db, self.vault, ids, upto)
        old = self._facets.rows_of(halves(ids))
        before = self._facets.rows_of(block.ids)
        same = np.isin(old, before) & np.isin(self._facets.docs[old], block.docs)
        fresh = ~np.isin(block.docs, self._facets.docs[old[same]])
        if fresh.any() and block.docs[fresh][0] <= self._facets.last_doc:
            return False
        if self._matrix is not None:
            self._matrix.remove(old)
        self._facets.remove(old[~same])
        if same.any():
            self._facets.replace(old[same], _part(block, ~fresh))
            if put & set(self._facets.ids_of(old[same])):
                self._postings.clear()
        self._facets.append(_part(block, fresh))
        vectors = await loading.vectors_of(db, self.vault, self.space, ids, upto)
        if vectors:
            self._add_vectors(vectors)
        return True

    def _add_vectors(self, vectors: loading.Vectors) -> None:
        rows = self._facets.rows_of_docs(vectors.docs)
        known = rows >= 0
        if self._matrix is None:
            self._matrix = Matrix(vectors.data.shape[1])
            self._matrix.reserve(self._facets.live)
        self._matrix.append(rows[known], vectors.scales[known], vectors.data[known])

    def _tidy(self) -> None:
        if self._facets.dead > max(_LEAST_DEAD, len(self._facets) // _MOST_DEAD):
            alive = self._facets.alive.copy()
            self._facets.keep(alive)
            self._postings.clear()
            if self._matrix is not None:
                self._matrix.keep(alive)
        if self._matrix is not None:
            if self._matrix.dead > max(_LEAST_DEAD, len(self._matrix) // _MOST_DEAD):
                self._matrix.keep(np.ones(len(self._facets), dtype=np.bool_))
            self._matrix.recentre()


def _part(block: Block, rows: Mask) -> Block:
    return Block(
        block.docs[rows],
        block.ids[rows],
        block.tiers[rows],
        block.importance[rows],
        block.archived[rows],
        block.events[rows],
    )


def _at(values: Floats | None, places: Rows) -> Floats | None:
    return None if values is None else values[places]
