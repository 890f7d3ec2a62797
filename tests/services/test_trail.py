"""Reading the audit trail: who may read which part of it, page by page, and that reading it is noted."""

from dataclasses import replace

import pytest

from archivist.domain.access import ALL_SCOPES, Principal
from archivist.domain.errors import InsufficientScope, InvalidArgument, NotFound
from archivist.domain.ids import CONTROL
from archivist.services.deletion import DELETE_SELECTED
from archivist.storage import audit
from tests.people import READ, READ_WRITE, arrived, connected, founded, joined

pytestmark = pytest.mark.anyio
UNKNOWN = "0193b000-0000-7000-8000-00000000000b"


@pytest.fixture
async def ana(app):
    """Runs the server, and owns a vault."""
    return await founded(app, await arrived(app, "ana"), "shared")


@pytest.fixture
async def bo(app, ana):
    return await arrived(app, "bo")


def actions(page):
    return [act.action for act in page.entries]


async def test_people_read_what_they_did_themselves_and_nothing_of_others(app, ana, bo, clock):
    clock.move(seconds=1)
    await app.vaults.create(bo, "mine", "project")
    assert actions(await app.trail.mine(bo)) == ["vaults create", "outside"]
    assert {act.user for act in (await app.trail.mine(ana)).entries} == {ana.user}


async def test_the_trail_of_a_vault_holds_what_was_done_in_it_and_to_what_opens_it_newest_first(app, ana, clock):
    reader = await connected(app, clock, ana)
    who = await app.entering.authenticate(reader.access, "vault")
    clock.move(seconds=1)
    await app.memories.store(who, text="something to forget")
    [memory] = await app.memories.recent(who, 1)
    clock.move(seconds=1)
    await app.deletion.delete(who, [memory.id], DELETE_SELECTED)
    clock.move(seconds=1)
    await app.connections.end(ana, reader.grant)
    found = (await app.trail.of_vault(ana, ana.vault)).entries
    assert [act.id for act in found] == sorted((act.id for act in found), reverse=True)
    by_app = [act.action for act in found if act.credential_id == reader.grant]
    assert len(by_app) >= 2
    assert [act.action for act in found if act.credential_id == ana.credential_id] == [
        "connections end", "consent given",
    ]  # fmt: skip


async def test_sec_236_only_admins_and_owners_of_a_vault_read_its_trail(app, ana, bo):
    told = set()
    for vault in (ana.vault, UNKNOWN):
        for read in (app.trail.of_vault, app.trail.reads, app.trail.names):
            with pytest.raises(NotFound) as refused:
                await read(bo, vault)
            told.add(refused.value.detail)
    for role in ("viewer", "member"):
        await joined(app, ana, bo, ana.vault, role)
        for read in (app.trail.of_vault, app.trail.reads, app.trail.names):
            with pytest.raises(NotFound) as refused:
                await read(bo, ana.vault)
            told.add(refused.value.detail)
        await app.members.remove(ana, ana.vault, bo.user)
    assert len(told) == 1
    await joined(app, ana, bo, ana.vault, "admin")
    assert (await app.trail.of_vault(bo, ana.vault)).entries


async def test_sec_181_an_administrator_reads_the_servers_trail_and_none_of_another_persons_vault(app, ana, bo):
    bo = await founded(app, bo, "private")
    await app.keys.create(bo, name="", scopes=READ)
    for read in (app.trail.of_vault, app.trail.reads, app.trail.names):
        with pytest.raises(NotFound):
            await read(ana, bo.vault)
    of_server = (await app.trail.of_server(ana)).entries
    assert {act.vault for act in of_server} == {CONTROL}
    assert "keys create" not in {act.action for act in of_server}
    assert bo.user in {act.user for act in of_server}


async def test_sec_236_nobody_else_reads_the_trail_of_the_server(app, ana, bo):
    for who in (bo, replace(ana, credential="key"), replace(ana, administrator=False)):
        with pytest.raises(InsufficientScope):
            await app.trail.of_server(who)


async def test_sec_126_no_key_reads_any_trail(app, ana):
    program = Principal(ana.user, ana.vault, ALL_SCOPES, "key", "0193b000-0000-7000-8000-0000000000fe")
    for asked in (
        app.trail.mine(program),
        app.trail.of_vault(program, ana.vault),
        app.trail.reads(program, ana.vault),
        app.trail.names(program, ana.vault),
        app.trail.of_connection(program, ana.vault, program.credential_id),
        app.trail.of_server(program),
    ):
        with pytest.raises(InsufficientScope):
            await asked


async def test_sec_236_reading_what_others_did_is_noted_itself(app, ana, clock):
    clock.move(seconds=1)
    await app.trail.of_vault(ana, ana.vault)
    [note, *_] = (await app.trail.of_vault(ana, ana.vault)).entries
    assert (note.action, note.user, note.target) == ("audit read", ana.user, ana.vault)
    clock.move(seconds=1)
    await app.trail.of_server(ana)
    [note, *_] = (await app.trail.of_server(ana)).entries
    assert (note.action, note.target) == ("audit read", CONTROL)


async def test_pages_follow_each_other_without_a_gap_or_a_repeat(app, ana, clock):
    for number in range(7):
        clock.move(seconds=1)
        await app.keys.create(ana, name=f"key {number}", scopes=READ)
    room = await app.stores.vault(ana.vault)
    for number in range(5):
        clock.move(seconds=1)
        await app.memories.store(ana, text=f"fact {number}")
    assert room is not await app.stores.control()
    whole = [act.id for act in (await app.trail.of_vault(ana, ana.vault, limit=100)).entries]
    found, before = [], None
    while True:
        page = await app.trail.of_vault(ana, ana.vault, before=before, limit=3)
        found += [act.id for act in page.entries if act.action != "audit read"]
        if page.older is None:
            break
        before = page.older
    assert found == whole
    assert len(found) == 12


@pytest.mark.parametrize("before", ["~", "1", "'; DROP TABLE audit; --", "\ud800"])
async def test_a_page_begins_at_an_id_or_not_at_all(app, ana, before):
    with pytest.raises(InvalidArgument, match="before"):
        await app.trail.of_vault(ana, ana.vault, before=before)


async def test_an_owner_sees_how_often_which_connection_and_key_did_what(app, ana, bo, clock):
    bo = await joined(app, ana, bo, ana.vault, "member")
    reader = await connected(app, clock, bo, READ_WRITE, name="Bo's reader")
    key, secret = await app.keys.create(ana, name="laptop", scopes=READ)
    for credential, times in ((reader.access, 3), (secret, 2)):
        who = await app.entering.authenticate(credential, "vault")
        for _ in range(times):
            app.counting.note(who, "search_memories")
    await app.counting.flush()
    found = {one.credential: one.count for one in await app.trail.reads(ana, ana.vault)}
    assert found == {reader.grant: 3, key.id: 2}
    assert await app.trail.names(ana, ana.vault) == {reader.grant: "Bo's reader", key.id: "laptop"}
    await app.connections.end(bo, reader.grant)
    assert (await app.trail.names(ana, ana.vault))[reader.grant] == "Bo's reader"


async def test_a_plain_member_sees_what_their_own_connection_did(app, ana, bo, clock):
    bo = await joined(app, ana, bo, ana.vault, "member")
    reader, another = await connected(app, clock, bo, READ_WRITE), await connected(app, clock, bo, READ_WRITE)
    for one in (reader, another):
        who = await app.entering.authenticate(one.access, "vault")
        clock.move(seconds=1)
        await app.memories.store(who, text=f"stored through {one.grant}")
        app.counting.note(who, "store_memory")
    app.counting.note(who, "delete_memories", "insufficient_scope")
    await app.counting.flush()
    doings = await app.trail.of_connection(bo, bo.vault, another.grant)
    assert {act.credential_id for act in doings.acts} == {another.grant}
    assert {act.outcome for act in doings.acts} == {"done", "insufficient_scope"}
    assert {(one.operation, one.outcome) for one in doings.counts} == {
        ("store_memory", "done"), ("delete_memories", "insufficient_scope"),
    }  # fmt: skip


async def test_sec_235_no_entry_holds_what_was_stored_or_what_people_call_things(app, ana, clock):
    canary = "zebra-canary"
    who = await founded(app, ana, canary)
    await app.keys.create(who, name=canary, scopes=READ)
    reader = await connected(app, clock, who, name=canary)
    program = await app.entering.authenticate(reader.access, "vault")
    await app.memories.store(program, text=f"{canary} in a memory", tags=[canary])
    await app.search.search(program, query=canary)
    [memory] = await app.memories.recent(program, 1)
    await app.deletion.delete(program, [memory.id], DELETE_SELECTED)
    await app.members.invite(who, who.vault, "viewer")
    for control, vault in (
        (await app.stores.control(), CONTROL),
        (await app.stores.control(), who.vault),
        (await app.stores.vault(who.vault), who.vault),
    ):
        found = await audit.recent(control, vault, 100)
        assert found
        assert canary not in repr(found)


async def test_what_somebody_elses_connection_did_is_not_told_apart_even_to_an_owner(app, ana, bo, clock):
    bo = await joined(app, ana, bo, ana.vault, "owner")
    reader = await connected(app, clock, ana, READ)
    for id in (reader.grant, UNKNOWN):
        with pytest.raises(NotFound, match="no connection with that id"):
            await app.trail.of_connection(bo, bo.vault, id)
