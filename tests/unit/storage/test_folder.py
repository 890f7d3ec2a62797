"""The data folder is private, local and writable, or one line says what to do."""

import stat

import pytest

from archivist.domain.errors import Refused
from archivist.storage.sqlite import folder

MOUNTS = (
    "22 27 0:21 / / rw,relatime - ext4 /dev/vda rw",
    "30 22 0:40 / /srv/share rw - nfs4 server:/ rw",
    "31 22 0:41 / /srv/share/local rw shared:1 - xfs /dev/vdb rw",
    "32 22 0:42 / /my\\040disk rw - fuse.sshfs host:/ rw",
)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/srv/share/data", "nfs4"),
        ("/srv/share/local/data", "xfs"),
        ("/srv/shared", "ext4"),
        ("/my disk/a", "fuse.sshfs"),
    ],
)
def test_the_innermost_mount_decides_the_file_system(tmp_path, path, kind):
    assert folder.file_system(tmp_path.__class__(path), MOUNTS) == kind


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "fuse", "fuse.sshfs", "fuseblk"]
)
def test_a_network_file_system_is_refused(tmp_path, kind):
    with pytest.raises(Refused, match=rf"network file system \({kind}\).*local folder"):
        folder.prepare(tmp_path / "data", [f"1 0 0:1 / / rw - {kind} x rw"])


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "apfs"])
def test_a_local_file_system_serves(tmp_path, kind):
    folder.prepare(tmp_path / "data", [f"1 0 0:1 / / rw - {kind} x rw"])


def test_folders_and_files_are_private_whatever_they_were(tmp_path):
    data = tmp_path / "a" / "data"
    (data / "vaults").mkdir(parents=True)
    for path in (data / "control.db", data / "vaults" / "x.db-wal"):
        path.touch(0o644)
    data.chmod(0o755)
    folder.prepare(data)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (data, *data.rglob("*"))}
    assert modes == {"data": 0o700, "vaults": 0o700, "control.db": 0o600, "x.db-wal": 0o600}


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "data").write_text("mine")
    with pytest.raises(Refused, match="is a file; choose another"):
        folder.prepare(tmp_path / "data")
    assert (tmp_path / "data").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_refused_with_a_mend():
    with pytest.raises(Refused, match="cannot be used"):
        folder.prepare(folder.Path("/proc/archivist"))


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    def full(_path):
        raise OSError(folder.errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folder.connections, "sync", full)
    with pytest.raises(Refused, match="the disk is full; free some space"):
        folder.prepare(tmp_path / "data")
    assert not list((tmp_path / "data").glob(".probe*"))
