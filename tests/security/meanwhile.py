"""What happens in the middle: an act that falls between what a service read and what it then decides to write."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from archivist.services.passwords import Passwords
from archivist.storage.database import Database, Write
from archivist.storage.stores import Stores

Act = Callable[[], Awaitable[object]]


@dataclass(slots=True)
class Checking:
    """Passwords, while whose check `act` happens, once."""

    passwords: Passwords
    act: Act | None

    async def verify(self, kept: str, password: str) -> bool:
        right, act, self.act = await self.passwords.verify(kept, password), self.act, None
        if act is not None:
            await act()
        return right

    def __getattr__(self, name: str) -> Any:
        return getattr(self.passwords, name)


@dataclass(slots=True)
class Between:
    """Stores, before whose next batch of the control database `act` happens, once."""

    stores: Stores
    act: Act | None

    async def control(self) -> Database:
        return _Interrupted(await self.stores.control(), self)  # type: ignore[return-value] — it passes all else on

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stores, name)


@dataclass(slots=True)
class _Interrupted:
    database: Database
    of: Between
    applied: list[Sequence[Write]] = field(default_factory=list)

    async def apply(self, batch: Sequence[Write]) -> Sequence[int]:
        act, self.of.act = self.of.act, None
        if act is not None:
            await act()
        return await self.database.apply(batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)
