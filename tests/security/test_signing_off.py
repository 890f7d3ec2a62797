"""An app that gives its tokens back: its access ends at once; asking again right away goes on with the connection."""

import pytest

from archivist.app import OWNER
from tests.security.signing_in import DELETE, READ, WRITE, Asked, Flow
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow

pytestmark = pytest.mark.anyio


async def ids(flow: Flow) -> list[str]:
    return [connection.grant.id for connection in await flow.app.connections.list(OWNER)]


async def test_the_last_token_given_back_ends_the_connection(flow: Flow):
    tokens = await flow.tokens(READ)
    assert (await flow.revoke(tokens["refresh_token"])).status_code == 200
    assert not await flow.lets_in(tokens["access_token"])
    assert await ids(flow) == []


async def test_an_app_that_gave_its_tokens_back_to_ask_for_more_keeps_connection_vault_and_scopes(flow: Flow):
    tokens = await flow.tokens(READ, WRITE)
    [before] = await ids(flow)
    await flow.revoke(tokens["refresh_token"])
    page = await flow.ask(scope=" ".join([READ, DELETE]))
    assert Asked(page.text).values("scope", ticked=True) == [READ, WRITE]
    await flow.decide(page, scope=[READ, WRITE, DELETE])
    assert await ids(flow) == [before]
    assert not await flow.lets_in(tokens["access_token"])


async def test_an_app_that_comes_back_later_is_a_new_connection_with_nothing_ticked_but_reading(flow: Flow):
    tokens = await flow.tokens(READ, WRITE)
    [before] = await ids(flow)
    await flow.revoke(tokens["refresh_token"])
    flow.clock.move(minutes=11)
    page = await flow.ask(scope=" ".join([READ, WRITE]))
    assert Asked(page.text).values("scope", ticked=True) == [READ]
    await flow.decide(page)
    [after] = await ids(flow)
    assert after != before


async def test_a_connection_that_its_person_ended_never_comes_back(flow: Flow):
    await flow.tokens(READ, WRITE)
    [before] = await ids(flow)
    await flow.app.connections.end(await flow.principal(), before)
    page = await flow.ask(scope=" ".join([READ, WRITE]))
    assert Asked(page.text).values("scope", ticked=True) == [READ]
    await flow.decide(page)
    assert before not in await ids(flow)


async def test_another_computer_of_the_same_app_goes_on(flow: Flow):
    first, second = await flow.tokens(READ), await flow.tokens(READ)
    await flow.revoke(first["refresh_token"])
    assert (await flow.refresh(first["refresh_token"])).status_code == 400
    assert (await flow.refresh(second["refresh_token"])).status_code == 200
    assert len(await ids(flow)) == 1
