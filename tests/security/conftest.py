"""A whole server in a temporary folder, and a person connected to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from archivist.app import App, assemble
from archivist.domain.access import Scope
from archivist.embedders.hashed import HashedEmbedder
from archivist.server import asgi
from archivist.settings import Settings
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import Clock
from tests.faces.mcp.conversations import Person


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    clock = Clock()
    app = assemble(
        SqliteStores(tmp_path / "data", now=clock), HashedEmbedder(), clock, Settings(data=tmp_path / "data")
    )
    await app.start()
    yield app
    await app.close()


@pytest.fixture
async def me(app: App) -> AsyncIterator[Person]:
    async with Person.connected(app, asgi(app, Settings()), *Scope) as person:
        yield person


@pytest.fixture
async def stranger(app: App) -> AsyncIterator[Person]:
    """Somebody connected to another vault."""
    async with Person.connected(app, asgi(app, Settings()), *Scope, vault="other") as person:
        yield person
