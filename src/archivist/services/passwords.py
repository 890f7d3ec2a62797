"""Passwords: hashed with argon2id, few at a time, on threads of their own (RFC 9106)."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from archivist.domain.errors import Unavailable

T = TypeVar("T")

MEMORY_KIB, TIME, LANES = 64 * 1024, 3, 1
WAITING = 32
"""So many may wait for their turn; whoever comes then is told to try again."""

_NICE = 10


@dataclass(frozen=True, slots=True)
class Hashing:
    """What a password costs to check. memory_kib: of each hash; times at_once it must fit the machine."""

    memory_kib: int = MEMORY_KIB
    time: int = TIME
    at_once: int = field(default_factory=lambda: _at_once(os.cpu_count() or 1))


class Passwords:
    """Hashes and checks passwords without holding up anything else."""

    def __init__(self, hashing: Hashing | None = None) -> None:
        hashing = hashing or Hashing()
        self._hasher = PasswordHasher(time_cost=hashing.time, memory_cost=hashing.memory_kib, parallelism=LANES)
        self._threads = ThreadPoolExecutor(hashing.at_once, "passwords", initializer=_be_patient)
        self._waiting = 0
        self.computed = 0

    async def hash(self, password: str) -> str:
        """An argon2id string with a salt of its own."""
        return await self._turn(lambda: self._hasher.hash(_bytes(password)))

    async def verify(self, kept: str, password: str) -> bool:
        """Whether it is the one behind `kept`. An empty `kept` costs the same time and is never right."""
        return await self._turn(lambda: self._is_right(kept, password))

    def is_outdated(self, kept: str) -> bool:
        """Whether `kept` was made with lower settings than today's."""
        return self._hasher.check_needs_rehash(kept)

    def close(self) -> None:
        """Let go of the threads; what waits is given up."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _is_right(self, kept: str, password: str) -> bool:
        try:
            return self._hasher.verify(kept or self._dummy(), _bytes(password)) and bool(kept)
        except (VerificationError, InvalidHashError):
            return False

    def _dummy(self) -> str:
        return _dummy(self._hasher.time_cost, self._hasher.memory_cost)

    async def _turn(self, work: Callable[[], T]) -> T:
        """Raises Unavailable if too many wait already."""
        if self._waiting >= WAITING:
            raise Unavailable("too many people sign in at this moment; try again in some seconds")
        self._waiting += 1
        self.computed += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1


def _at_once(cores: int) -> int:
    """One below four cores, so that requests keep a core; else two for each core."""
    return 1 if cores < 4 else 2 * cores


def _be_patient() -> None:
    """Requests go first: on Linux a thread can have a priority of its own."""
    with suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)


def _bytes(password: str) -> bytes:
    """Exactly what was sent: lone surrogates, which UTF-8 has no form for, keep one that differs from all others."""
    return password.encode("utf-8", "surrogatepass")


@cache
def common_passwords() -> frozenset[str]:
    """Those that everybody tries first: some thirty thousand, in lower case, from lists of leaked ones."""
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # half a megabyte that only new passwords need

    return frozenset(FREQUENCY_LISTS["passwords"])


@cache
def _dummy(time: int, memory: int) -> str:
    return PasswordHasher(time_cost=time, memory_cost=memory, parallelism=LANES).hash(os.urandom(16))
