"""Stores that fail at a chosen call: before it has an effect, or after it, for once or from then on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from archivist.domain.ids import VaultId
from archivist.storage.database import Database, Query, Row, Write
from archivist.storage.stores import Stores

When = Literal["before", "after"]


class Killed(BaseException):
    """The process ended here: nothing that catches errors catches it."""


@dataclass
class Fault:
    """At the call `at`, counted from 1 through every database it is given to, `error` is raised.

    lasting: from then on every call fails before it has an effect.
    """

    at: int
    when: When
    error: Callable[[], BaseException]
    lasting: bool = False
    calls: int = field(default=0, init=False)

    @property
    def reached(self) -> bool:
        return self.calls >= self.at

    def before(self) -> None:
        self.calls += 1
        if (self.when == "before" and self.calls == self.at) or (self.lasting and self.calls > self.at):
            raise self.error()

    def after(self) -> None:
        if self.when == "after" and self.calls == self.at:
            raise self.error()


@dataclass
class FaultyStores:
    """`stores`, whose vaults fail as `fault` says, once there is one."""

    stores: Stores
    fault: Fault | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stores, name)

    async def vault(self, vault: VaultId, *, writable: bool = True) -> Database:
        return _Faulty(await self.stores.vault(vault, writable=writable), self)


@dataclass
class _Faulty:
    database: Database
    stores: FaultyStores

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    async def read(self, query: Query, parameters: Mapping[str, Any] | None = None) -> Sequence[Row]:
        return await self._through(lambda: self.database.read(query, parameters))

    async def apply(self, batch: Sequence[Write]) -> Sequence[int]:
        return await self._through(lambda: self.database.apply(batch))

    async def scrub(self) -> bool:
        return await self._through(self.database.scrub)

    async def _through(self, call: Callable[[], Any]) -> Any:
        fault = self.stores.fault
        if fault is None:
            return await call()
        fault.before()
        answer = await call()
        fault.after()
        return answer
