"""Pages in a real browser: how they look, what axe-core finds in them, and what the Tab key reaches."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, CDPSession, Page, async_playwright

ROOT = Path(__file__).parents[2]
AXE = ROOT / "tests" / "clients" / "node_modules" / "axe-core" / "axe.min.js"
SCREENSHOTS = ROOT / ".cache" / "screenshots"
WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
HEIGHT = 800
FAILED = "Failed to load resource: the server responded with a status of"
SERIOUS = ("serious", "critical")
"""The two gravest of the four impacts that axe-core knows."""

ELSEWHERE = "app.example"
"""The one other host that the browser knows; it is this computer, too."""

ALONE = [
    "--no-proxy-server",
    f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]
"""All others are unknown to it; a test that goes to one answers for it, by `page.route`."""

FROM_THE_TOP = "root => { root.tabIndex = -1; root.focus(); root.removeAttribute('tabindex') }"
"""Lets go of what has the focus; the next Tab then begins at the start of the page."""


def chromium() -> str:
    """The path of Debian's Chromium; a browser that is missing is a failure, never a test less.

    Raises:
        AssertionError: it is missing.
    """
    path = shutil.which("chromium")
    assert path, "chromium is missing; `make test` installs it"
    return path


@asynccontextmanager
async def launched(home: Path, *, keeps_pages: bool = False) -> AsyncIterator[Browser]:
    """A browser without a window that reaches this computer alone, and leaves what it writes in `home`.

    Playwright starts it without a sandbox, which root could not have; it only ever meets our own pages.
    keeps_pages: whole, for the back button, as the browsers of people do.
    """
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium(),
            args=ALONE,
            env={**os.environ, "HOME": str(home)},
            ignore_default_args=["--disable-back-forward-cache"] if keeps_pages else None,
        )
        try:
            yield browser
        finally:
            await browser.close()


@dataclass(slots=True)
class Watched:
    """What a page said on its console, errors and broken rules among it; and every address that it asked for."""

    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def elsewhere(self, address: str) -> list[str]:
        """Those addresses that do not lie under `address`."""
        return [one for one in self.asked if not one.startswith(f"{address}/")]


def watched(page: Page) -> Watched:
    """From now on. That a page came with an error status, which browsers also say, is left out."""
    seen = Watched()
    page.on("console", lambda message: seen.said.append(message.text) if FAILED not in message.text else None)
    page.on("pageerror", lambda error: seen.said.append(str(error)))
    page.on("request", lambda request: seen.asked.append(request.url))
    return seen


async def looked_at(page: Page, name: str, folder: Path = SCREENSHOTS) -> list[Path]:
    """Pictures of the whole page, narrow and wide, light and dark: `<name>-<width>-<scheme>.png` in `folder`."""
    before, taken = page.viewport_size, []
    for width in WIDTHS:
        await page.set_viewport_size({"width": width, "height": HEIGHT})
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            path = folder / f"{name}-{width}-{scheme}.png"
            await page.screenshot(path=path, full_page=True)
            taken.append(path)
    await page.emulate_media(color_scheme="null", reduced_motion="null")
    if before:
        await page.set_viewport_size(before)
    return taken


async def serious_findings(page: Page) -> list[str]:
    """What axe-core calls serious or critical, light and dark: `dark: color-contrast: what is asked: <p class="dim">`.

    It runs as a debugger's code does, which the page's content security policy does not forbid.
    """
    found = []
    async with debugging(page) as session:
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found += [f"{scheme}: {_line(violation)}" for violation in await _violations(session)]
    await page.emulate_media(color_scheme="null", reduced_motion="null")
    return found


async def walk(page: Page) -> list[str]:
    """What has the focus as Tab is pressed from the top of the page, such as `button "Allow"`, each as it is read out.

    Ends when the focus leaves the page, or comes back to where it was.
    """
    await page.locator(":root").evaluate(FROM_THE_TOP)
    met: dict[int, str] = {}
    async with debugging(page) as session:
        while True:
            await page.keyboard.press("Tab")
            node, said = await focused(session)
            if not said or node in met:
                return list(met.values())
            met[node] = said


@asynccontextmanager
async def debugging(page: Page) -> AsyncIterator[CDPSession]:
    """What a debugger is told: more than a page may know, and also where scripts are switched off."""
    session = await page.context.new_cdp_session(page)
    try:
        yield session
    finally:
        await session.detach()


async def _violations(session: CDPSession) -> list[dict[str, Any]]:
    await _evaluated(session, _axe())
    result = await _evaluated(session, "axe.run({ resultTypes: ['violations'] }).then(found => found.violations)")
    return [violation for violation in result["value"] if violation["impact"] in SERIOUS]


def _line(violation: dict[str, Any]) -> str:
    places = ", ".join(node["html"] for node in violation["nodes"])
    return f"{violation['id']}: {violation['help']}: {places}"


async def focused(session: CDPSession) -> tuple[int, str]:
    """The number of the element that has the focus, and its role and name; the name is empty of the page itself."""
    element = await session.send("Runtime.evaluate", {"expression": "document.activeElement"})
    asked = {"objectId": element["result"]["objectId"], "fetchRelatives": False}
    node = (await session.send("Accessibility.getPartialAXTree", asked))["nodes"][0]
    outside = element["result"]["className"] in {"HTMLBodyElement", "HTMLHtmlElement"}
    return node["backendDOMNodeId"], "" if outside else f'{node["role"]["value"]} "{node["name"]["value"]}"'


async def _evaluated(session: CDPSession, expression: str) -> dict[str, Any]:
    """What the expression comes to, as JSON under `value`.

    Raises:
        AssertionError: it throws.
    """
    asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
    answer = await session.send("Runtime.evaluate", asked)
    assert "exceptionDetails" not in answer, answer["exceptionDetails"]
    return dict(answer["result"])


@cache
def _axe() -> str:
    assert AXE.exists(), f"{AXE} is missing; `make test` installs it"
    return AXE.read_text(encoding="utf-8") + "; undefined"
