"""Connections: what a person allowed which app, and taking it back."""

from dataclasses import replace

import pytest

from archivist.app import OWNER
from archivist.domain.access import ALL_SCOPES, Scope
from archivist.domain.errors import ArchivistError, InsufficientScope, NotFound, Unauthenticated
from archivist.domain.rejections import Rejected, Unanswerable
from archivist.services.connections import Ended, Which
from archivist.storage import audit
from tests.people import READ, READ_WRITE, arrived, connected, founded, joined

pytestmark = pytest.mark.anyio
UNKNOWN = "0193b000-0000-7000-8000-0000000000fe"


@pytest.fixture
async def ana(app):
    return await founded(app, await arrived(app, "ana"), "hers")


@pytest.fixture
async def bo(app, ana):
    return await founded(app, await arrived(app, "bo"), "theirs")


async def opens(app, reader) -> bool:
    try:
        await app.entering.authenticate(reader.access, "vault")
    except Unauthenticated:
        return False
    return True


async def test_sec_023_people_see_their_own_connections_with_all_that_they_allowed(app, ana, bo, clock):
    reader = await connected(app, clock, ana, READ_WRITE, name="Reader")
    await connected(app, clock, bo, READ)
    [one] = await app.connections.list(ana)
    assert (one.grant.id, one.grant.client_name, one.grant.host) == (reader.grant, "Reader", "127.0.0.1")
    assert (one.grant.vault, one.grant.scopes, one.grant.created) == (
        ana.vault,
        READ_WRITE,
        clock.now.replace(second=1),
    )
    assert (await app.connections.find(ana, reader.grant)).grant == one.grant


async def test_sec_137_an_ended_connection_is_dead_on_the_next_request(app, ana, clock):
    reader, kept = await connected(app, clock, ana), await connected(app, clock, ana)
    assert await opens(app, reader)
    await app.connections.end(ana, reader.grant)
    assert not await opens(app, reader)
    with pytest.raises(Rejected) as refused:
        await app.tokens.refresh(reader.client, token=reader.refresh, scope="", resources=[])
    assert refused.value.error == "invalid_grant"
    assert await opens(app, kept)
    assert [one.grant.id for one in await app.connections.list(ana)] == [kept.grant]


async def test_a_connection_ends_once(app, ana, clock):
    reader = await connected(app, clock, ana)
    await app.connections.end(ana, reader.grant)
    with pytest.raises(NotFound):
        await app.connections.end(ana, reader.grant)


async def test_sec_170_a_connection_of_somebody_else_looks_like_none(app, ana, bo, clock):
    reader = await connected(app, clock, ana)
    told = set()
    for id in (reader.grant, UNKNOWN):
        for act in (
            app.connections.find(bo, id),
            app.connections.end(bo, id),
            app.trail.of_connection(bo, ana.vault, id),
        ):
            with pytest.raises(NotFound) as refused:
                await act
            told.add(refused.value.detail)
    assert told == {"no connection with that id"}
    assert await opens(app, reader)


async def test_sec_232_the_end_of_a_connection_leaves_one_entry_in_its_vault(app, ana, clock):
    reader = await connected(app, clock, ana)
    await app.connections.end(ana, reader.grant)
    acts = await audit.recent(await app.stores.control(), ana.vault, 100)
    [found] = [act for act in acts if act.action == "connections end"]
    assert (found.user, found.target, found.credential_id) == (ana.user, reader.grant, ana.credential_id)


async def test_sec_137_a_blocked_app_is_cut_off_for_everybody_and_cannot_come_back(app, ana, bo, clock):
    reader = await connected(app, clock, bo)
    await app.clients.set_blocked(ana, reader.client.client_id, blocked=True)
    assert not await opens(app, reader)
    blocked = await app.clients.known(reader.client.client_id)
    with pytest.raises(Rejected):
        await app.tokens.refresh(blocked, token=reader.refresh, scope="", resources=[])
    with pytest.raises(Unanswerable):
        await app.clients.asking(bo, reader.client.client_id)


async def test_what_is_given_up_by_whom_is_theirs_alone_to_decide(app, bo, clock):
    reader = await connected(app, clock, bo)
    program = await app.entering.authenticate(reader.access, "vault")
    for act in (
        app.connections.list(program),
        app.connections.find(program, reader.grant),
        app.connections.end(program, reader.grant),
        app.connections.end_all(program, Which()),
        app.connections.end_all(bo, Which()),
    ):
        with pytest.raises(InsufficientScope):
            await act
    assert await opens(app, reader)


async def test_the_operator_ends_everything_of_one_person_and_nothing_of_another(app, ana, bo, clock):
    hers, theirs = await connected(app, clock, ana), await connected(app, clock, bo)
    _, key = await app.keys.create(bo, name="", scopes=READ)
    ended = await app.connections.end_all(OWNER, Which(user=bo.user))
    assert ended == Ended(connections=1, keys=1, sessions=1)
    assert (await opens(app, hers), await opens(app, theirs)) == (True, False)
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(key, "vault")


async def test_the_operator_ends_everything_of_one_vault_or_app(app, ana, bo, clock):
    bo_shared = await joined(app, ana, bo, ana.vault, "member")
    inside = await connected(app, clock, bo_shared, READ)
    outside = await connected(app, clock, bo, READ)
    assert (await app.connections.end_all(OWNER, Which(vault=ana.vault))).connections == 1
    assert (await opens(app, inside), await opens(app, outside)) == (False, True)
    assert (await app.connections.end_all(OWNER, Which(client=outside.client.digest))).connections == 1
    assert not await opens(app, outside)


async def test_what_came_before_a_moment_ends_and_what_came_after_it_stays(app, ana, clock):
    before = await connected(app, clock, ana)
    clock.move(hours=1)
    moment = clock()
    after = await connected(app, clock, ana)
    await app.connections.end_all(OWNER, Which(until=moment))
    assert (await opens(app, before), await opens(app, after)) == (False, True)
    await app.connections.end_all(OWNER, Which(since=moment))
    assert not await opens(app, after)


async def test_sec_047_a_connection_opens_no_more_than_the_role_of_its_person_allows(app, ana, bo, clock):
    bo = await joined(app, ana, bo, ana.vault, "owner")
    reader = await connected(app, clock, bo, ALL_SCOPES)
    for role, most in (
        ("admin", ALL_SCOPES),
        ("member", ALL_SCOPES - {Scope.DELETE}),
        ("viewer", READ),
        ("owner", ALL_SCOPES),
    ):
        await app.members.set_role(ana, ana.vault, bo.user, role)
        assert (await app.entering.authenticate(reader.access, "vault")).scopes == most


async def test_sec_233_the_end_of_a_connection_whose_entry_cannot_be_written_does_not_happen(app, ana, clock):
    reader = await connected(app, clock, ana)
    [entry, *_] = await audit.recent(await app.stores.control(), ana.vault, 9)
    stuck = replace(app.connections, new_id=lambda: entry.id)
    with pytest.raises(ArchivistError):
        await stuck.end(ana, reader.grant)
    assert await opens(app, reader)
