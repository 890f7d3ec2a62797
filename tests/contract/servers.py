"""Databases of our own on the PostgreSQL and the MariaDB of the machine that runs the tests."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

URLS = {
    "postgresql": os.environ.get("TEST_POSTGRES", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"),
    "mariadb": os.environ.get("TEST_MARIADB", "mysql+pymysql://root@127.0.0.1:3306/test"),
}


@contextmanager
def fresh_database(kind: str) -> Iterator[str]:
    """The URL of a new, empty database, dropped afterwards. A missing server is an error."""
    url, name = sa.make_url(URLS[kind]), f"archivist_test_{secrets.token_hex(6)}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    force = " WITH (FORCE)" if kind == "postgresql" else ""
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {name}{force}")
        engine.dispose()
