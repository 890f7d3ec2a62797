"""Statements compiled once. SQLAlchemy's engine is left out: its cost per statement is several times SQLite's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
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
        self._expanded: dict[tuple[SQLCompiler, tuple[int, ...]], str] = {}

    def query(self, query: Query, parameters: Mapping[str, Any] | None) -> Prepared:
        compiled, literals = self._compiled(query, ())
        at_once = AT_ONCE.items() <= query.get_execution_options().items()
        return Prepared(*self._bound(compiled, literals, parameters or {}), at_once=at_once)

    def write(self, write: Write) -> Prepared:
        if not write.rows:
            compiled, literals = self._compiled(write.statement, ())
            return Prepared(*self._bound(compiled, literals, {}), must_change=write.must_change)
        compiled, literals = self._compiled(write.statement, tuple(write.rows[0]))
        if compiled.post_compile_params or len(write.rows) == 1:
            if len(write.rows) > 1:
                raise TypeError("a statement with a list among its parameters takes one row")
            return Prepared(*self._bound(compiled, literals, write.rows[0]), must_change=write.must_change)
        names = compiled.positiontup or ()
        if literals is None and len(names) > 1 and write.rows[0].keys() >= set(names):
            rows: Sequence[Any] = list(map(itemgetter(*names), write.rows))  # a fifth of the time of what follows
        else:
            rows = [self._bound(compiled, literals, row)[1] for row in write.rows]
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

    def _bound(self, compiled: SQLCompiler, literals: Any, parameters: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
        """The SQL and its values in order."""
        names, values = compiled.positiontup or (), parameters
        if literals is not None or not all(name in parameters for name in names):
            values = compiled.construct_params(parameters, extracted_parameters=literals)
        if not compiled.post_compile_params:
            return compiled.string, [values[name] for name in names]
        return self._with_lists(compiled, values)

    def _with_lists(self, compiled: SQLCompiler, values: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
        """The same where values are lists, as of IN: one placeholder for each element."""
        lists = {compiled.bind_names[parameter] for parameter in compiled.post_compile_params}
        names = compiled.positiontup or ()
        shape = compiled, tuple(len(values[name]) for name in names if name in lists)
        if shape not in self._expanded:
            if len(self._expanded) >= _LARGEST:
                self._expanded.clear()
            self._expanded[shape] = compiled.construct_expanded_state(values).statement
        flat = [value for name in names for value in (values[name] if name in lists else (values[name],))]
        return self._expanded[shape], flat
