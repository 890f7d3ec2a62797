"""The looking itself: pictures, findings, the walk by keyboard, and cookies as a browser keeps them."""

import struct
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Error
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tests.conformance.fixtures.serving import served
from tests.pages import browsing
from tests.pages.browsing import looked_at, serious_findings, walk

pytestmark = pytest.mark.anyio

STRICT = {"content-security-policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'"}
COOKIE = "__Host-visit=1; Path=/; Secure; HttpOnly; SameSite=Lax"
STYLE = """
:root { color-scheme: light dark; background: white; color: black }
.tall { height: 3000px }
@media (prefers-color-scheme: dark) { :root { background: black; color: white } .dim { color: #333 } }
"""
BODIES = {
    "plain": """
        <h1>Allow?</h1>
        <p><a href="/other">What is this?</a></p>
        <p class="tall">Long.</p>
        <form><label>Name <input name="name" autofocus></label>
        <label><input type="checkbox" name="read"> Read what is remembered</label>
        <label>Vault <select name="vault"><option>Home</option></select></label>
        <button disabled>Later</button> <button>Allow</button></form>""",
    "flawed": '<h1>Allow?</h1><p class="dim">Hard to read at night.</p><form><input name="nameless"></form>',
    "bare": "<h1>Nothing to press</h1>",
}


async def shown(request: Request) -> Response:
    name = request.path_params["name"]
    head = f'<title>{name}</title><link rel="stylesheet" href="/style.css">'
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head>{head}</head><body><main>{BODIES[name]}</main></body></html>',
        headers=STRICT,
    )


async def style(request: Request) -> Response:
    return Response(STYLE, media_type="text/css")


async def remember(request: Request) -> Response:
    return HTMLResponse("<p>Kept.</p>", headers={**STRICT, "set-cookie": COOKIE})


async def remembered(request: Request) -> Response:
    return HTMLResponse(f"<p>{request.headers.get('cookie', 'nothing')}</p>", headers=STRICT)


@pytest.fixture
async def site() -> AsyncIterator[str]:
    routes = [
        Route("/style.css", style),
        Route("/pages/{name}", shown),
        Route("/remember", remember),
        Route("/remembered", remembered),
    ]
    async with served(Starlette(routes=routes)) as address:
        yield address


def size_of(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


async def test_a_page_is_pictured_whole_at_two_widths_in_light_and_dark(page, site, tmp_path):
    await page.goto(f"{site}/pages/plain")
    before = page.viewport_size
    taken = await looked_at(page, "plain", tmp_path / "pictures")
    assert [path.name for path in taken] == [
        "plain-390-light.png",
        "plain-390-dark.png",
        "plain-1280-light.png",
        "plain-1280-dark.png",
    ]
    sizes = [size_of(path.read_bytes()) for path in taken]
    assert [width for width, _ in sizes] == [390, 390, 1280, 1280]
    assert all(height > 3000 for _, height in sizes)
    assert taken[0].read_bytes() != taken[1].read_bytes()
    assert page.viewport_size == before


async def test_axe_finds_nothing_in_a_page_without_a_flaw(page, site):
    await page.goto(f"{site}/pages/plain")
    assert await serious_findings(page) == []


async def test_axe_finds_a_nameless_field_and_what_is_too_dim_in_the_dark_under_a_strict_policy(page, site):
    await page.goto(f"{site}/pages/flawed")
    found = await serious_findings(page)
    assert [line.split(":")[:2] for line in found] == [
        ["light", " label"],
        ["dark", " color-contrast"],
        ["dark", " label"],
    ]
    assert found[1].endswith('<p class="dim">Hard to read at night.</p>')


async def test_the_walk_names_every_stop_from_the_top_of_the_page_and_ends(page, site):
    await page.goto(f"{site}/pages/plain")
    stops = ['link "What is this?"', 'textbox "Name"', 'checkbox "Read what is remembered"', 'combobox "Vault"',
             'button "Allow"']  # fmt: skip
    assert await walk(page) == stops
    assert await walk(page) == stops


async def test_the_walk_through_a_page_without_a_stop_is_empty(page, site):
    await page.goto(f"{site}/pages/bare")
    assert await walk(page) == []


async def test_the_walk_ends_where_a_page_does_not_let_the_focus_go(page, site):
    await page.goto(f"{site}/pages/plain")
    await page.evaluate("document.addEventListener('focusin', () => document.querySelector('input').focus())")
    assert await walk(page) == ['textbox "Name"']


async def test_the_browser_keeps_a_host_cookie_of_a_loopback_address_until_the_page_is_closed(page, site):
    await page.goto(f"{site}/remember")
    await page.goto(f"{site}/remembered")
    assert await page.locator("p").inner_text() == "__Host-visit=1"
    assert [cookie["secure"] for cookie in await page.context.cookies()] == [True]


async def test_the_next_page_knows_no_cookie_of_the_page_before(page, site):
    await page.goto(f"{site}/remembered")
    assert await page.locator("p").inner_text() == "nothing"


async def test_the_browser_knows_no_name_but_localhost(page, site):
    await page.goto(f"{site}/remembered".replace("127.0.0.1", "localhost"))
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        await page.goto(f"{site}/remembered".replace("127.0.0.1", "other.localhost"))


def test_a_missing_browser_fails_the_tests(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AssertionError, match="chromium is missing"):
        browsing.chromium()
