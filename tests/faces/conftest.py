"""The whole application over its services, in a temporary folder, with the hashed embedder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from archivist.app import App, assemble
from archivist.domain.access import Scope
from archivist.embedders.hashed import HashedEmbedder
from archivist.server import asgi
from archivist.settings import Settings
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import Clock
from tests.faces.mcp.conversations import Person


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def app(tmp_path: Path, clock: Clock) -> AsyncIterator[App]:
    app = assemble(
        SqliteStores(tmp_path / "data", now=clock), HashedEmbedder(), clock, Settings(data=tmp_path / "data")
    )
    await app.start()
    yield app
    await app.close()


@pytest.fixture
def server(app: App, tmp_path: Path) -> ASGIApp:
    return asgi(app, Settings(data=tmp_path / "data"))


@pytest.fixture
async def me(app: App, server: ASGIApp) -> AsyncIterator[Person]:
    """A person connected with a key that may do everything in their personal vault."""
    async with Person.connected(app, server, *Scope) as person:
        yield person


@pytest.fixture
async def reader(app: App, server: ASGIApp) -> AsyncIterator[Person]:
    """The same vault, with a key for reading only."""
    async with Person.connected(app, server, Scope.READ) as person:
        yield person


@pytest.fixture
async def stranger(app: App, server: ASGIApp) -> AsyncIterator[Person]:
    """Somebody connected to another vault."""
    async with Person.connected(app, server, *Scope, vault="other") as person:
        yield person
