"""Clears away what has ended of age: sessions, browsers, links, questions, codes, tokens, failures, unused apps."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from archivist.domain.clients import UNUSED
from archivist.domain.ids import CONTROL
from archivist.domain.sessions import DEVICE, TOTAL
from archivist.storage import approvals, codes, tokens
from archivist.storage.people import attempts, clients, links, sessions, transactions, users
from archivist.storage.stores import Stores
from archivist.workers.rounds import attempted

ROUND_SECONDS = 600.0
KEPT = timedelta(days=1)
"""How long what has ended is kept, so that showing it again is still recognised."""


@dataclass(frozen=True, slots=True)
class Tidying:
    """Works in the background of a server."""

    stores: Stores
    now: Callable[[], datetime]

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await attempted("tidying waits", CONTROL, self.tidy())
            await asyncio.sleep(ROUND_SECONDS)

    async def tidy(self) -> None:
        """Clear away once. Nothing that could still be used, or whose second use must be noticed, is touched."""
        control, now = await self.stores.control(), self.now()
        await control.apply([
            sessions.clear(now - TOTAL),
            users.clear_devices(now - DEVICE),
            links.clear(now - KEPT),
            transactions.clear(now),
            codes.clear(now - KEPT),
            approvals.clear(now - KEPT),
            tokens.clear(now - KEPT),
            attempts.clear(now - KEPT, now + KEPT),
            clients.clear(now - UNUSED),
        ])  # fmt: skip
