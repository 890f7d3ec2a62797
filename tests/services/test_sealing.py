"""The server's own secrets are exchanged while everything runs."""

import asyncio
import threading
from dataclasses import replace

import pyotp
import pytest

from archivist.app import OWNER, App, assemble
from archivist.domain.access import Principal
from archivist.domain.errors import Conflict, InsufficientScope, NotFound, Unavailable
from archivist.embedders.hashed import HashedEmbedder
from archivist.settings import Settings
from archivist.storage.people import users
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import Clock
from tests.people import VISITOR, arrived

pytestmark = pytest.mark.anyio


@pytest.fixture
async def ana(app: App) -> Principal:
    """Runs the server."""
    return await arrived(app, "ana")


async def given_a_factor(app: App, clock: Clock, who: Principal) -> pyotp.TOTP:
    """What shows the codes of a new second factor."""
    offer = await app.factors.offer(who, "somebody")
    shows = pyotp.TOTP(offer.secret)
    await app.factors.accept(who, offer.sealed, shows.at(clock()), keep=who.credential_id)
    return shows


async def enters(app: App, clock: Clock, who: Principal, shows: pyotp.TOTP) -> bool:
    """Whether a code that was not used yet lets this person in."""
    clock.move(minutes=1)
    half = await app.sign_in.outside(who.user, VISITOR)
    assert half.session.stage == "half"
    return (await app.sign_in.second_factor(half.session, VISITOR, shows.at(clock()))).session.stage == "full"


async def test_sec_130_second_factors_work_on_through_every_exchange(app, clock, ana):
    bo = await arrived(app, "bo")
    shows = {who: await given_a_factor(app, clock, who) for who in (ana, bo)}
    for exchange in (app.sealing.rotate, app.sealing.rotate, app.sealing.rotate, app.sealing.strike):
        assert (await exchange(OWNER)).count == 2
        assert [await enters(app, clock, who, shows[who]) for who in (ana, bo)] == [True, True]


async def test_sec_130_what_was_given_out_before_is_taken_until_its_secret_is_struck_off(app, clock, ana):
    first, second = await app.factors.offer(ana, "ana"), await app.factors.offer(ana, "ana")
    await app.sealing.rotate(OWNER)
    await app.factors.accept(ana, first.sealed, pyotp.TOTP(first.secret).at(clock()), keep="")
    await app.sealing.strike(OWNER)
    with pytest.raises(NotFound):
        await app.factors.accept(ana, second.sealed, pyotp.TOTP(second.secret).at(clock()), keep="")


async def test_with_one_secret_there_is_nothing_to_strike_off(app, ana):
    with pytest.raises(Conflict):
        await app.sealing.strike(OWNER)
    assert "secrets strike" not in [act.action for act in (await app.trail.of_server(OWNER)).entries]


async def test_a_factor_that_is_changed_at_the_same_moment_is_not_overwritten(app, clock, ana, monkeypatch):
    await given_a_factor(app, clock, ana)
    original, shows = users.everybody, []

    async def seen_and_changed(control):
        found = await original(control)
        if not shows:
            clock.move(minutes=1)
            shows.append(await given_a_factor(app, clock, ana))
        return found

    monkeypatch.setattr(users, "everybody", seen_and_changed)
    assert (await app.sealing.rotate(OWNER)).count == 1
    assert await enters(app, clock, ana, shows[0])


async def test_when_factors_never_rest_nothing_is_exchanged(app, clock, ana, monkeypatch):
    await given_a_factor(app, clock, ana)
    monkeypatch.setattr(users, "reseal", lambda user, _was, sealed, reseal=users.reseal: reseal(user, "other", sealed))
    with pytest.raises(Unavailable):
        await app.sealing.rotate(OWNER)
    assert app.keyring.versions == 1


async def test_only_who_runs_the_server_exchanges_its_secrets(app, ana):
    bo = await arrived(app, "bo")
    for exchange in (app.sealing.rotate, app.sealing.strike):
        with pytest.raises(InsufficientScope):
            await exchange(bo)


async def test_sec_130_of_two_exchanges_in_two_processes_at_once_one_waits_its_turn(app, clock, ana, tmp_path):
    """Else the second one strikes off what the first one has just sealed every factor with."""
    shows, said = await given_a_factor(app, clock, ana), []
    settings = Settings(data=tmp_path / "data")
    other = assemble(SqliteStores(settings.data, now=clock), HashedEmbedder(), clock, settings)

    async def elsewhere():
        try:
            await other.sealing.rotate(OWNER)
        except Conflict as error:
            said.append(error)
        finally:
            await other.close()

    class Interrupted:
        """The keyring, where another process exchanges everything right before the file is written."""

        def rotate(self):
            thread = threading.Thread(target=lambda: asyncio.run(elsewhere()))
            thread.start()
            thread.join()
            app.keyring.rotate()

        def __getattr__(self, name):
            return getattr(app.keyring, name)

    await replace(app.sealing, keyring=Interrupted()).rotate(OWNER)
    assert await enters(app, clock, ana, shows)
    assert len(said) == 1
    await app.sealing.rotate(OWNER)
    assert await enters(app, clock, ana, shows)
