"""The first schema."""

from collections.abc import Sequence

from sqlalchemy import Table
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from archivist.storage import schema
from archivist.storage.fulltext import FTS_DDL


def control(dialect: str) -> Sequence[str]:
    return _create(dialect, schema.CONTROL)


def vault(dialect: str) -> Sequence[str]:
    return [*_create(dialect, schema.VAULT), *FTS_DDL]


def server(dialect: str) -> Sequence[str]:
    return _create(dialect, schema.metadata.sorted_tables)


def _create(dialect: str, tables: Sequence[Table]) -> Sequence[str]:
    compiler: Dialect = {"sqlite": sqlite, "postgresql": postgresql, "mysql": mysql}[dialect].dialect()
    made: list[ExecutableDDLElement] = []
    for table in tables:
        made.append(CreateTable(table))
        made += [CreateIndex(index) for index in sorted(table.indexes, key=lambda index: str(index.name))]
    return [str(statement.compile(dialect=compiler)) for statement in made]
