"""The migrations of a server's database."""

import pytest
import sqlalchemy as sa

from archivist.storage.schema_people import users
from archivist.storage.server import migrate
from tests.contract.servers import fresh_database


def shape(engine):
    """Tables with their columns, keys and indexes, as the server tells them."""
    inspector = sa.inspect(engine)
    return {
        table: (
            [(column["name"], str(column["type"]), column["nullable"]) for column in inspector.get_columns(table)],
            inspector.get_pk_constraint(table)["constrained_columns"],
            sorted((index["column_names"], index["unique"]) for index in inspector.get_indexes(table)),
        )
        for table in inspector.get_table_names()
        if table != "schema_version"
    }


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_all_migrations_together_make_the_schema_on_a_server(kind):
    with fresh_database(kind) as migrated, fresh_database(kind) as created:
        engines = sa.create_engine(migrated), sa.create_engine(created)
        migrate(engines[0])
        users.metadata.create_all(engines[1])
        shapes = [shape(engine) for engine in engines]
        for engine in engines:
            engine.dispose()
    assert shapes[0] == shapes[1]
    assert set(shapes[0]) == set(users.metadata.tables)
