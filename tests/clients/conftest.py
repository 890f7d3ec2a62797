"""Two running servers for all clients.

`server` is the product as it is; clients enter with a key each, or sign in, or come over stdio beside it. It knows no
apps by their documents: all register. `aged` knows them, and its clock can be put forward.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.serving import Clocked, Server, clocked, running
from tests.fixtures_models import models as models


@pytest.fixture(scope="session")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = f'models = "{models}"\nclient_documents = false\n'
    with running(tmp_path_factory.mktemp("clients") / "data", settings) as server:
        yield server


@pytest.fixture(scope="session")
def aged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clocked]:
    with clocked(tmp_path_factory.mktemp("aged")) as aged:
        yield aged
