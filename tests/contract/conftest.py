"""Every suite here runs on each implementation of what it is about."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from archivist.storage import heads
from archivist.storage.database import Database
from archivist.storage.schema_people import users
from archivist.storage.server import ServerStores, migrate
from archivist.storage.sqlite.stores import SqliteStores
from archivist.storage.stores import Stores
from tests.builders import MINE, SECRET, THEIRS
from tests.contract.servers import fresh_database

BACKENDS = ("sqlite", "postgresql", "mariadb")


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, sa.Engine]]:
    """A migrated database on each server, made when it is first asked for."""
    made: dict[str, sa.Engine] = {}
    with fresh_database("postgresql") as postgresql, fresh_database("mariadb") as mariadb:
        for kind, url in (("postgresql", postgresql), ("mariadb", mariadb)):
            made[kind] = sa.create_engine(url)
            migrate(made[kind])
        yield made
        for engine in made.values():
            engine.dispose()


def _emptied(engine: sa.Engine) -> str:
    with engine.begin() as connection:
        for table in users.metadata.sorted_tables:
            connection.execute(sa.delete(table))
    return engine.url.render_as_string(hide_password=False)


@pytest.fixture(params=BACKENDS)
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    if request.param == "sqlite":
        stores: Stores = SqliteStores(tmp_path / "data")
    else:
        stores = ServerStores(_emptied(request.getfixturevalue("servers")[request.param]))
    await stores.control()
    yield stores
    await stores.close()


@pytest.fixture
async def db(stores: Stores) -> Database:
    """The database of the vault MINE; on a server THEIRS has begun in it, too."""
    for vault in (MINE, THEIRS):
        await stores.create(vault)
        await (await stores.vault(vault)).apply([heads.make(vault, SECRET)])
    return await stores.vault(MINE)


@pytest.fixture
async def theirs(stores: Stores, db: Database) -> Database:
    return await stores.vault(THEIRS)
