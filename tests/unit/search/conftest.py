"""An empty vault file for each test that wants one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from archivist.storage import heads
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import MINE, SECRET
from tests.unit.search.shelf import Shelf


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    stores = SqliteStores(tmp_path / "data")
    await stores.control()  # makes the folder
    await stores.create(MINE)
    db = await stores.vault(MINE)
    await db.apply([heads.make(MINE, SECRET)])
    yield Shelf(db)
    await stores.close()
