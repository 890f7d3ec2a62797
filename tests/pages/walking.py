"""A person without a mouse: goes from stop to stop with Tab, types, and presses; and what they do on our pages so."""

from dataclasses import dataclass

from playwright.async_api import CDPSession, Page, expect

from tests.pages.browsing import debugging, focused
from tests.pages.house import ANA, PASSWORD, House


@dataclass(frozen=True, slots=True)
class Keyboard:
    """The keys of one page. A stop is named as it is read out, or by how that begins: `button "Allow"`."""

    page: Page

    async def to(self, stop: str) -> None:
        """Tab, until that has the focus.

        Raises:
            AssertionError: the focus went all around, and it was not there.
        """
        met: list[str] = []
        async with debugging(self.page) as session:
            while not await self._is_at(session, stop, met):
                assert met.count("") < 2, f"{stop} is not among {met}"

    async def write(self, stop: str, text: str) -> None:
        """Go there and type."""
        await self.to(stop)
        await self.page.keyboard.type(text)

    async def press(self, stop: str, key: str = "Enter") -> None:
        """Go there and press a key, on the same page."""
        await self.to(stop)
        await self.page.keyboard.press(key)

    async def go(self, stop: str, key: str = "Enter") -> None:
        """Go there and press a key that leads to another page, which is there when this returns."""
        await self.to(stop)
        async with self.page.expect_navigation():
            await self.page.keyboard.press(key)

    async def _is_at(self, session: CDPSession, stop: str, met: list[str]) -> bool:
        await self.page.keyboard.press("Tab")
        _node, said = await focused(session)
        met.append(said)
        return said.startswith(stop)


async def set_up(window: Page, house: House) -> None:
    """The first account, by the link that the server printed."""
    keys = Keyboard(window)
    await window.goto(await house.set_up_link())
    await keys.write('textbox "Name"', ANA)
    await keys.write('textbox "Password"', PASSWORD)
    await keys.write('textbox "The same password once more"', PASSWORD)
    await keys.go('button "Make the account"')


async def sign_in(window: Page, name: str = ANA) -> None:
    """Name and password, on the page that asks for them."""
    keys = Keyboard(window)
    await keys.write('textbox "Name"', name)
    await keys.write('textbox "Password"', PASSWORD)
    await keys.go('button "Sign in"')


async def with_second_step(window: Page, house: House) -> str:
    """Turn it on, from any page of somebody who is signed in; the secret of it."""
    keys = Keyboard(window)
    await keys.go('link "Account"')
    await keys.go('link "Set it up"')
    secret = await window.locator(".once code").inner_text()
    await keys.write('textbox "Code"', house.code_of(secret))
    await keys.go('button "Turn it on"')
    assert await window.locator(".codes li").count() == 10
    await keys.go('link "I have kept them"')
    return secret


async def second_step(window: Page, house: House, secret: str) -> None:
    """The code that the phone shows next, on the page that asks for it."""
    keys = Keyboard(window)
    house.clock.move(seconds=30)
    await keys.write('textbox "Code from your authenticator app"', house.code_of(secret))
    await keys.go('button "Go on"')


async def ready(window: Page, house: House) -> None:
    """Let the page be read: Allow lets itself be pressed, and the server takes it."""
    await expect(window.get_by_role("button", name="Allow", exact=True)).to_be_enabled()
    house.clock.move(seconds=1)


async def allow(window: Page, house: House) -> None:
    """Once the page has been read."""
    await ready(window, house)
    await Keyboard(window).go('button "Allow"')
