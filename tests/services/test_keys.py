"""API keys as records: made, recognised, ended."""

import pytest

from archivist.app import OWNER
from archivist.domain.access import ALL_SCOPES, Scope
from archivist.domain.errors import InsufficientScope, NotFound, Unauthenticated
from archivist.domain.ids import CONTROL
from archivist.storage import audit

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
