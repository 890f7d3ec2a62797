"""The step that one-time links share: whoever has set a password by one is signed in, and has a vault."""

from contextlib import suppress

from starlette.responses import RedirectResponse, Response

from archivist.app import App
from archivist.domain.errors import NotFound
from archivist.domain.users import User
from archivist.services.sign_in import principal
from archivist.web import browser
from archivist.web.browser import Browser
from archivist.web.frame import HOME


async def arrived(app: App, at: Browser, user: User) -> Response:
    """Their new session, in place of any other that this browser had; a second factor is asked for as ever."""
    entered = await app.sign_in.by_link(user.id, at.visitor)
    if at.session is not None and at.who is not None:
        with suppress(NotFound):
            await app.sign_in.sign_out(at.who, at.session)
    await app.vaults.personal(principal(user, entered.session))
    return browser.enter(RedirectResponse(HOME, 303), entered)
