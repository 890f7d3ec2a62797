"""One running server for all clients; each enters with a key of its own, or over stdio beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.serving import Server, running
from tests.fixtures_models import models as models


@pytest.fixture(scope="session")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("clients") / "data", models) as server:
        yield server
