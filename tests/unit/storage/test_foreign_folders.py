"""A data folder that holds more, or less, than ours does."""

import shutil
import stat

import pytest

from archivist.domain.errors import Refused, Unavailable
from archivist.storage import heads
from archivist.storage.sqlite import folder
from archivist.storage.sqlite.stores import SqliteStores
from tests.builders import an_id

pytestmark = pytest.mark.anyio


async def test_a_folder_that_others_use_too_is_refused_and_left_as_it_is(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "letter.txt").write_text("mine")
    shared.chmod(0o755)
    with pytest.raises(Refused, match="holds other files"):
        await SqliteStores(shared).control()
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    assert [path.name for path in shared.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("name", ["archivist.toml", "models", "lost+found"])
def test_a_folder_prepared_for_us_is_taken_and_made_private(tmp_path, name):
    data = tmp_path / "data"
    data.mkdir()
    (data / name).mkdir()
    data.chmod(0o755)
    folder.prepare(data)
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
async def test_vaults_without_their_control_file_are_not_passed_over(tmp_path, left):
    stores = SqliteStores(tmp_path)
    await stores.create(an_id(1))
    await stores.close()
    for path in tmp_path.glob("control.db*"):
        path.unlink()
    if left == "an empty file":
        (tmp_path / "control.db").touch()
    with pytest.raises(Refused, match="archivist repair"):
        await SqliteStores(tmp_path).control()


@pytest.mark.parametrize("inside", ["copy", "vaults/copy", "."])
async def test_a_backup_into_the_data_folder_itself_is_refused(tmp_path, inside):
    stores = SqliteStores(tmp_path)
    await stores.control()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Refused):
        await stores.backup(tmp_path / inside)
    assert sorted(tmp_path.rglob("*")) == before
    await stores.close()


@pytest.mark.parametrize("away", ["moved", "deleted"])
async def test_nothing_is_acknowledged_into_a_folder_that_is_gone(tmp_path, away):
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    stores = SqliteStores(data)
    control = await stores.control()
    await control.apply([heads.make(an_id(1), b"s" * 32)])
    data.rename(elsewhere)
    if away == "deleted":
        shutil.rmtree(elsewhere)
    with pytest.raises(Unavailable, match="check that the data folder is there"):
        await control.apply([heads.make(an_id(2), b"s" * 32)])
    if away == "moved":
        elsewhere.rename(data)
        await control.apply([heads.make(an_id(3), b"s" * 32)])
        assert [(await heads.read(control, id)).head.epoch for id in (an_id(1), an_id(3))] == [1, 1]
    await stores.close()
