"""The data folder: where it may lie, who may look into it, and what is wrong with it in one line."""

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from archivist.domain.errors import Refused
from archivist.storage.sqlite import connections

# File systems on which locks or shared memory do not hold between programs: a shared log gets corrupted there.
NETWORK = ("nfs", "cifs", "smb", "9p", "virtiofs", "fuse", "afs", "ceph", "glusterfs", "lustre", "ncpfs", "vboxsf")
_OCTAL = re.compile(r"\\([0-7]{3})")  # how mountinfo writes blanks
_OURS = frozenset({"archivist.toml", "mirror", "models", "vaults", "lost+found"})
"""What may lie in a data folder before its first start; the last one on a disk of its own."""
_PROBE = ".probe-"
_MOUNTS = Path("/proc/self/mountinfo")
_DENIED = "permission denied; give this user the folder, or choose another data folder"
_MENDS = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EROFS: "the file system is read-only; mount it writable, or choose another data folder",
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
}


def prepare(folder: Path, mounts: Iterable[str] | None = None) -> None:
    """Make `folder` and its `vaults`, private, or refuse. `mounts` are lines as in /proc/self/mountinfo (proc(5)).

    Raises:
        Refused: it is a file, in use for something else, on a network file system, read-only, full, or another user's.
    """
    try:
        _require_ours(folder)
        _make(folder)
        _make(folder / "vaults")
    except FileExistsError as error:
        raise Refused(f"{error.filename} is a file; choose another data folder, or move it away") from error
    except OSError as error:
        raise Refused(f"{folder} cannot be used: {_reason(error)}") from error
    _require_local(folder, mounts)
    _require_writable(folder)
    _tighten(folder)


def file_system(folder: Path, mounts: Iterable[str]) -> str:
    """The type of the file system that `folder` lies on, empty if `mounts` does not say."""
    resolved = folder.resolve()
    best, kind = -1, ""
    for line in mounts:
        before, _, after = line.partition(" - ")
        if len(fields := before.split()) < 5 or not after:
            continue
        point = Path(_OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[4]))
        if resolved.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split()[0]
    return kind


def _require_ours(folder: Path) -> None:
    """Refuses what others use too, such as /tmp or a home: making that private would lock them out."""
    if not folder.is_dir() or (folder / "control.db").exists() or not stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return
    if any(entry.name not in _OURS and not entry.name.startswith(_PROBE) for entry in folder.iterdir()):
        raise Refused(f"{folder} holds other files and is open to others; choose an empty folder, or a new one")


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _require_local(folder: Path, mounts: Iterable[str] | None) -> None:
    if mounts is None:
        mounts = _MOUNTS.read_text(encoding="utf-8").splitlines() if _MOUNTS.exists() else ()
    kind = file_system(folder, mounts)
    if kind.startswith(NETWORK):
        raise Refused(f"{folder} is on a network file system ({kind}), where data gets damaged; choose a local folder")


def _require_writable(folder: Path) -> None:
    """Really write a page and wait for the disk: permissions alone tell neither a full disk nor a read-only one."""
    probe = folder / f"{_PROBE}{secrets.token_hex(8)}"
    try:
        connections.make_private(probe)
        try:
            probe.write_bytes(bytes(4096))
            connections.sync(probe)
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise Refused(f"{folder} cannot be written: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    return _MENDS.get(error.errno or 0, os.strerror(error.errno or 0))


def _tighten(folder: Path) -> None:
    """Folders 0700, files 0600, whatever they were."""
    for path in (folder, folder / "vaults", *folder.glob("*.db*"), *folder.glob("vaults/*.db*")):
        wanted = 0o700 if path.is_dir() else 0o600
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                path.chmod(wanted)
        except FileNotFoundError:
            continue  # a side file of another process, gone since
        except OSError as error:
            raise Refused(
                f"{path} is open to others and belongs to another user; make it private (chmod {wanted:o})"
            ) from error
