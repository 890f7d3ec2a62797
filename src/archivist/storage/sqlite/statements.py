"""Statements compiled once. SQLAlchemy's engine is left out: its cost per statement is several times SQLite's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.compiler import SQLCompiler

from archivist.storage.database import AT_ONCE, Query, Statement, Write

_DIALECT = sqlite.dialect(paramstyle="qmark")
_LARGEST = 2_000  # shapes kept; a shape is a statement whatever its literal values


@dataclass(frozen=True, slots=True)
class Prepared:
    """SQL with its values. `many`: a row of values for each execution. `at_once`: see `storage.database.AT_ONCE`."""

    sql: str
    values: Sequence[Any]
    many: bool = False
    must_change: bool = False
    at_once: bool = False


class Statements:
    """Compiled statements, first by the statement itself, then by its shape.

    A statement that a module keeps and runs with parameters costs a look-up; one built anew for every call costs the
    making of its cache key, and is compiled only when its shape is new.
    """

    def __init__(self) -> None:
        self._same: WeakKeyDictionary[Query | Statement, dict[tuple[str, ...], SQLCompiler]] = WeakKeyDictionary()
        self._alike: dict[tuple[Any, ...], SQLCompiler] = {}

    def query(self, query: Query, parameters: Mapping[str, Any] | None) -> Prepared:
        compiled, literals = self._compiled(query, ())
        at_once = AT_ONCE.items() <= query.get_execution_options().items()
        return Prepared(*_bound(compiled, literals, parameters or {}), at_once=at_once)

    def write(self, write: Write) -> Prepared:
        if not write.rows:
            compiled, literals = self._compiled(write.statement, ())
            return Prepared(*_bound(compiled, literals, {}), must_change=write.must_change)
        compiled, literals = self._compiled(write.statement, tuple(write.rows[0]))
        if compiled.post_compile_params or len(write.rows) == 1:
            if len(write.rows) > 1:
                raise TypeError("a statement with a list among its parameters takes one row")
            return Prepared(*_bound(compiled, literals, write.rows[0]), must_change=write.must_change)
        rows = [_bound(compiled, literals, row)[1] for row in write.rows]
        return Prepared(compiled.string, rows, many=True, must_change=write.must_change)

    def _compiled(self, statement: Query | Statement, keys: tuple[str, ...]) -> tuple[SQLCompiler, Any]:
        """The compiled statement, and the literal values of `statement` where it was compiled from another one."""
        if (known := self._same.get(statement)) and (compiled := known.get(keys)):
            return compiled, None
        shape = statement._generate_cache_key()  # what SQLAlchemy's own engine caches by
        if shape is None:
            return self._remember(statement, keys), None
        compiled = self._alike.get((shape.key, keys))
        if compiled is not None:
            return compiled, shape.bindparams
        compiled = self._remember(statement, keys, cache_key=shape)
        if len(self._alike) >= _LARGEST:
            self._alike.clear()
        self._alike[shape.key, keys] = compiled
        return compiled, None

    def _remember(self, statement: Query | Statement, keys: tuple[str, ...], **options: Any) -> SQLCompiler:
        compiled: Any = statement.compile(dialect=_DIALECT, column_keys=keys or None, **options)
        self._same.setdefault(statement, {})[keys] = compiled
        found: SQLCompiler = compiled
        return found


def _bound(compiled: SQLCompiler, literals: Any, parameters: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    """The SQL and its values in order."""
    if compiled.post_compile_params:  # IN with a list: one placeholder for each element
        given = compiled.construct_params(parameters, extracted_parameters=literals)
        expanded = compiled.construct_expanded_state(given)
        return expanded.statement, expanded.positional_parameters
    names = compiled.positiontup or ()
    if literals is None and all(name in parameters for name in names):
        return compiled.string, [parameters[name] for name in names]
    values = compiled.construct_params(parameters, extracted_parameters=literals)
    return compiled.string, [values[name] for name in names]
