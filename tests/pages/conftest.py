"""A browser for each module of tests, and a clean page of it for each test."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page

from tests.pages.browsing import launched


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """As everywhere, but for a whole module: the browser lives in its loop."""
    return "asyncio"


@pytest.fixture(scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    async with launched(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page that knows nothing of the tests before: no cookie, no storage, nothing cached."""
    context = await browser.new_context()
    yield await context.new_page()
    await context.close()
