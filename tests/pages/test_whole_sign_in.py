"""From the set-up link to an allowed app, by keyboard alone, with scripts and without: the real pages, the real server.

Only Chromium is on this machine, so only Chromium shows it here.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from archivist.app import OWNER
from archivist.domain.access import LOCAL_OWNER, Scope
from tests.clients.callbacks import callback
from tests.conformance.fixtures.serving import served
from tests.pages.browsing import ELSEWHERE, watched
from tests.pages.house import PASSWORD, House, opened
from tests.pages.walking import Keyboard, allow, ready, second_step, set_up, sign_in, with_second_step
from tests.security.document_site import Authority, Behaviour, Site, answers

pytestmark = pytest.mark.anyio

SCRIPTS = pytest.mark.parametrize("script", [False, True], ids=["without scripts", "with scripts"])
CLOSED = "You can close this window."
THANKED = answers(f"<!doctype html><title>Reader</title><p>{CLOSED}".encode(), content_type="text/html")
TO_THE_APP = "com.example.app://callback?handle=1"
CONNECTOR = """<!doctype html><title>Connector</title><button>Connect</button><script>
document.querySelector("button").onclick = () => open(location.hash.slice(1), "connecting", "width=500,height=700");
addEventListener("message", event => { document.title = event.data; });
</script>"""
CONNECTED = "<!doctype html><title>Connected</title><script>opener.postMessage(location.search, '*')</script>"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with opened(tmp_path / "data") as house:
        yield house


@pytest.fixture
async def window(browser: Browser, script: bool) -> AsyncIterator[Page]:
    context = await browser.new_context(java_script_enabled=script)
    yield await context.new_page()
    await context.close()


@pytest.fixture
async def trusting(browser: Browser) -> AsyncIterator[Page]:
    """A browser that takes the certificates of the sites here."""
    context = await browser.new_context(ignore_https_errors=True)
    yield await context.new_page()
    await context.close()


@asynccontextmanager
async def elsewhere(folder: Path, behaviour: Behaviour = THANKED) -> AsyncIterator[tuple[Site, str]]:
    """A site of an app on the internet, and the address there that it wants its answer at."""
    async with Site.open(behaviour, Authority(folder).serving(ELSEWHERE)) as site:
        yield site, f"https://{ELSEWHERE}:{site.port}/callback"


def answer_at(site: Site) -> dict[str, list[str]]:
    """The parameters of the first request to a site."""
    return parse_qs(urlsplit(site.requests[0].split()[1].decode()).query)


@SCRIPTS
async def test_from_the_set_up_link_to_an_allowed_app_by_keyboard_alone(window, house, script):
    keys = Keyboard(window)
    await set_up(window, house)
    assert window.url == f"{house.address}/app/connections"
    await keys.go('button "Sign out"')
    assert window.url == f"{house.address}/sign-in"
    await sign_in(window)
    secret = await with_second_step(window, house)
    await keys.go('button "Sign out"')
    async with callback() as waiting:
        asked = house.asked(await house.register("Reader", waiting.address), waiting.address)
        await window.goto(asked.address)
        await sign_in(window)
        await second_step(window, house, secret)
        await keys.press('radio "personal', "ArrowDown")
        await keys.write('textbox "Name of the new vault"', "Boathouse")
        await keys.press('checkbox "Save new memories', "Space")
        await allow(window, house)
        assert await window.inner_text("body") == CLOSED
        answer = await waiting.answer()
    assert answer == {"code": answer["code"], "state": "a state", "iss": house.address}
    pair = await house.exchanged(asked, answer["code"])
    assert pair.scopes == {Scope.READ, Scope.WRITE}
    who = await house.app.entering.authenticate(pair.access, "vault")
    assert who.vault == (await house.app.vaults.named(OWNER, "Boathouse")).id


@SCRIPTS
async def test_an_app_that_is_not_allowed_is_told_so_by_keyboard_alone(window, house, script):
    await house.set_up()
    async with callback() as waiting:
        asked = house.asked(await house.register("Reader", waiting.address), waiting.address)
        await window.goto(asked.address)
        await sign_in(window)
        await Keyboard(window).go('button "Don’t allow"')
        assert await window.inner_text("body") == CLOSED
        answer = dict(await waiting.answer())
    assert answer.pop("error_description")
    assert answer == {"error": "access_denied", "state": "a state", "iss": house.address}


async def test_sec_037_a_question_cannot_be_answered_in_the_browser_of_somebody_else(page, trusting, house):
    await set_up(page, house)
    await house.app.accounts.join(await house.app.accounts.invite(OWNER), "Bob", PASSWORD)
    async with callback() as waiting:
        asked = house.asked(await house.register("Reader", waiting.address), waiting.address)
        await page.goto(asked.address)
        await trusting.goto(asked.address)
        await sign_in(trusting, "Bob")
        hers = await page.locator("[name=transaction]").get_attribute("value")
        await trusting.locator("[name=transaction]").evaluate("(field, value) => { field.value = value }", hers)
        await allow(trusting, house)
        assert await trusting.get_by_role("heading", level=1).inner_text() == "This request is over"
        await Keyboard(page).go('button "Allow"')
        assert await page.inner_text("body") == CLOSED
        pair = await house.exchanged(asked, (await waiting.answer())["code"])
    assert (await house.app.entering.authenticate(pair.access, "vault")).user == LOCAL_OWNER


async def test_sec_049_elsewhere_a_refusal_stays_here_until_the_person_goes_back(trusting, house, tmp_path):
    await house.set_up()
    async with elsewhere(tmp_path) as (site, address):
        await trusting.goto(house.asked(await house.register("Reader", address), address).address)
        await sign_in(trusting)
        await Keyboard(trusting).go('button "Don’t allow"')
        assert await trusting.get_by_role("heading", level=1).inner_text() == "Nothing was allowed"
        assert site.requests == []
        await Keyboard(trusting).go('link "Go back to app.example"')
        assert await trusting.inner_text("body") == CLOSED
    assert answer_at(site)["error"] == ["access_denied"]
    assert b"referer" not in site.requests[0].lower()


async def test_sec_052_approval_reaches_a_program_on_this_computer_under_the_shipped_policy(page, house):
    await house.set_up()
    seen = watched(page)
    async with callback() as waiting:
        asked = house.asked(await house.register("Reader", waiting.address), waiting.address)
        await page.goto(asked.address)
        await sign_in(page)
        await allow(page, house)
        assert await page.inner_text("body") == CLOSED
        assert (await house.exchanged(asked, (await waiting.answer())["code"])).access
    assert seen.said == []


async def test_sec_052_approval_reaches_an_https_address_under_the_shipped_policy(trusting, house, tmp_path):
    await house.set_up()
    seen = watched(trusting)
    async with elsewhere(tmp_path) as (site, address):
        asked = house.asked(await house.register("Reader", address), address)
        await trusting.goto(asked.address)
        await sign_in(trusting)
        await allow(trusting, house)
        assert await trusting.inner_text("body") == CLOSED
    assert (await house.exchanged(asked, answer_at(site)["code"][0])).access
    assert seen.said == []


async def test_sec_052_approval_reaches_an_app_that_its_https_address_hands_on_to(trusting, house, tmp_path):
    """No app of that scheme is installed here: that the browser goes to it is as far as a browser goes."""
    await house.set_up()
    seen = watched(trusting)
    async with elsewhere(tmp_path, answers(b"", 302, None, location=TO_THE_APP)) as (site, address):
        asked = house.asked(await house.register("Reader", address), address)
        await trusting.goto(asked.address)
        await sign_in(trusting)
        await ready(trusting, house)
        async with trusting.expect_request(TO_THE_APP):
            await Keyboard(trusting).press('button "Allow"')
    assert (await house.exchanged(asked, answer_at(site)["code"][0])).access
    assert seen.said == []


async def test_sec_267_a_window_that_an_app_opened_still_knows_it_after_signing_in_and_deciding(page, house):
    await set_up(page, house)
    secret = await with_second_step(page, house)
    await Keyboard(page).go('button "Sign out"')
    async with served(Starlette(routes=[Route("/", connector), Route("/callback", connected)])) as app:
        asked = house.asked(await house.register("Connector", f"{app}/callback"), f"{app}/callback")
        await page.goto(f"{app}/#{asked.address}")
        async with page.expect_popup() as opening:
            await page.get_by_role("button").click()
        popup = await opening.value
        for step in (sign_in(popup), second_step(popup, house, secret), allow(popup, house)):
            assert await popup.evaluate("opener !== null"), popup.url
            await step
        await expect(page).to_have_title(re.compile(r"\?code="))


async def test_sec_267_a_window_that_a_stranger_opened_on_the_pages_of_a_person_is_cut_off(page, house):
    await set_up(page, house)
    async with served(Starlette(routes=[Route("/", connector)])) as app:
        await page.goto(f"{app}/#{house.address}/app/account")
        async with page.expect_popup() as opening:
            await page.get_by_role("button").click()
        popup = await opening.value
        await expect(popup.get_by_role("heading", level=1)).to_have_text("Account")
        assert await popup.evaluate("opener === null")


async def connector(_request: Request) -> Response:
    return HTMLResponse(CONNECTOR)


async def connected(_request: Request) -> Response:
    return HTMLResponse(CONNECTED)
