"""The real pages of a house in which people have lived for a while, and of one that was set up a minute ago."""

from collections.abc import AsyncIterator
from html import escape

import pytest
from playwright.async_api import Browser, Error, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tests.conformance.fixtures.serving import served
from tests.pages.browsing import launched, looked_at, serious_findings, watched
from tests.pages.furnishing import OLAFUR, furnished
from tests.pages.house import ANA, LOOPBACK, House, opened
from tests.pages.places import ALL, OLD, PLACES, Visited
from tests.pages.stops import out_of_order, stops_of, walked
from tests.pages.walking import Keyboard, second_step, set_up, sign_in

pytestmark = pytest.mark.anyio

NARROW, WIDE = {"width": 390, "height": 800}, {"width": 1280, "height": 800}
NEW = ("connections", "keys", "vaults", "account", "activity", "people")
FRAMED = ("/sign-in", "/app/connections", "/app/account", "/app/people", "/app/vaults/none", "/oauth/authorize")


@pytest.fixture(scope="module")
async def visited(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Visited]:
    async with opened(tmp_path_factory.mktemp("house") / "data") as house:
        home = await furnished(house)
        browsers = {}
        for name in (OLD, ANA, OLAFUR):
            context = await browser.new_context()
            page = await context.new_page()
            await page.goto(f"{house.address}/sign-in")
            await sign_in(page, ANA if name == OLD else name)
            if name == OLD:
                house.clock.move(minutes=11)
            if name == OLAFUR:
                await second_step(page, house, home.factor)
            browsers[name] = await context.storage_state()
            await context.close()
        yield Visited(house, home, browsers)


@pytest.fixture
async def place(browser: Browser, visited: Visited, name: str) -> AsyncIterator[Page]:
    """A window in the browser of who may see the page of that name; what it keeps is there the next time."""
    who = ALL[name].who
    context = await browser.new_context(storage_state=visited.browsers.get(who), viewport=WIDE)
    yield await context.new_page()
    if who:
        visited.browsers[who] = await context.storage_state()
    await context.close()


@pytest.fixture
async def house(tmp_path) -> AsyncIterator[House]:
    async with opened(tmp_path / "data") as house:
        yield house


async def fits(page: Page) -> bool:
    """Whether it scrolls down only, at both widths."""
    for size in (NARROW, WIDE):
        await page.set_viewport_size(size)
        if await page.evaluate("document.documentElement.scrollWidth") != size["width"]:
            return False
    return True


@pytest.mark.parametrize("name", ALL)
async def test_sec_269_a_real_page_looks_right_and_loads_and_breaks_nothing(place, visited, name):
    seen = watched(place)
    await visited.enter(name, place)
    await looked_at(place, f"real-{name}")
    assert await fits(place)
    await place.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    assert await serious_findings(place) == []
    assert seen.said == []
    assert seen.elsewhere(visited.house.address) == []


@pytest.mark.parametrize("name", PLACES)
async def test_every_control_is_reached_once_in_the_order_of_reading_and_shows_that_it_has_the_focus(
    place, visited, name
):
    await visited.enter(name, place)
    for size in (NARROW, WIDE):
        await place.set_viewport_size(size)
        assert await out_of_order(place) == []
    wanted = await stops_of(place)
    met = await walked(place)
    assert [stop.what for stop in met] == wanted
    assert [stop for stop in met if stop.ring < 2 or not stop.inside] == []


async def test_the_pages_of_a_house_that_was_set_up_a_minute_ago_say_what_to_do_next(page, house):
    seen = watched(page)
    link = await house.set_up_link()
    await page.goto(f"{house.address}/app/connections")
    await looked_at(page, "new-error-no-set-up")
    await page.goto(link)
    await looked_at(page, "new-set-up")
    assert await serious_findings(page) == []
    assert await out_of_order(page) == []
    assert [stop.what for stop in await walked(page)] == await stops_of(page)
    await set_up(page, house)
    house.clock.move(minutes=1)
    for name in NEW:
        await page.goto(f"{house.address}/app/{name}")
        await looked_at(page, f"new-{name}")
        assert await fits(page)
        assert await serious_findings(page) == []
    assert seen.said == []
    assert seen.elsewhere(house.address) == []


async def test_a_connection_is_ended_by_keyboard_after_the_page_has_said_what_goes(page, house):
    await set_up(page, house)
    ana, keys = await house.person(ANA), Keyboard(page)
    await house.let_in(ana, await house.register("Reader", LOOPBACK))
    await keys.go('link "Connections"')
    await keys.press('DisclosureTriangle "End"')
    await expect(page.get_by_text("Reader loses its access to personal at once.")).to_be_visible()
    await keys.go('button "End this connection"')
    assert await house.app.connections.list(ana) == []
    await expect(page.get_by_text("No app is connected yet")).to_be_visible()


@pytest.mark.parametrize("name", ["connections", "consent"])
async def test_sec_271_a_script_that_strangers_bring_cannot_write_markup(place, visited, name):
    await visited.enter(name, place)
    with pytest.raises(Error, match="TrustedHTML"):
        await place.evaluate("document.body.innerHTML = '<img src=x onerror=alert(1)>'")


@pytest.mark.parametrize("name", ["connections"])
async def test_sec_014_no_page_is_shown_in_a_frame_of_another(place, visited, name):
    question = visited.house.asked(await visited.house.register("Reader", LOOPBACK), LOOPBACK)
    addresses = [question.address, *(f"{visited.house.address}{path}" for path in FRAMED)]
    frames = "".join(f'<iframe src="{escape(address)}"></iframe>' for address in addresses)

    async def framing(_request: Request) -> Response:
        return HTMLResponse(f"<!doctype html><title>Framing</title>{frames}")

    async with served(Starlette(routes=[Route("/", framing)])) as address:
        await place.goto(address)
        inside = [frame for frame in place.frames if frame != place.main_frame]
        assert [frame.url for frame in inside] == ["chrome-error://chromewebdata/"] * len(addresses)


async def test_sec_268_after_signing_out_the_back_button_shows_nothing(house, tmp_path):
    """In a browser that keeps whole pages for the back button, as people's do and Playwright's usually does not."""
    async with launched(tmp_path, keeps_pages=True) as browser:
        page = await browser.new_page()
        await set_up(page, house)
        await Keyboard(page).go('link "Vaults"')
        await Keyboard(page).go('link "Account"')
        await Keyboard(page).go('button "Sign out"')
        for _ in range(2):
            await page.evaluate("history.back()")
            await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
            assert ANA not in await page.content()
