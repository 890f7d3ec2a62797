"""API keys as records: made, recognised, renewed, ended."""

import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from archivist.app import OWNER, assemble
from archivist.domain import keys as rules
from archivist.domain.access import ALL_SCOPES, Scope
from archivist.domain.errors import ArchivistError, InsufficientScope, InvalidArgument, NotFound, Unauthenticated
from archivist.embedders.hashed import HashedEmbedder
from archivist.services.keys import OVERLAP
from archivist.settings import Settings
from archivist.storage import audit
from archivist.storage.sqlite.stores import SqliteStores
from tests.people import arrived, founded, joined

pytestmark = pytest.mark.anyio
READ_WRITE = frozenset({Scope.READ, Scope.WRITE})


async def test_a_key_opens_its_vault_with_its_scopes_and_no_more(app, me):
    key, secret = await app.keys.create(me, name="laptop", scopes=READ_WRITE)
    who = await app.entering.authenticate(secret, "vault")
    assert (who.vault, who.scopes, who.credential, who.credential_id) == (me.vault, READ_WRITE, "key", key.id)


async def test_a_key_for_reading_alone_has_the_read_only_form(app, me):
    _, secret = await app.keys.create(me, name="", scopes=frozenset({Scope.READ}))
    assert secret.startswith("mk_ro_")


async def test_a_revoked_key_is_refused_at_once(app, me):
    key, secret = await app.keys.create(me, name="", scopes=READ_WRITE)
    await app.entering.authenticate(secret, "vault")
    await app.keys.revoke(me, key.id)
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(secret, "vault")


async def test_an_expired_key_is_refused(app, me, clock):
    _, secret = await app.keys.create(me, name="", scopes=READ_WRITE, expires=clock().replace(hour=13))
    await app.entering.authenticate(secret, "vault")
    clock.move(hours=1)
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(secret, "vault")


async def test_sec_121_the_data_folder_never_holds_a_key(app, me, tmp_path):
    secrets = [(await app.keys.create(me, name="", scopes=ALL_SCOPES))[1] for _ in range(5)]
    await app.close()
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert held
    for secret in secrets:
        assert secret.encode() not in held
        assert secret.removeprefix("mk_")[8:40].encode() not in held


async def test_sec_126_a_key_cannot_make_list_or_end_keys_or_vaults(app, me):
    _, secret = await app.keys.create(me, name="", scopes=ALL_SCOPES)
    who = await app.entering.authenticate(secret, "vault")
    with pytest.raises(InsufficientScope):
        await app.keys.create(who, name="", scopes=frozenset({Scope.READ}))
    with pytest.raises(InsufficientScope):
        await app.keys.list(who)
    with pytest.raises(InsufficientScope):
        await app.keys.revoke(who, who.credential_id)
    with pytest.raises(InsufficientScope):
        await app.vaults.create(who, "mine", "project")


async def test_unknown_ids_cannot_be_revoked(app, me):
    with pytest.raises(NotFound):
        await app.keys.revoke(me, "nope")


async def test_a_forgotten_key_is_gone_from_the_list(app, me):
    key, secret = await app.keys.create(me, name="", scopes=READ_WRITE)
    await app.keys.forget(OWNER, key.id)
    assert await app.keys.list(OWNER) == []
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(secret, "vault")


async def test_the_trail_of_the_control_database_holds_the_whole_life_of_a_key(app, me):
    key, _ = await app.keys.create(me, name="", scopes=READ_WRITE)
    await app.keys.revoke(OWNER, key.id)
    await app.keys.forget(OWNER, key.id)
    trail = [act.action for act in await audit.recent(await app.stores.control(), me.vault, 9) if act.target == key.id]
    assert sorted(trail) == ["keys create", "keys forget", "keys revoke"]


async def test_sec_125_a_key_works_for_its_own_vault_only(app, me, other):
    await app.memories.store(other, text="the other vault's secret")
    _, secret = await app.keys.create(me, name="", scopes=ALL_SCOPES)
    who = await app.entering.authenticate(secret, "vault")
    assert (await app.search.search(who, query="secret")).rows == []


async def test_sec_128_both_keys_work_in_the_overlap_and_the_old_one_not_after_it(app, me, clock):
    old, first = await app.keys.create(me, name="laptop", scopes=READ_WRITE)
    new, second = await app.keys.rotate(me, old.id)
    assert (new.name, new.vault, new.scopes, new.id != old.id) == (old.name, old.vault, old.scopes, True)
    clock.move(seconds=OVERLAP.total_seconds() - 1)
    for secret in (first, second):
        assert (await app.entering.authenticate(secret, "vault")).scopes == READ_WRITE
    clock.move(seconds=1)
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(first, "vault")
    assert (await app.entering.authenticate(second, "vault")).credential_id == new.id


async def test_the_overlap_never_lets_a_key_outlive_its_end(app, me, clock):
    old, first = await app.keys.create(me, name="", scopes=READ_WRITE, expires=clock() + timedelta(hours=1))
    new, second = await app.keys.rotate(me, old.id)
    assert new.expires == old.expires
    clock.move(hours=1)
    for secret in (first, second):
        with pytest.raises(Unauthenticated):
            await app.entering.authenticate(secret, "vault")


async def test_a_revoked_or_expired_key_cannot_be_renewed(app, me, clock):
    revoked, _ = await app.keys.create(me, name="", scopes=READ_WRITE)
    expired, _ = await app.keys.create(me, name="", scopes=READ_WRITE, expires=clock() + timedelta(hours=1))
    await app.keys.revoke(me, revoked.id)
    clock.move(hours=1)
    for key in (revoked, expired):
        with pytest.raises(NotFound):
            await app.keys.rotate(me, key.id)


async def test_sec_128_a_revocation_in_the_overlap_ends_the_old_key_and_leaves_the_new_one(app, me):
    old, first = await app.keys.create(me, name="", scopes=READ_WRITE)
    _, second = await app.keys.rotate(me, old.id)
    await app.keys.revoke(me, old.id)
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(first, "vault")
    assert (await app.entering.authenticate(second, "vault")).vault == me.vault


@pytest.mark.parametrize("hours", [0, -1])
async def test_an_end_that_is_not_ahead_is_refused(app, me, clock, hours):
    with pytest.raises(InvalidArgument, match="expires"):
        await app.keys.create(me, name="", scopes=READ_WRITE, expires=clock() + timedelta(hours=hours))


async def test_sec_023_a_key_says_when_it_was_first_and_last_used(app, me, clock):
    key, _ = await app.keys.create(me, name="laptop", scopes=READ_WRITE)
    [listed] = await app.keys.list(OWNER)
    assert listed.seen is None
    who = replace(me, credential="key", credential_id=key.id)
    first = clock()
    app.counting.note(who, "store_memory")
    await app.counting.flush()
    clock.move(hours=2)
    app.counting.note(who, "search_memories")
    app.counting.note(who, "delete_memories", "insufficient_scope")
    await app.counting.flush()
    [listed] = await app.keys.list(OWNER)
    assert (listed.seen.first, listed.seen.last) == (first, clock())


async def test_a_refused_try_is_no_use_of_a_key(app, me):
    key, _ = await app.keys.create(me, name="", scopes=READ_WRITE)
    app.counting.note(replace(me, credential="key", credential_id=key.id), "delete_memories", "insufficient_scope")
    await app.counting.flush()
    assert [one.seen for one in await app.keys.list(OWNER)] == [None]


CAPS = {"viewer": {Scope.READ}, "member": {Scope.READ, Scope.WRITE, Scope.REFLECT}, "admin": ALL_SCOPES}


@pytest.mark.parametrize(("role", "most"), CAPS.items())
async def test_sec_047_nobody_makes_a_key_for_more_than_their_role_allows(app, role, most):
    ana, bo = await arrived(app, "ana"), await arrived(app, "bo")
    ana = await founded(app, ana, "shared")
    bo = await joined(app, ana, bo, ana.vault, role)
    _, secret = await app.keys.create(bo, name="", scopes=frozenset(most))
    assert (await app.entering.authenticate(secret, "vault")).scopes == most
    for scope in ALL_SCOPES - most:
        with pytest.raises(InsufficientScope):
            await app.keys.create(bo, name="", scopes=frozenset({Scope.READ, scope}))


async def test_nobody_makes_a_key_for_a_vault_that_they_are_not_in(app):
    ana, bo = await arrived(app, "ana"), await arrived(app, "bo")
    ana = await founded(app, ana, "mine")
    for vault in (ana.vault, "0193b000-0000-7000-8000-00000000000b"):
        with pytest.raises(InsufficientScope) as refused:
            await app.keys.create(replace(bo, vault=vault), name="", scopes=frozenset({Scope.READ}))
        assert refused.value.detail == "a key can have at most the rights that you have in this vault"


async def test_sec_047_a_key_of_somebody_demoted_is_narrower_at_once(app):
    ana, bo = await arrived(app, "ana"), await arrived(app, "bo")
    ana = await founded(app, ana, "shared")
    bo = await joined(app, ana, bo, ana.vault, "member")
    _, secret = await app.keys.create(bo, name="", scopes=READ_WRITE)
    who = await app.entering.authenticate(secret, "vault")
    await app.memories.store(who, text="as a member")
    await app.members.set_role(ana, ana.vault, bo.user, "viewer")
    who = await app.entering.authenticate(secret, "vault")
    assert who.scopes == {Scope.READ}
    with pytest.raises(InsufficientScope):
        await app.memories.store(who, text="as a viewer")


async def test_sec_125_a_key_dies_with_the_membership_of_its_owner(app):
    ana, bo = await arrived(app, "ana"), await arrived(app, "bo")
    ana = await founded(app, ana, "shared")
    bo = await joined(app, ana, bo, ana.vault, "member")
    _, secret = await app.keys.create(bo, name="", scopes=READ_WRITE)
    await app.entering.authenticate(secret, "vault")
    await app.members.remove(ana, ana.vault, bo.user)
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(secret, "vault")
    await joined(app, ana, bo, ana.vault, "member")
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(secret, "vault")


async def test_sec_125_a_key_of_a_disabled_account_opens_nothing(app):
    await arrived(app, "ana")
    bo = await founded(app, await arrived(app, "bo"), "mine")
    _, secret = await app.keys.create(bo, name="", scopes=READ_WRITE)
    _, account = await app.keys.create(bo, name="", scopes=READ_WRITE, kind="account")
    await app.entering.authenticate(secret, "vault")
    await app.entering.account(account)
    await app.accounts.set_disabled(OWNER, "bo", disabled=True)
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(secret, "vault")
    with pytest.raises(Unauthenticated):
        await app.entering.account(account)


async def test_a_key_of_somebody_else_cannot_be_ended_or_renewed_and_looks_like_none(app):
    ana, bo = await founded(app, await arrived(app, "ana"), "mine"), await arrived(app, "bo")
    key, secret = await app.keys.create(ana, name="", scopes=READ_WRITE)
    for act in (app.keys.revoke, app.keys.rotate, app.keys.forget):
        told = set()
        for id in (key.id, "0193b000-0000-7000-8000-0000000000fe"):
            with pytest.raises(NotFound) as refused:
                await act(bo, id)
            told.add(refused.value.detail)
        assert len(told) == 1
    await app.entering.authenticate(secret, "vault")


async def minting(app, scopes=ALL_SCOPES, name="ana"):
    """An account key of somebody new: who they are, and what the key's caller is."""
    person = await founded(app, await arrived(app, name), "home")
    _, secret = await app.keys.create(person, name="backend", scopes=scopes, kind="account")
    return person, await app.entering.account(secret)


async def test_sec_126_an_account_key_opens_no_vault(app):
    person = await founded(app, await arrived(app, "ana"), "home")
    _, secret = await app.keys.create(person, name="backend", scopes=ALL_SCOPES, kind="account")
    for toolset in ("vault", "coding"):
        with pytest.raises(Unauthenticated):
            await app.entering.authenticate(secret, toolset)


async def test_sec_126_an_ordinary_key_is_no_account_key(app, me):
    _, secret = await app.keys.create(me, name="", scopes=ALL_SCOPES)
    with pytest.raises(Unauthenticated):
        await app.entering.account(secret)
    who = await app.entering.authenticate(secret, "vault")
    for asked in (
        app.keys.mint(who, name="x", vault=None, scopes=None),
        app.keys.minted(who),
        app.keys.unmint(who, who.credential_id),
    ):
        with pytest.raises(InsufficientScope):
            await asked


async def test_a_minted_key_opens_a_vault_of_its_own(app):
    _, backend = await minting(app)
    first, one = await app.keys.mint(backend, name="user:1", vault=None, scopes=None)
    _, two = await app.keys.mint(backend, name="user:2", vault=None, scopes=None)
    of_one, of_two = [await app.entering.authenticate(secret, "vault") for secret in (one, two)]
    assert of_one.vault != of_two.vault
    assert of_one.scopes == READ_WRITE
    await app.memories.store(of_one, text="the first user's secret")
    assert (await app.search.search(of_two, query="secret")).rows == []
    again, _ = await app.keys.mint(backend, name="user:1 phone", vault=first.vault, scopes=frozenset({Scope.READ}))
    assert (again.vault, again.scopes) == (first.vault, {Scope.READ})


async def test_sec_126_an_account_key_hands_on_no_more_than_its_own_rights(app):
    _, backend = await minting(app, frozenset({Scope.READ}))
    _, secret = await app.keys.mint(backend, name="user:1", vault=None, scopes=None)
    assert (await app.entering.authenticate(secret, "vault")).scopes == {Scope.READ}
    for scopes in (READ_WRITE, frozenset({Scope.DELETE}), frozenset()):
        with pytest.raises(InsufficientScope):
            await app.keys.mint(backend, name="user:2", vault=None, scopes=scopes)
    vaults = await app.vaults.list(replace(backend, credential="session"))
    assert {vault.name for vault in vaults} == {"home", "user:1"}


async def test_keys_without_a_name_are_all_called_the_same_and_open_different_vaults(app):
    _, backend = await minting(app)
    made = [(await app.keys.mint(backend, name=None, vault=None, scopes=None))[0] for _ in range(3)]
    assert {key.name for key in made} == {"New Key"}
    assert len({key.vault for key in made}) == 3


async def test_sec_126_an_account_key_mints_for_vaults_of_its_owner_only(app):
    ana, backend = await minting(app)
    bo = await founded(app, await arrived(app, "bo"), "theirs")
    await joined(app, bo, ana, bo.vault, "admin")
    for vault in (bo.vault, ana.vault, "0193b000-0000-7000-8000-00000000000b"):
        with pytest.raises(NotFound, match="vault_ref: there is no such vault"):
            await app.keys.mint(backend, name="x", vault=vault, scopes=None)


async def test_sec_126_an_account_key_sees_and_ends_what_was_minted_and_nothing_else(app):
    ana, backend = await minting(app)
    elsewhere = await founded(app, ana, "elsewhere")
    own, own_secret = await app.keys.create(elsewhere, name="by hand", scopes=READ_WRITE)
    minted, secret = await app.keys.mint(backend, name="user:1", vault=None, scopes=None)
    assert [one.key.id for one in await app.keys.minted(backend)] == [minted.id]
    for id in (own.id, backend.credential_id, "0193b000-0000-7000-8000-0000000000fe"):
        with pytest.raises(NotFound):
            await app.keys.unmint(backend, id)
    await app.keys.unmint(backend, minted.id)
    with pytest.raises(Unauthenticated):
        await app.entering.authenticate(secret, "vault")
    await app.entering.authenticate(own_secret, "vault")


async def test_sec_127_of_a_key_only_its_first_characters_are_kept(app, me):
    key, secret = await app.keys.create(me, name="laptop", scopes=READ_WRITE)
    assert secret.startswith(key.start)
    assert len(key.start) == rules.SHOWN
    assert secret not in repr(await app.keys.list(OWNER))


async def test_sec_232_making_renewing_and_ending_a_key_leave_one_entry_each(app, me):
    key, _ = await app.keys.create(me, name="laptop", scopes=READ_WRITE)
    new, _ = await app.keys.rotate(me, key.id)
    await app.keys.revoke(me, key.id)
    found = await audit.recent(await app.stores.control(), me.vault, 9)
    assert sorted((one.action, one.target) for one in found) == [
        ("keys create", key.id), ("keys revoke", key.id), ("keys rotate", new.id),
    ]  # fmt: skip
    assert {(one.user, one.credential, one.credential_id, one.outcome) for one in found} == {
        (me.user, me.credential, me.credential_id, "done")
    }


async def test_sec_233_a_change_of_keys_whose_entry_cannot_be_written_does_not_happen(app, me):
    key, secret = await app.keys.create(me, name="laptop", scopes=READ_WRITE)
    [entry] = await audit.recent(await app.stores.control(), me.vault, 9)
    stuck = replace(app.keys, new_id=lambda: entry.id)
    for act in (
        stuck.create(me, name="second", scopes=READ_WRITE),
        stuck.rotate(me, key.id),
        stuck.revoke(me, key.id),
        stuck.forget(me, key.id),
    ):
        with pytest.raises(ArchivistError):
            await act
    assert [one.key for one in await app.keys.list(me)] == [key]
    assert await app.entering.authenticate(secret, "vault")


async def test_sec_128_a_revocation_is_on_the_disk_once_it_was_answered(app, me, tmp_path, clock):
    key, secret = await app.keys.create(me, name="", scopes=READ_WRITE)
    await app.keys.revoke(me, key.id)
    copy = tmp_path / "as it was when the power failed"
    shutil.copytree(tmp_path / "data", copy)
    after = assemble(SqliteStores(copy, now=clock), HashedEmbedder(), clock, Settings(data=copy))
    try:
        with pytest.raises(Unauthenticated):
            await after.entering.authenticate(secret, "vault")
        assert [one.key.revoked for one in await after.keys.list(OWNER)] == [clock()]
    finally:
        await after.close()
