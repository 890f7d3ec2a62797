"""Slowing down whoever guesses: failures are counted in the database, for an account and for where they come from."""

import hashlib
import ipaddress
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from archivist.domain.errors import RateLimited
from archivist.storage.database import Database
from archivist.storage.people import attempts

WINDOW = timedelta(minutes=15)
SLOW, HARD = 5, 10
"""So many failures within the window before each further try has to wait, and before none is looked at."""

NEIGHBOURS = 100
"""Failures from one network before none from there is looked at, whatever the accounts."""


@dataclass(frozen=True, slots=True)
class Throttling:
    """Counts tries of a subject, such as an account as seen from one network."""

    now: Callable[[], datetime]
    new_id: Callable[[], str]

    async def begin(self, db: Database, subject: str, *, slow: int = SLOW, hard: int = HARD) -> str:
        """Count one try, before it is known to fail: so that many at once are counted, too. Names what was counted.

        Raises:
            RateLimited: it has to wait; nothing was counted.
        """
        now = self.now()
        count, first, last = await attempts.since(db, subject, now - WINDOW, now + WINDOW)
        if count >= hard and first is not None:
            raise _wait(first + WINDOW - now)
        if count >= slow and last is not None:
            due = last + timedelta(seconds=2 ** (count - slow))
            if now < due:
                raise _wait(due - now)
        return await self._count(db, subject, hard, WINDOW)

    async def forgive(self, db: Database, subject: str) -> None:
        """It did not fail: all earlier failures are forgotten, too."""
        await db.apply([attempts.forget(subject)])

    async def take_back(self, db: Database, subject: str, counted: str) -> None:
        """One act that `at_most` counted shall not count after all."""
        await db.apply([attempts.take_back(subject, counted)])

    async def at_most(self, db: Database, subject: str, most: int, window: timedelta) -> str:
        """Count one act that is allowed `most` times in a window. The answer names what was counted.

        Raises:
            RateLimited: it was done as often already.
        """
        now = self.now()
        count, first, _last = await attempts.since(db, subject, now - window, now + window)
        if count >= most and first is not None:
            raise _wait(first + window - now)
        return await self._count(db, subject, most, window)

    async def require_fewer(self, db: Database, subject: str, most: int) -> None:
        """Raises RateLimited: it failed `most` times within the window. Nothing is counted."""
        now = self.now()
        count, first, _last = await attempts.since(db, subject, now - WINDOW, now + WINDOW)
        if count >= most and first is not None:
            raise _wait(first + WINDOW - now)

    async def count(self, db: Database, subject: str) -> None:
        """One more failure."""
        await db.apply([attempts.insert(subject, self.new_id(), self.now())])

    async def _count(self, db: Database, subject: str, most: int, window: timedelta) -> str:
        """Count first and look again: of many at the same moment, no more than `most` get through."""
        now, id = self.now(), self.new_id()
        await db.apply([attempts.insert(subject, id, now)])
        count, _first, _last = await attempts.since(db, subject, now - window, now + window)
        if count > most:
            await db.apply([attempts.take_back(subject, id)])
            raise _wait(window)
        return id


def subject(*parts: str) -> str:
    """One digest of several parts, each with its length, so that no two lists of parts are alike."""
    return hashlib.sha256("".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "replace")).hexdigest()


def network(address: str) -> str:
    """The network that an address is counted by: itself for IPv4, the first 64 bits for IPv6."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "elsewhere"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def _wait(span: timedelta) -> RateLimited:
    seconds = max(1, math.ceil(span.total_seconds()))
    unit = "second" if seconds == 1 else "seconds"
    return RateLimited(f"too many tries; wait {seconds} {unit} and try again", seconds)
