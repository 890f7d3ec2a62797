"""Who is in a vault: inviting, roles, leaving. A vault always has an owner."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from archivist.app import OWNER, App, assemble
from archivist.domain.access import Principal, Scope
from archivist.domain.audit import Entry
from archivist.domain.errors import ArchivistError, Conflict, InsufficientScope, NotFound, Unauthenticated
from archivist.domain.links import LIFE
from archivist.domain.roles import ROLES
from archivist.embedders.hashed import HashedEmbedder
from archivist.settings import Settings
from archivist.storage import audit, members
from archivist.storage.sqlite.stores import SqliteStores
from archivist.storage.stores import Stores
from tests.builders import Clock
from tests.people import READ_WRITE, arrived, connected, founded, joined

pytestmark = pytest.mark.anyio
UNKNOWN = "0193b000-0000-7000-8000-00000000000b"


@pytest.fixture
async def ana(app: App) -> Principal:
    """Runs the server, and owns a vault."""
    return await founded(app, await arrived(app, "ana"), "shared")


@pytest.fixture
async def bo(app: App, ana: Principal) -> Principal:
    """Somebody with an account, and in no vault."""
    return await arrived(app, "bo")


async def roles(app: App, who: Principal) -> dict[str, str]:
    return {one.name: one.member.role for one in await app.members.list(who, who.vault)}


@pytest.mark.parametrize("role", ROLES)
async def test_somebody_invited_joins_with_the_role_that_was_chosen(app, ana, bo, role):
    await joined(app, ana, bo, ana.vault, role)
    assert await roles(app, ana) == {"ana": "owner", "bo": role}
    assert await app.members.role(bo, ana.vault) == role


async def test_sec_022_an_invitation_works_once(app, ana, bo):
    link = await app.members.invite(ana, ana.vault, "viewer")
    await app.accounts.accept(bo, link)
    cy = await arrived(app, "cy")
    with pytest.raises(NotFound):
        await app.accounts.accept(cy, link)
    with pytest.raises(NotFound):
        await app.accounts.join(link, "dee", "a rather long password")
    assert await roles(app, ana) == {"ana": "owner", "bo": "viewer"}


async def test_sec_022_of_two_who_take_up_one_invitation_at_once_one_joins(app, ana, bo):
    link = await app.members.invite(ana, ana.vault, "viewer")
    cy = await arrived(app, "cy")
    answers = await asyncio.gather(app.accounts.accept(bo, link), app.accounts.accept(cy, link), return_exceptions=True)
    assert sorted(isinstance(answer, ArchivistError) for answer in answers) == [False, True]
    assert len(await roles(app, ana)) == 2


async def test_sec_022_an_invitation_ends_after_its_time(app, ana, clock):
    link = await app.members.invite(ana, ana.vault, "viewer")
    clock.move(seconds=LIFE["invitation"].total_seconds())
    cy = await arrived(app, "cy")
    with pytest.raises(NotFound):
        await app.accounts.accept(cy, link)


@pytest.mark.parametrize("now", ["member", "admin", None])
async def test_sec_022_an_invitation_gives_no_more_than_its_maker_may_give_when_it_is_taken_up(app, ana, bo, now):
    bo = await joined(app, ana, bo, ana.vault, "owner")
    link = await app.members.invite(bo, ana.vault, "owner")
    await (app.members.set_role(ana, ana.vault, bo.user, now) if now else app.members.remove(ana, ana.vault, bo.user))
    cy = await arrived(app, "cy")
    with pytest.raises(NotFound):
        await app.accounts.accept(cy, link)
    with pytest.raises(NotFound):
        await app.accounts.join(link, "dee", "a rather long password")
    assert "cy" not in await roles(app, ana)
    assert "dee" not in [user.name for user in await app.accounts.list(OWNER)]


async def test_an_invitation_of_a_disabled_account_leads_nowhere(app, ana, bo):
    bo = await joined(app, ana, bo, ana.vault, "owner")
    link = await app.members.invite(bo, ana.vault, "owner")
    await app.accounts.set_disabled(OWNER, "bo", disabled=True)
    with pytest.raises(NotFound):
        await app.accounts.accept(await arrived(app, "cy"), link)


async def test_open_invitations_are_listed_and_can_be_withdrawn(app, ana, bo, clock):
    link = await app.members.invite(ana, ana.vault, "member")
    [open_] = await app.members.invitations(ana, ana.vault)
    assert (open_.role, open_.by, open_.expires) == ("member", "ana", clock() + LIFE["invitation"])
    assert link not in repr(open_)
    await app.members.withdraw(ana, ana.vault, open_.id)
    assert await app.members.invitations(ana, ana.vault) == []
    with pytest.raises(NotFound):
        await app.accounts.accept(bo, link)
    with pytest.raises(NotFound):
        await app.members.withdraw(ana, ana.vault, open_.id)


async def test_used_and_expired_invitations_are_not_open(app, ana, bo, clock):
    await joined(app, ana, bo, ana.vault, "viewer")
    await app.members.invite(ana, ana.vault, "viewer")
    clock.move(seconds=LIFE["invitation"].total_seconds())
    assert await app.members.invitations(ana, ana.vault) == []


async def test_an_admin_sees_and_withdraws_only_invitations_that_an_admin_can_make(app, ana, bo):
    bo = await joined(app, ana, bo, ana.vault, "admin")
    await app.members.invite(ana, ana.vault, "owner")
    await app.members.invite(ana, ana.vault, "viewer")
    [owners] = [one for one in await app.members.invitations(ana, ana.vault) if one.role == "owner"]
    assert [one.role for one in await app.members.invitations(bo, bo.vault)] == ["viewer"]
    with pytest.raises(NotFound):
        await app.members.withdraw(bo, bo.vault, owners.id)


async def test_an_invitation_cannot_be_withdrawn_through_another_vault(app, ana):
    await app.members.invite(ana, ana.vault, "viewer")
    [open_] = await app.members.invitations(ana, ana.vault)
    elsewhere = await founded(app, ana, "elsewhere")
    with pytest.raises(NotFound):
        await app.members.withdraw(elsewhere, elsewhere.vault, open_.id)
    assert len(await app.members.invitations(ana, ana.vault)) == 1


MAY = {"viewer": (), "member": (), "admin": ("viewer", "member"), "owner": ROLES}


@pytest.mark.parametrize("mine", ROLES)
@pytest.mark.parametrize("theirs", ROLES)
async def test_sec_022_who_may_give_or_take_which_role_is_decided_by_their_own(app, ana, bo, mine, theirs):
    bo = await joined(app, ana, bo, ana.vault, mine)
    cy = await joined(app, ana, await arrived(app, "cy"), ana.vault, theirs)
    acts = [
        partial(app.members.invite, bo, bo.vault, theirs),
        partial(app.members.set_role, bo, bo.vault, cy.user, "viewer"),
        partial(app.members.remove, bo, bo.vault, cy.user),
    ]
    for act in acts:
        if theirs in MAY[mine]:
            await act()
            await app.members.set_role(ana, ana.vault, cy.user, theirs) if act is acts[1] else None
        else:
            with pytest.raises(InsufficientScope):
                await act()
    assert ("cy" in await roles(app, ana)) is (theirs not in MAY[mine])


@pytest.mark.parametrize("mine", ["viewer", "member", "admin"])
async def test_nobody_raises_themselves(app, ana, bo, mine):
    bo = await joined(app, ana, bo, ana.vault, mine)
    with pytest.raises(InsufficientScope):
        await app.members.set_role(bo, bo.vault, bo.user, "owner")
    assert (await roles(app, ana))["bo"] == mine


async def test_sec_022_the_last_owner_cannot_leave_be_removed_or_be_demoted(app, ana, bo):
    await joined(app, ana, bo, ana.vault, "admin")
    with pytest.raises(Conflict, match="no owner"):
        await app.members.remove(ana, ana.vault, ana.user)
    for role in ("viewer", "member", "admin"):
        with pytest.raises(Conflict, match="no owner"):
            await app.members.set_role(ana, ana.vault, ana.user, role)
    assert await roles(app, ana) == {"ana": "owner", "bo": "admin"}


async def test_an_owner_leaves_once_there_is_another_one(app, ana, bo):
    bo = await joined(app, ana, bo, ana.vault, "owner")
    await app.members.remove(ana, ana.vault, ana.user)
    assert await roles(app, bo) == {"bo": "owner"}


class Meeting:
    """Stores whose first change of the control database waits until the other process is about to make its own."""

    def __init__(self, stores: Stores, meeting: asyncio.Barrier) -> None:
        self._stores, self._meeting = stores, meeting

    async def control(self) -> Any:
        return Waiting(await self._stores.control(), self)

    async def wait(self) -> None:
        meeting, self._meeting = self._meeting, None
        if meeting is not None:
            await asyncio.wait_for(meeting.wait(), 5)


class Waiting:
    """A database of such stores."""

    def __init__(self, database: Any, stores: Meeting) -> None:
        self._database, self._stores = database, stores

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def apply(self, batch: Any) -> Any:
        await self._stores.wait()
        return await self._database.apply(batch)


@pytest.fixture
async def twin(app: App, clock: Clock, tmp_path: Path) -> AsyncIterator[App]:
    """Another process on the same folder."""
    data = tmp_path / "data"
    twin = assemble(SqliteStores(data, now=clock), HashedEmbedder(), clock, Settings(data=data))
    await twin.stores.control()
    yield twin
    await twin.close()


ACTS = {
    "removes the other": lambda acting, me, other: acting.remove(me, me.vault, other.user),
    "leaves": lambda acting, me, _other: acting.remove(me, me.vault, me.user),
    "demotes the other": lambda acting, me, other: acting.set_role(me, me.vault, other.user, "member"),
    "steps down": lambda acting, me, _other: acting.set_role(me, me.vault, me.user, "member"),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
async def test_sec_022_of_two_owners_who_act_at_once_in_two_processes_one_stays(app, twin, ana, bo, act):
    bo = await joined(app, ana, bo, ana.vault, "owner")
    meeting = asyncio.Barrier(2)
    one, two = (replace(each.members, stores=Meeting(each.stores, meeting)) for each in (app, twin))
    answers = await asyncio.gather(act(one, ana, bo), act(two, bo, ana), return_exceptions=True)
    assert sorted(isinstance(answer, ArchivistError) for answer in answers) == [False, True], answers
    control = await app.stores.control()
    assert await members.owners(control, ana.vault) == 1


async def test_sec_047_a_token_of_somebody_demoted_writes_nothing_from_the_next_request_on(app, twin, ana, bo, clock):
    bo = await joined(app, ana, bo, ana.vault, "member")
    reader = await connected(app, clock, bo, READ_WRITE)
    for each in (app, twin):
        await each.memories.store(await each.entering.authenticate(reader.access, "vault"), text="as a member")
    await app.members.set_role(ana, ana.vault, bo.user, "viewer")
    for each in (app, twin):
        who = await each.entering.authenticate(reader.access, "vault")
        assert who.scopes == {Scope.READ}
        with pytest.raises(InsufficientScope):
            await each.memories.store(who, text="as a viewer")
    await app.members.set_role(ana, ana.vault, bo.user, "member")
    assert (await twin.entering.authenticate(reader.access, "vault")).scopes == READ_WRITE


async def test_what_somebody_connected_ends_with_their_membership_in_every_process(app, twin, ana, bo, clock):
    bo = await joined(app, ana, bo, ana.vault, "member")
    reader = await connected(app, clock, bo, READ_WRITE)
    _, key = await app.keys.create(bo, name="", scopes=READ_WRITE)
    for each in (app, twin):
        await each.entering.authenticate(reader.access, "vault")
        await each.entering.authenticate(key, "vault")
    await app.members.remove(ana, ana.vault, bo.user)
    for each in (app, twin):
        for credential in (reader.access, key):
            with pytest.raises(Unauthenticated):
                await each.entering.authenticate(credential, "vault")
    assert await app.connections.list(bo) == []


async def test_leaving_one_vault_ends_nothing_in_another(app, ana, bo, clock):
    bo = await joined(app, ana, bo, ana.vault, "member")
    elsewhere = await founded(app, bo, "elsewhere")
    reader = await connected(app, clock, elsewhere, READ_WRITE)
    await app.members.remove(bo, bo.vault, bo.user)
    assert (await app.entering.authenticate(reader.access, "vault")).vault == elsewhere.vault


async def test_sec_181_an_administrator_has_no_say_in_a_vault_that_they_are_not_in(app, ana, bo):
    theirs = await founded(app, bo, "private")
    link = await app.members.invite(theirs, theirs.vault, "viewer")
    [open_] = await app.members.invitations(theirs, theirs.vault)
    assert ana.administrator
    told = set()
    for vault in (theirs.vault, UNKNOWN):
        acts = [
            app.members.list(ana, vault),
            app.members.role(ana, vault),
            app.members.invite(ana, vault, "owner"),
            app.members.invitations(ana, vault),
            app.members.withdraw(ana, vault, open_.id),
            app.members.set_role(ana, vault, bo.user, "viewer"),
            app.members.remove(ana, vault, bo.user),
            app.members.remove(ana, vault, ana.user),
        ]
        for act in acts:
            with pytest.raises(NotFound) as refused:
                await act
            told.add(refused.value.detail)
    assert told == {"there is no such vault"}
    assert await roles(app, theirs) == {"bo": "owner"}
    assert link


ACTIONS = {
    "members invite": lambda app, ana, bo: app.members.invite(ana, ana.vault, "viewer"),
    "members role": lambda app, ana, bo: app.members.set_role(ana, ana.vault, bo.user, "viewer"),
    "members remove": lambda app, ana, bo: app.members.remove(ana, ana.vault, bo.user),
}


@pytest.mark.parametrize(("action", "act"), ACTIONS.items(), ids=ACTIONS)
async def test_sec_232_each_change_of_members_leaves_one_entry_with_who_what_where(app, ana, bo, action, act):
    await joined(app, ana, bo, ana.vault, "member")
    before = await trail(app, ana)
    await act(app, ana, bo)
    [found] = [one for one in await trail(app, ana) if one not in before]
    assert found.action == action
    assert (found.user, found.vault, found.credential_id) == (ana.user, ana.vault, ana.credential_id)
    assert (found.outcome, bool(found.target)) == ("done", True)


async def test_sec_232_joining_and_withdrawing_leave_one_entry_each(app, ana, bo):
    await joined(app, ana, bo, ana.vault, "member")
    await app.members.invite(ana, ana.vault, "viewer")
    [open_] = await app.members.invitations(ana, ana.vault)
    await app.members.withdraw(ana, ana.vault, open_.id)
    found = [(one.action, one.user, one.target) for one in await trail(app, ana)]
    assert found.count(("members join", bo.user, bo.user)) == 1
    assert found.count(("members withdraw", ana.user, open_.id)) == 1


async def test_sec_233_a_change_of_members_whose_entry_cannot_be_written_does_not_happen(app, ana, bo, monkeypatch):
    bo = await joined(app, ana, bo, ana.vault, "member")
    taken = (await trail(app, ana))[0].id
    stuck = replace(app.members, new_id=lambda: taken)
    for act in (
        stuck.invite(ana, ana.vault, "viewer"),
        stuck.set_role(ana, ana.vault, bo.user, "viewer"),
        stuck.remove(ana, ana.vault, bo.user),
    ):
        with pytest.raises(ArchivistError):
            await act
    assert await roles(app, ana) == {"ana": "owner", "bo": "member"}
    assert await app.members.invitations(ana, ana.vault) == []


async def trail(app: App, who: Principal) -> Sequence[Entry]:
    return await audit.recent(await app.stores.control(), who.vault, 100)
