"""The product itself, with a key, in a temporary folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from archivist.app import App, assemble
from archivist.domain.access import ALL_SCOPES
from archivist.domain.times import utc_now
from archivist.embedders.hashed import HashedEmbedder
from archivist.server import asgi
from archivist.settings import Settings
from archivist.storage.sqlite.stores import SqliteStores
from tests.conformance.fixtures.serving import WithKey


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    app = assemble(
        SqliteStores(tmp_path / "data", now=utc_now), HashedEmbedder(), utc_now, Settings(data=tmp_path / "data")
    )
    await app.start()
    yield app
    await app.close()


@pytest.fixture
async def product(app: App) -> ASGIApp:
    """The real server behind a proxy that adds a key for everything."""
    _, key = await app.keys.create(await app.local(), name="suite", scopes=ALL_SCOPES)
    return WithKey(asgi(app, Settings()), key)
