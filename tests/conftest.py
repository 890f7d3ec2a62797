"""What every test may use."""

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)  # a busy machine is no finding
settings.register_profile("quick", deadline=None, max_examples=20)
settings.load_profile("default")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs the built-in model, which takes seconds: the fast half leaves it out."""
    for item in items:
        if {"builtin", "models"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("model")
