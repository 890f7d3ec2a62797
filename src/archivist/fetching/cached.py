"""Metadata documents, each fetched once for all who ask, kept for a while, and within what a person may cause."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from archivist.domain.documents import Document, host_of, read_document
from archivist.domain.errors import RateLimited
from archivist.fetching.budgets import Budget
from archivist.fetching.documents import LONGEST, Documents, FetchFailed
from archivist.fetching.fallbacks import fallback

PER_USER = 5, timedelta(minutes=1)
PER_HOST = 10, timedelta(hours=1)
KEPT = 1_000
"""Documents that are kept; the oldest goes for a new one."""

_UNHEARD = ("not_resolved", "refused", "timeout")
"""Failures after which the last good copy stands in: its server did not say anything else."""


@dataclass(frozen=True, slots=True)
class Found:
    """A document. dated: the day of the copy that ships with this server, if it is that one; a page says so."""

    document: Document
    dated: date | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    document: Document
    fetched: datetime
    fresh: timedelta


class CachedDocuments:
    """Valid documents from `source`; failures and invalid ones are not kept. Lives on one event loop.

    schemes: as for `redirects.acceptable`.
    """

    def __init__(self, source: Documents, schemes: frozenset[str], now: Callable[[], datetime]) -> None:
        self._source, self._schemes, self._now = source, schemes, now
        self._users, self._hosts = Budget(*PER_USER, now), Budget(*PER_HOST, now)
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[Document]] = {}

    async def get(self, address: str, user: str) -> Found:
        """The document at `address`, for `user`, who is signed in.

        Who asks while it is being fetched waits for that fetch. If the server was not heard, its last good copy of
        today stands in; else, and if the budget is used up, the one that ships with this server.

        Raises:
            RateLimited: the user, or all users together for this host, have asked too often.
            FetchFailed: it could not be had.
            InvalidDocument: it is none.
        """
        try:
            return Found(await self._latest(address, user))
        except (FetchFailed, RateLimited):
            shipped = fallback(address)
            if shipped is None:
                raise
            return Found(read_document(address, shipped.body, self._schemes), shipped.dated)

    async def close(self) -> None:
        """Ends what is under way."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _latest(self, address: str, user: str) -> Document:
        kept = self._kept.get(address)
        if kept is not None and self._age(kept) < kept.fresh:
            return kept.document
        task = self._under_way.get(address)
        if task is None:
            self._spend(user, host_of(address))
            task = self._under_way[address] = asyncio.create_task(self._fetch(address))
            task.add_done_callback(lambda done: self._forget(address, done))
        return await asyncio.shield(task)  # whoever hangs up does not end it for the others

    async def _fetch(self, address: str) -> Document:
        kept = self._kept.pop(address, None)
        try:
            fetched = await self._source.fetch(address)
        except FetchFailed as failure:
            if kept is None or failure.reason not in _UNHEARD or self._age(kept) >= LONGEST:
                raise
            self._kept[address] = kept
            return kept.document
        document = read_document(address, fetched.body, self._schemes)
        self._kept[address] = _Kept(document, self._now(), fetched.max_age)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return document

    def _age(self, kept: _Kept) -> timedelta:
        """How old a copy is; one from a future that the clock came back from is as old as can be."""
        age = self._now() - kept.fetched
        return age if age >= timedelta(0) else LONGEST

    def _spend(self, user: str, host: str) -> None:
        seconds = math.ceil(max(self._users.wait(user), self._hosts.wait(host)).total_seconds())
        if seconds:
            raise RateLimited(f"too many metadata documents were asked for; try again in {seconds} seconds", seconds)
        self._users.spend(user)
        self._hosts.spend(host)

    def _forget(self, address: str, done: asyncio.Task[Document]) -> None:
        del self._under_way[address]
        if not done.cancelled():
            done.exception()  # has been looked at, even if everybody has hung up
