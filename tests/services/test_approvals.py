"""An owner is asked before a program empties a vault: where it is wanted, by whom it is decided, and once."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from archivist.app import OWNER
from archivist.domain.access import Scope
from archivist.domain.approvals import LIFE
from archivist.domain.errors import ApprovalRequired, ConfirmationRequired, InsufficientScope, NotFound
from archivist.services.deletion import DELETE_ALL
from archivist.storage import approvals as stored
from tests.people import arrived, founded, joined, visiting

pytestmark = pytest.mark.anyio
PARAMETERS = {"confirmation": DELETE_ALL}


@pytest.fixture
async def ana(app):
    """The owner of a vault with three memories in which an owner is asked, in a browser."""
    ana = await founded(app, await arrived(app, "Ana"), "Work")
    for number in range(3):
        await app.memories.store(ana, text=f"fact {number}")
    await app.approvals.choose(ana, ana.vault, "on")
    return ana


@pytest.fixture
async def key(ana):
    """A key of hers: what a program has."""
    return replace(ana, credential="key", credential_id="0193b000-0000-7000-8000-0000000000c1")


async def asked(app, who):
    with pytest.raises(ApprovalRequired) as caught:
        await app.deletion.forget_all(who, DELETE_ALL)
    return caught.value


async def total(app, who):
    return (await app.status.of(who)).memories


async def acts_of(app, ana):
    page = await app.trail.of_vault(ana, ana.vault)
    return [act.action for act in page.entries if act.action.partition(" ")[0] in ("approvals", "vaults")]


async def test_nobody_is_asked_unless_the_owner_wants_it(app, ana, key):
    await app.approvals.choose(ana, ana.vault, "off")
    assert (await app.deletion.forget_all(key, DELETE_ALL)).memories == 3


async def test_a_new_vault_asks_nobody(app, ana):
    assert (await app.vaults.create(ana, "fresh", "project")).approval == "off"
    assert [one.approval for one in await app.vaults.list(ana)].count("on") == 1


async def test_nothing_is_touched_until_an_owner_has_approved_and_then_it_goes_through_once(app, ana, key, clock):
    error = await asked(app, key)
    assert await total(app, ana) == 3
    assert error.link == f"http://127.0.0.1:8765/app/vaults/{ana.vault}/approvals/{error.approval}"
    assert (error.expires, error.retryable) == (clock.now + LIFE, True)
    await app.approvals.approve(ana, ana.vault, error.approval)
    assert (await app.deletion.forget_all(key, DELETE_ALL)).memories == 3
    await app.memories.store(ana, text="another")
    assert (await asked(app, key)).approval != error.approval
    assert await total(app, ana) == 1


async def test_the_same_caller_is_given_the_same_question_while_it_is_open(app, ana, key, clock):
    first = await asked(app, key)
    clock.move(minutes=9)
    assert (await asked(app, key)).approval == first.approval
    clock.move(minutes=1)
    assert (await asked(app, key)).approval != first.approval


async def test_a_wrong_phrase_asks_nobody(app, ana, key):
    with pytest.raises(ConfirmationRequired):
        await app.deletion.forget_all(key, "delete all memories")
    assert await app.approvals.pending(ana, ana.vault) == []


async def test_people_themselves_are_not_asked_and_stdio_is(app, clock):
    local = await app.local()
    await app.approvals.choose(OWNER, local.vault, "on")
    await app.memories.store(local, text="a fact")
    model, other = await app.local(by="stdio"), await app.local(by="stdio")
    error = await asked(app, model)
    ana = await arrived(app, "Ana")
    await app.approvals.approve(ana, local.vault, error.approval)
    await asked(app, other)
    assert (await app.deletion.forget_all(model, DELETE_ALL)).memories == 1
    assert (await app.deletion.forget_all(local, DELETE_ALL)).memories == 0


async def test_an_approval_is_for_the_credential_and_the_vault_that_asked(app, ana, key):
    await app.approvals.approve(ana, ana.vault, (await asked(app, key)).approval)
    elsewhere = await founded(app, ana, "elsewhere")
    await app.approvals.choose(ana, elsewhere.vault, "page")
    for other in (
        replace(key, credential_id="0193b000-0000-7000-8000-0000000000c2"),
        replace(key, user=(await arrived(app, "Bob")).user),
        replace(key, vault=elsewhere.vault),
    ):
        await asked(app, other)
    assert await total(app, ana) == 3
    assert (await app.deletion.forget_all(key, DELETE_ALL)).memories == 3


async def test_of_many_calls_with_one_approval_one_gets_through(app, ana, key):
    await app.approvals.approve(ana, ana.vault, (await asked(app, key)).approval)
    done = await asyncio.gather(*(app.deletion.forget_all(key, DELETE_ALL) for _ in range(8)), return_exceptions=True)
    assert [type(one).__name__ for one in done].count("ApprovalRequired") == 7


async def test_an_approval_runs_out_ten_minutes_after_the_question(app, ana, key, clock):
    error = await asked(app, key)
    await app.approvals.approve(ana, ana.vault, error.approval)
    clock.now = error.expires - timedelta(microseconds=1)
    await app.approvals.shown(ana, ana.vault, error.approval)
    clock.now = error.expires
    await asked(app, key)
    assert await total(app, ana) == 3


async def test_no_program_and_no_command_approves_anything(app, ana, key):
    error = await asked(app, key)
    others = [replace(ana, credential=form) for form in ("cli", "stdio", "oauth", "account")]
    for who in (key, *others):
        with pytest.raises(InsufficientScope):
            await app.approvals.approve(who, ana.vault, error.approval)
    await asked(app, key)


@pytest.mark.parametrize("role", ["viewer", "member", "admin", "owner"])
async def test_owners_and_admins_decide_and_others_see_nothing(app, ana, key, role):
    error = await asked(app, key)
    bob = await joined(app, ana, await arrived(app, "Bob"), ana.vault, role)
    if role in ("admin", "owner"):
        question = await app.approvals.shown(bob, ana.vault, error.approval)
        assert (question.by, question.memories, question.vault.name) == ("Ana", 3, "Work")
        assert [one.id for one in await app.approvals.pending(bob, ana.vault)] == [error.approval]
        await app.approvals.approve(bob, ana.vault, error.approval)
        assert (await app.deletion.forget_all(key, DELETE_ALL)).memories == 3
        return
    assert await app.approvals.pending(bob, ana.vault) == []
    for act in (app.approvals.shown, app.approvals.approve, app.approvals.refuse):
        with pytest.raises(NotFound):
            await act(bob, ana.vault, error.approval)
    await asked(app, key)


async def test_spent_refused_expired_foreign_and_unknown_questions_read_the_same(app, ana, key, clock):
    used, said = await asked(app, key), []
    await app.approvals.approve(ana, ana.vault, used.approval)
    await app.deletion.forget_all(key, DELETE_ALL)
    refused = await asked(app, key)
    await app.approvals.refuse(ana, ana.vault, refused.approval)
    stranger = await arrived(app, "Bob")
    open_ = await asked(app, key)
    cases = [(ana, used.approval), (ana, refused.approval), (stranger, open_.approval), (ana, "unknown")]
    for moved in (0, 10):
        clock.move(minutes=moved)
        for who, id in [*cases, *([(ana, open_.approval)] if moved else [])]:
            for act in (app.approvals.shown, app.approvals.approve, app.approvals.refuse):
                with pytest.raises(NotFound) as caught:
                    await act(who, ana.vault, id)
                said.append(caught.value.detail)
    assert len(set(said)) == 1


async def test_an_approval_that_was_not_used_yet_is_taken_back(app, ana, key):
    error = await asked(app, key)
    await app.approvals.approve(ana, ana.vault, error.approval)
    await app.approvals.refuse(ana, ana.vault, error.approval)
    assert (await asked(app, key)).approval != error.approval
    assert await total(app, ana) == 3


async def test_only_an_owner_decides_whether_owners_are_asked(app, ana):
    bob = await joined(app, ana, await arrived(app, "Bob"), ana.vault, "admin")
    with pytest.raises(InsufficientScope):
        await app.approvals.choose(bob, ana.vault, "off")
    with pytest.raises(NotFound):
        await app.approvals.choose(await arrived(app, "Cy"), ana.vault, "off")
    assert (await app.vaults.held(ana, ana.vault)).vault.approval == "on"


async def test_every_act_is_in_the_trail_of_the_vault(app, ana, key):
    error = await asked(app, key)
    await app.approvals.approve(ana, ana.vault, error.approval)
    await app.deletion.forget_all(key, DELETE_ALL)
    await app.approvals.refuse(ana, ana.vault, (await asked(app, key)).approval)
    assert sorted(await acts_of(app, ana)) == sorted([
        "vaults approval on",
        "approvals ask",
        "approvals approve",
        "approvals use",
        "approvals ask",
        "approvals refuse",
    ])  # fmt: skip


async def test_an_answer_in_the_client_counts_once_and_only_where_the_vault_allows_it(app, ana, key):
    error = await asked(app, key)
    assert error.in_client
    put = await app.approvals.put(key, error.approval, "form", PARAMETERS)
    assert (put.vault, put.memories) == ("Work", 3)
    await app.approvals.choose(ana, ana.vault, "page")
    with pytest.raises(NotFound):
        await app.approvals.answered(key, put.state, PARAMETERS, yes=True)
    assert not (await asked(app, key)).in_client
    await app.approvals.choose(ana, ana.vault, "on")
    await app.approvals.answered(key, put.state, PARAMETERS, yes=True)
    assert (await app.deletion.forget_all(key, DELETE_ALL)).memories == 3


async def test_a_no_in_the_client_ends_the_question(app, ana, key):
    error = await asked(app, key)
    put = await app.approvals.put(key, error.approval, "form", PARAMETERS)
    await app.approvals.answered(key, put.state, PARAMETERS, yes=False)
    with pytest.raises(NotFound):
        await app.approvals.approve(ana, ana.vault, error.approval)
    with pytest.raises(NotFound):
        await app.approvals.answered(key, put.state, PARAMETERS, yes=True)
    assert await total(app, ana) == 3


async def test_a_page_that_was_opened_through_the_client_decides_and_not_the_word_of_the_client(app, ana, key):
    await app.approvals.choose(ana, ana.vault, "page")
    error = await asked(app, key)
    put = await app.approvals.put(key, error.approval, "url", PARAMETERS)
    await app.approvals.answered(key, put.state, PARAMETERS, yes=True)
    assert (await asked(app, key)).approval == error.approval
    await app.approvals.approve(await visiting(app, ana.user), ana.vault, error.approval)
    await app.approvals.answered(key, put.state, PARAMETERS, yes=True)
    assert (await app.deletion.forget_all(key, DELETE_ALL)).memories == 3
    with pytest.raises(NotFound):
        await app.approvals.answered(key, put.state, PARAMETERS, yes=True)


async def test_who_may_not_delete_asks_nobody(app, ana, key):
    with pytest.raises(InsufficientScope):
        await app.approvals.require(replace(key, scopes=frozenset({Scope.READ, Scope.WRITE})))
    assert await app.approvals.pending(ana, ana.vault) == []


async def test_old_questions_are_cleared_away(app, ana, key, clock):
    error, control = await asked(app, key), await app.stores.control()
    await app.tidying.tidy()
    assert await stored.find(control, ana.vault, error.approval)
    clock.move(days=2)
    await app.tidying.tidy()
    assert await stored.find(control, ana.vault, error.approval) is None


async def test_an_approval_says_who_asked_and_who_agreed(app, ana, key):
    error = await asked(app, key)
    await app.approvals.approve(ana, ana.vault, error.approval)
    found = await stored.find(await app.stores.control(), ana.vault, error.approval)
    assert (found.user, found.approver, found.credential_id) == (ana.user, ana.user, key.credential_id)
