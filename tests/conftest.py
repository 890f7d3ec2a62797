"""What every test may use."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs the built-in model, which takes seconds: the fast half leaves it out."""
    for item in items:
        if {"builtin", "models"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("model")
