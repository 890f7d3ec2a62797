"""Refresh tokens: they rotate, are given again for a while, tell when they were copied, and look at the present."""

import asyncio
from datetime import timedelta

import pytest
import sqlalchemy as sa

from archivist.app import OWNER
from archivist.domain import secrets
from archivist.storage.schema import vaults
from archivist.storage.schema_people import members
from tests.security.signing_in import HERE, READ, WRITE, Flow, refused
from tests.security.signing_in import clock as clock
from tests.security.signing_in import flow as flow

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)


async def test_sec_060_every_refresh_spends_the_token_and_makes_the_next(flow):
    first = await flow.tokens(READ, WRITE)
    second = (await flow.refresh(first["refresh_token"])).json()
    third = (await flow.refresh(second["refresh_token"])).json()
    assert len({one["refresh_token"] for one in (first, second, third)}) == 3
    assert len({one["access_token"] for one in (first, second, third)}) == 3
    rows = {row["digest"]: row for row in await flow.rows("tokens") if row["kind"] == "refresh"}
    chain = [rows[secrets.digest(one["refresh_token"])] for one in (first, second, third)]
    assert [row["spent"] is not None for row in chain] == [True, True, False]
    assert [row["successor"] for row in chain] == [chain[1]["digest"], chain[2]["digest"], ""]
    assert len({row["family"] for row in chain}) == 1
    flow.clock.move(seconds=31)
    assert refused(await flow.refresh(first["refresh_token"]), "invalid_grant")


async def test_sec_060_a_spent_token_is_remembered_as_long_as_its_family_lives(flow):
    first = await flow.tokens()
    last = first
    for _ in range(3):
        flow.clock.move(days=50)
        last = (await flow.refresh(last["refresh_token"])).json()
        await flow.app.tidying.tidy()
    digests = {row["digest"] for row in await flow.rows("tokens")}
    assert secrets.digest(first["refresh_token"]) in digests


@pytest.mark.parametrize("days", [0, 59, 61, 100])
async def test_sec_061_a_spent_token_ends_everything_and_its_person_is_told(flow, days):
    """However old it is: a token that would have expired by now is known as spent all the same."""
    first = await flow.tokens(READ, WRITE)
    second = (await flow.refresh(first["refresh_token"])).json()
    third = (await flow.refresh(second["refresh_token"])).json()
    for _ in range(days // 50):
        flow.clock.move(days=50)
        third = (await flow.refresh(third["refresh_token"])).json()
    flow.clock.move(days=days % 50, seconds=31)
    third = (await flow.refresh(third["refresh_token"])).json()
    assert await flow.lets_in(third["access_token"])
    assert refused(await flow.refresh(first["refresh_token"]), "invalid_grant")
    assert not await flow.lets_in(third["access_token"])
    assert refused(await flow.refresh(third["refresh_token"]), "invalid_grant")
    [row] = [row for row in await flow.rows("audit") if row["action"] == "token reused"]
    assert row["outcome"] == "ended"
    page = await flow.app.trail.of_vault(OWNER, (await flow.principal()).vault)
    assert "token reused" in [act.action for act in page.entries]


@pytest.mark.parametrize(("changes", "error"), [({"scope": "x"}, 0), ({"resource": "https://x.example"}, 0)])
async def test_sec_061_wrong_words_beside_a_spent_token_do_not_hide_it(flow, changes, error):
    first = await flow.tokens()
    second = (await flow.refresh(first["refresh_token"])).json()
    flow.clock.move(seconds=31)
    assert refused(await flow.refresh(first["refresh_token"], **changes), "invalid_grant")
    assert not await flow.lets_in(second["access_token"])


async def test_sec_061_a_spent_token_shown_by_another_app_ends_nothing(flow):
    other, first = await flow.another(), await flow.tokens()
    second = (await flow.refresh(first["refresh_token"])).json()
    flow.clock.move(seconds=31)
    assert refused(await other.refresh(first["refresh_token"]), "invalid_grant")
    assert await flow.lets_in(second["access_token"])


@pytest.mark.parametrize("seconds", [0, 5, 29])
async def test_sec_062_the_same_token_gets_the_same_pair_for_a_while(flow, seconds):
    first = await flow.tokens(READ, WRITE)
    second = (await flow.refresh(first["refresh_token"])).json()
    flow.clock.move(seconds=seconds)
    again = (await flow.refresh(first["refresh_token"])).json()
    assert {**again, "expires_in": 0} == {**second, "expires_in": 0}
    assert again["expires_in"] == 3600 - seconds
    assert await flow.lets_in(again["access_token"])
    assert (await flow.refresh(again["refresh_token"])).status_code == 200


@pytest.mark.parametrize(
    "changes", [{"scope": f"{READ} {WRITE}"}, {"scope": f"{WRITE} {READ} x"}, {"resource": f"{HERE}/mcp"}]
)
async def test_sec_062_other_words_for_the_same_are_the_same(flow, changes):
    first = await flow.tokens(READ, WRITE)
    second = (await flow.refresh(first["refresh_token"])).json()
    again = (await flow.refresh(first["refresh_token"], **changes)).json()
    assert again["refresh_token"] == second["refresh_token"]


async def test_sec_062_after_a_restart_the_pair_is_the_same_still(flow):
    first = await flow.tokens()
    second = (await flow.refresh(first["refresh_token"])).json()
    await flow.restart()
    assert (await flow.refresh(first["refresh_token"])).json()["refresh_token"] == second["refresh_token"]


async def test_sec_062_other_parameters_get_nothing(flow):
    first = await flow.tokens(READ, WRITE)
    await flow.refresh(first["refresh_token"])
    assert refused(await flow.refresh(first["refresh_token"], scope=READ), "invalid_grant")


async def test_sec_062_once_the_successor_was_used_the_token_ends_the_family(flow):
    first = await flow.tokens()
    second = (await flow.refresh(first["refresh_token"])).json()
    third = (await flow.refresh(second["refresh_token"])).json()
    flow.clock.move(seconds=1)
    assert refused(await flow.refresh(first["refresh_token"]), "invalid_grant")
    assert not await flow.lets_in(third["access_token"])
    assert refused(await flow.refresh(third["refresh_token"]), "invalid_grant")


@pytest.mark.parametrize(
    ("seconds", "same"), [(29.999, True), (30, False), (-29.999, True), (-31, False), (-3600, False)]
)
async def test_sec_062_the_while_is_half_a_minute_whatever_the_clock_does(flow, seconds, same):
    first = await flow.tokens()
    await flow.refresh(first["refresh_token"])
    flow.clock.move(seconds=seconds)
    assert ((await flow.refresh(first["refresh_token"])).status_code == 200) is same


async def test_sec_062_no_token_can_be_read_or_made_from_what_lies_in_the_files(flow):
    """Neither the salt of the spent row nor any digest makes the answer without the token that was shown."""
    first = await flow.tokens()
    second = (await flow.refresh(first["refresh_token"])).json()
    secret_ones = [one[name] for one in (first, second) for name in ("access_token", "refresh_token")]
    written = b"".join(path.read_bytes() for path in flow.data.rglob("*") if path.is_file())
    assert not [one for one in secret_ones if one.encode() in written]
    [spent] = [row for row in await flow.rows("tokens") if row["spent"]]
    for parent in ("", spent["digest"], spent["salt"], spent["successor"], spent["request"]):
        assert secrets.derived("refresh", parent, spent["salt"]) != second["refresh_token"]


async def test_sec_063_however_many_refresh_at_once_they_all_get_the_one_pair(flow):
    tokens = await flow.tokens(READ, WRITE)
    for _ in range(5):
        answers = await asyncio.gather(*(flow.refresh(tokens["refresh_token"]) for _ in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        [pair] = {(answer.json()["access_token"], answer.json()["refresh_token"]) for answer in answers}
        alive = [row for row in await flow.rows("tokens") if row["kind"] == "refresh" and row["spent"] is None]
        assert [row["digest"] for row in alive] == [secrets.digest(pair[1])]
        tokens = {"access_token": pair[0], "refresh_token": pair[1]}
        flow.clock.move(minutes=1)
        assert await flow.lets_in(pair[0])


@pytest.mark.parametrize("hours", [0, -1, 1, -10_000])
async def test_sec_064_what_was_spent_stays_spent_over_a_restart_and_a_step_of_the_clock(flow, hours):
    first = await flow.tokens()
    second = (await flow.refresh(first["refresh_token"])).json()
    await flow.restart()
    flow.clock.move(hours=hours, seconds=31)
    assert refused(await flow.refresh(first["refresh_token"]), "invalid_grant")
    assert not await flow.lets_in(second["access_token"])
    assert refused(await flow.refresh(second["refresh_token"]), "invalid_grant")


async def test_sec_065_a_refresh_can_ask_for_less_and_later_for_all_again(flow):
    first = await flow.tokens(READ, WRITE)
    less = (await flow.refresh(first["refresh_token"], scope=READ)).json()
    assert less["scope"] == READ
    assert (await flow.tool(less["access_token"], "store_memory", content="x")).status_code == 403
    full = (await flow.refresh(less["refresh_token"])).json()
    assert full["scope"] == f"{READ} {WRITE}"
    assert (await flow.tool(full["access_token"], "store_memory", content="x")).status_code == 200


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"scope": f"{READ} memories:delete"}, "invalid_scope"),
        ({"scope": "memories:delete"}, "invalid_scope"),
        ({"scope": "nothing"}, "invalid_scope"),
        ({"resource": f"{HERE}/mcp/coding"}, "invalid_target"),
        ({"resource": "https://elsewhere.example"}, "invalid_target"),
        ({"resource": [f"{HERE}/mcp", f"{HERE}/mcp/coding"]}, "invalid_target"),
    ],
)
async def test_sec_065_a_refresh_never_gets_more_or_anything_else(flow, changes, error):
    first = await flow.tokens(READ)
    assert refused(await flow.refresh(first["refresh_token"], **changes), error)
    assert (await flow.refresh(first["refresh_token"])).json()["scope"] == READ


async def test_sec_065_the_vault_of_a_family_never_changes(flow):
    first = await flow.tokens(READ, WRITE)
    await flow.vault("Boathouse")
    refreshed = (await flow.refresh(first["refresh_token"], vault="Boathouse")).json()
    before = await flow.app.entering.authenticate(first["access_token"], "vault")
    after = await flow.app.entering.authenticate(refreshed["access_token"], "vault")
    assert before == after


async def disabled(flow: Flow) -> None:
    await flow.app.accounts.set_disabled(OWNER, "Ana", disabled=True)


async def out_of_the_vault(flow: Flow) -> None:
    await flow.execute(sa.delete(members))


async def without_vault(flow: Flow) -> None:
    await flow.execute(sa.update(vaults).values(removed=1))


async def blocked(flow: Flow) -> None:
    await flow.app.clients.set_blocked(OWNER, flow.client, blocked=True)


async def cut(flow: Flow) -> None:
    [grant] = await flow.rows("grants")
    await flow.app.connections.cut(OWNER, grant["id"])


CHANGES = [disabled, out_of_the_vault, without_vault, blocked, cut]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_sec_066_a_refresh_and_an_exchange_look_at_the_present(flow, change):
    code, tokens = await flow.code(READ, WRITE), None
    other = await flow.code(READ)
    tokens = (await flow.exchange(other)).json()
    assert await flow.lets_in(tokens["access_token"])
    await change(flow)
    assert refused(await flow.refresh(tokens["refresh_token"]), "invalid_grant")
    assert refused(await flow.exchange(code), "invalid_grant")
    assert not await flow.lets_in(tokens["access_token"])


async def test_sec_066_an_app_that_is_blocked_cannot_be_asked_about(flow):
    await blocked(flow)
    assert (await flow.ask()).status_code == 400
    await flow.app.clients.set_blocked(OWNER, flow.client, blocked=False)
    assert (await flow.ask()).status_code == 200


async def test_sec_066_unblocking_an_app_brings_nothing_back(flow):
    tokens = await flow.tokens()
    await blocked(flow)
    await flow.app.clients.set_blocked(OWNER, flow.client, blocked=False)
    assert refused(await flow.refresh(tokens["refresh_token"]), "invalid_grant")
    assert not await flow.lets_in(tokens["access_token"])


@pytest.mark.parametrize(("by", "status"), [(60 * DAY - timedelta(seconds=1), 200), (60 * DAY, 400)])
async def test_sec_067_a_refresh_token_that_is_not_used_lives_for_sixty_days(flow, by, status):
    tokens = await flow.tokens()
    flow.clock.move(seconds=by.total_seconds())
    assert (await flow.refresh(tokens["refresh_token"])).status_code == status


@pytest.mark.parametrize(("by", "status"), [(30 * DAY - timedelta(seconds=1), 200), (30 * DAY, 400)])
async def test_sec_067_rotation_does_not_extend_the_hundred_and_eighty_days(flow, by, status):
    tokens = await flow.tokens()
    for _ in range(3):
        flow.clock.move(days=50)
        tokens = (await flow.refresh(tokens["refresh_token"])).json()
    flow.clock.move(seconds=by.total_seconds())
    last = await flow.refresh(tokens["refresh_token"])
    assert last.status_code == status
    if status == 200:
        flow.clock.move(seconds=1)
        assert refused(await flow.refresh(last.json()["refresh_token"]), "invalid_grant")
