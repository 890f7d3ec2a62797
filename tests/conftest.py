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
        asked = {*getattr(item, "fixturenames", ()), *_parameters(item)}
        if {"builtin", "models"} & asked:
            item.add_marker("model")


def _parameters(item: pytest.Item) -> list[str]:
    """The words that a test is run with: a fixture may ask for the model by one of them."""
    callspec = getattr(item, "callspec", None)
    return [value for value in callspec.params.values() if isinstance(value, str)] if callspec else []
