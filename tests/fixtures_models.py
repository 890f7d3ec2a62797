"""The built-in model, prepared once for all runs of the suite and loaded once in each."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from archivist.embedders.builtin import BuiltinEmbedder
from archivist.embedders.preparation import prepare

CACHE = Path(__file__).parents[1] / ".cache" / "models"


def silent(_line: str) -> None:
    """For progress that no test looks at."""


@pytest.fixture(scope="session")
def models() -> Path:
    """A folder with the prepared model. It outlives the run, so nothing may be changed in it."""
    prepare(CACHE, silent, Event())
    return CACHE


@pytest.fixture(scope="session")
def builtin(models: Path) -> Iterator[BuiltinEmbedder]:
    """The built-in embedder, ready. It may be used from any event loop, and must not be closed."""
    embedder = BuiltinEmbedder(models, on_progress=silent)
    with ThreadPoolExecutor(1) as elsewhere:  # for a test that asks for this fixture may have a loop running here
        elsewhere.submit(asyncio.run, _ready(embedder)).result()
        yield embedder
        elsewhere.submit(asyncio.run, embedder.close()).result()


async def _ready(embedder: BuiltinEmbedder) -> None:
    await embedder.start()
    await embedder.settle()
    assert embedder.state == "ready", embedder.reason
