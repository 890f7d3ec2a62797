"""The services on SQLite in a temporary folder, with the hashed embedder and a clock that stands."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from archivist.app import OWNER, App, assemble
from archivist.domain.access import ALL_SCOPES, Principal
from archivist.embedders.hashed import HashedEmbedder
from archivist.settings import Settings
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import Clock
from tests.fixtures_models import builtin as builtin
from tests.fixtures_models import models as models


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def app(tmp_path: Path, clock: Clock) -> AsyncIterator[App]:
    data = tmp_path / "data"
    mirror = SqliteStores(data / "mirror", now=clock)
    app = assemble(SqliteStores(data, now=clock), HashedEmbedder(), clock, Settings(data=data), mirror=mirror)
    await app.stores.control()
    await app.embedder.start()
    await app.embedder.settle()
    yield app
    await app.close()


@pytest.fixture
async def me(app: App) -> Principal:
    return await app.local()


@pytest.fixture
async def other(app: App) -> Principal:
    """The same person in another vault."""
    vault = await app.vaults.create(OWNER, "other", "project")
    return Principal(OWNER.user, vault.id, ALL_SCOPES, "key", "0193b000-0000-7000-8000-0000000000fe")
