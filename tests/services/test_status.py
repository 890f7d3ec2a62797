"""What status says."""

import pytest

from archivist.domain.access import Scope
from archivist.domain.errors import InsufficientScope
from archivist.services.deletion import DELETE_SELECTED

pytestmark = pytest.mark.anyio


async def test_status_counts_what_is_there_after_every_change(app, me):
    assert (await app.status.of(me)).memories == 0
    await app.memories.store(me, text="four letter words")
    status = await app.status.of(me)
    assert (status.memories, status.tokens, dict(status.tiers)) == (1, 5, {1: 1, 2: 0, 3: 0})
    ids = [memory.id for memory in await app.memories.recent(me, 9)]
    await app.deletion.delete(me, ids, DELETE_SELECTED)
    assert (await app.status.of(me)).memories == 0


async def test_status_names_the_vault_by_a_reference_that_is_no_id_and_differs_by_credential(app, me, other):
    mine, theirs = await app.status.of(me), await app.status.of(other)
    assert mine.vault_ref != theirs.vault_ref
    assert me.vault not in mine.vault_ref
    assert (await app.status.of(me)).vault_ref == mine.vault_ref


async def test_status_says_which_scopes_and_which_embedder_are_active(app, me):
    status = await app.status.of(me.narrowed({Scope.READ}))
    assert status.scopes == ("memories:read",)
    assert (status.embedder, status.mirror.state, status.erasing) == ("ready", "current", False)
    assert status.embedder_reason


async def test_status_needs_read(app, me):
    with pytest.raises(InsufficientScope):
        await app.status.of(me.narrowed({Scope.WRITE, Scope.DELETE, Scope.REFLECT}))
