"""Vaults: making and finding them."""

import asyncio

import pytest

from archivist.app import OWNER
from archivist.domain.errors import Conflict, InvalidArgument, NotFound

pytestmark = pytest.mark.anyio


async def test_a_new_vault_is_listed_and_empty(app):
    vault = await app.vaults.create(OWNER, " Garden ", "project")
    assert [(one.id, one.name) for one in await app.vaults.list(OWNER)] == [(vault.id, "Garden")]
    assert (await app.status.of(await app.local("garden"))).memories == 0


@pytest.mark.parametrize("twin", ["Garden", "GARDEN", " garden", "\uff27arden"])
async def test_two_vaults_of_one_person_never_share_a_name(app, twin):
    await app.vaults.create(OWNER, "Garden", "project")
    with pytest.raises(Conflict, match="already"):
        await app.vaults.create(OWNER, twin, "project")


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb", "a\x00b"])
async def test_a_name_outside_its_range_is_refused(app, name):
    with pytest.raises(InvalidArgument, match="name: must be"):
        await app.vaults.create(OWNER, name, "project")


async def test_racing_first_uses_make_one_personal_vault(app):
    who = await asyncio.gather(*(app.local() for _ in range(10)))
    assert len({one.vault for one in who}) == 1
    assert [vault.kind for vault in await app.vaults.list(OWNER)] == ["personal"]


async def test_a_vault_that_there_is_not_is_named_as_such(app):
    with pytest.raises(NotFound, match="vaults list"):
        await app.local("nowhere")
