"""Every page as a browser shows it: it fits, can be read and walked by keyboard, and breaks none of its own rules."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from archivist.web.rendering import page as drawn
from archivist.web.rendering import static_routes
from tests.conformance.fixtures.serving import served
from tests.pages.browsing import looked_at, serious_findings, walk
from tests.pages.examples import PAGES

pytestmark = pytest.mark.anyio

ALMOST = 799
"""Milliseconds before Allow works, but for one."""


async def show(request: Request) -> Response:
    asked = request.query_params
    return drawn(asked["page"], **PAGES[asked["page"]][asked["about"]])


async def decide(request: Request) -> Response:
    form = (await request.body()).decode()
    return Response(form, media_type="text/plain")


@pytest.fixture
async def site() -> AsyncIterator[str]:
    routes = [Route("/", show), Route("/", decide, methods=["POST"]), *static_routes()]
    async with served(Starlette(routes=routes)) as address:
        yield address


def address(site: str, name: str, about: str) -> str:
    return f"{site}/?page={name}&about={about}"


def all_that_a_page_may_have(name: str) -> list[str]:
    """The first example, and those that need the most room."""
    examples = list(PAGES[name])
    return [about for about in examples if about in {examples[0], "longest", "mistake", "every warning"}]


async def stopped(page: Page, site: str) -> None:
    """The consent page, in a browser whose clock stands still."""
    await page.clock.install(time=0)
    await page.clock.pause_at(1000)
    await page.goto(address(site, "consent", "usual"))


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_looks_as_it_should_and_axe_finds_nothing_serious_in_it(page, site, name):
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    for about in all_that_a_page_may_have(name):
        await page.goto(address(site, name, about))
        await looked_at(page, f"{name}-{about}".replace("/", "-").replace(" ", "-"))
        for width in (390, 1280):
            await page.set_viewport_size({"width": width, "height": 800})
            assert await page.evaluate("document.documentElement.scrollWidth") == width
        await page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
        assert await serious_findings(page) == []
    assert [text for text in said if "Failed to load resource" not in text] == []


async def test_allow_is_inert_at_first_and_then_allows(page, site):
    await stopped(page, site)
    allow = page.get_by_role("button", name="Allow", exact=True)
    await page.clock.run_for(ALMOST)
    await allow.dispatch_event("click")
    assert await page.get_by_role("heading", level=1).inner_text() == "Claude Code"
    await page.clock.run_for(1)
    await allow.click()
    assert "decision=allow" in await page.inner_text("body")


async def test_allow_is_inert_again_when_the_page_comes_back_from_behind_another_window(page, site):
    await stopped(page, site)
    await page.clock.run_for(ALMOST + 1)
    allow = page.get_by_role("button", name="Allow", exact=True)
    assert await allow.is_enabled()
    await page.evaluate("dispatchEvent(new Event('focus'))")
    assert not await allow.is_enabled()


async def test_refusing_needs_no_waiting(page, site):
    await stopped(page, site)
    await page.get_by_role("button", name="Don’t allow").click()
    assert "decision=deny" in await page.inner_text("body")


async def test_enter_in_the_name_of_a_new_vault_decides_nothing(page, site):
    await page.goto(address(site, "consent", "usual"))
    await page.get_by_label("New vault", exact=True).check()
    await page.get_by_label("Name of the new vault").fill("Garden")
    await page.keyboard.press("Enter")
    assert await page.get_by_role("heading", level=1).inner_text() == "Claude Code"


async def test_the_consent_page_is_walked_in_the_order_in_which_it_reads(page, site):
    await page.goto(address(site, "consent", "usual"))
    met = await walk(page)
    assert met[0] == 'link "Skip to the content"'
    assert [stop.partition(" ")[0] for stop in met] == ["link", "radio", *["checkbox"] * 4, *["button"] * 3]
    assert met[-3:] == ['button "Use another account"', 'button "Don’t allow"', 'button "Allow"']


async def test_two_buttons_of_a_decision_are_of_one_size(page, site):
    await page.goto(address(site, "consent", "usual"))
    boxes = [
        await page.get_by_role("button", name=name, exact=True).bounding_box() for name in ("Don’t allow", "Allow")
    ]
    assert boxes[0]["height"] == boxes[1]["height"] >= 40
    assert boxes[0]["width"] == boxes[1]["width"]
    assert boxes[0]["y"] == boxes[1]["y"]


async def test_everything_that_can_be_pressed_is_large_enough(page, site):
    await page.set_viewport_size({"width": 390, "height": 800})
    for name, about in [("consent", "usual"), ("sign-in", "waiting"), ("app/people", "usual"), ("app/vault", "usual")]:
        await page.goto(address(site, name, about))
        sizes = await page.locator("button:visible, summary:visible, select:visible, a.button:visible").evaluate_all(
            "all => all.map(one => [one.textContent.trim(), one.getBoundingClientRect().height])"
        )
        assert [text for text, height in sizes if height < 40] == []
