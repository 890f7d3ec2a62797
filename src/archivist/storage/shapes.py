"""Rows of the control database from values and back: what of a value is a moment, a flag, a list, a set of scopes."""

import json
from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Generic, TypeVar

from archivist.domain.access import Scope
from archivist.domain.times import micros, moment
from archivist.storage.database import Row

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape(Generic[T]):
    """How the values of one dataclass lie in their table, field by column. The fields that are not named lie as is."""

    of: type[T]
    times: Collection[str] = ()
    flags: Collection[str] = ()
    lists: Collection[str] = ()
    scopes: Collection[str] = ()

    def row(self, value: T) -> dict[str, Any]:
        """The row of a value."""
        made: dict[str, Any] = {}
        for field in fields(self.of):  # type: ignore[arg-type]  # every T here is a dataclass
            name, one = field.name, getattr(value, field.name)
            if name in self.times:
                made[name] = micros_or_none(one)
            elif name in self.flags:
                made[name] = int(one)
            elif name in self.lists:
                made[name] = json.dumps(one, ensure_ascii=False)
            elif name in self.scopes:
                made[name] = words_of(one)
            else:
                made[name] = one
        return made

    def value(self, row: Row) -> T:
        """The inverse of `row`."""
        made = dict(row)
        for name in self.times:
            made[name] = None if made[name] is None else moment(made[name])
        for name in self.flags:
            made[name] = made[name] == 1
        for name in self.lists:
            made[name] = tuple(json.loads(made[name]))
        for name in self.scopes:
            made[name] = scopes_of(made[name])
        return self.of(**made)


def micros_or_none(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def words_of(scopes: frozenset[Scope]) -> str:
    """Scopes as a column holds them."""
    return " ".join(sorted(scope.value for scope in scopes))


def scopes_of(words: str) -> frozenset[Scope]:
    """The inverse of `words_of`."""
    return frozenset(Scope(word) for word in words.split())
