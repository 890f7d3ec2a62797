"""The services of the folder that commands work on: for what people do in a browser, and no command shows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pyotp

from archivist.app import App, build
from archivist.domain.access import Principal
from archivist.domain.ids import UserId
from archivist.settings import Settings
from tests.builders import Clock
from tests.cli.conftest import Command, Typed
from tests.people import VISITOR

PASSWORD = "correct horse battery"


@asynccontextmanager
async def inside(typed: Command | Typed, clock: Clock | None = None) -> AsyncIterator[App]:
    """Beside any server and command; on the clock of this computer unless another is given."""
    settings = Settings(data=typed.data, embedder="none")
    app = build(settings) if clock is None else build(settings, now=clock)
    await app.stores.control()
    try:
        yield app
    finally:
        await app.close()


async def entered(app: App, user: str) -> Principal:
    """A browser of the person with this id, signed in."""
    came = await app.sign_in.outside(UserId(user), VISITOR)
    return (await app.sign_in.session(came.secret))[1]


async def given_a_factor(app: App, who: Principal) -> pyotp.TOTP:
    """A second factor in force, and the app that shows its codes."""
    offer = await app.factors.offer(who, "somebody")
    shows = pyotp.TOTP(offer.secret)
    await app.factors.accept(who, offer.sealed, shows.at(app.factors.now()), keep=who.credential_id)
    return shows
