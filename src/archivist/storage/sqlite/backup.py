"""A consistent copy of every file of the data folder, taken while it is in use."""

import secrets
import shutil
from pathlib import Path

from archivist.domain.errors import Refused
from archivist.storage.keyring import FILE as KEY_FILE
from archivist.storage.sqlite import connections, files
from archivist.storage.sqlite.driver import driver
from archivist.storage.sqlite.failures import translated


def take(data: Path, target: Path) -> int:
    """Copy the databases and the server's own secrets into `target`, which appears whole or not at all.

    Returns the number of files written.
    `control.db` first: a vault is made file first and row second, so every vault that the copy names is still to come.

    Raises:
        Refused: `target` holds something, is inside `data`, or cannot be written.
        Unavailable: a file of `data` is damaged, or the disk of `target` is full.
    """
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise Refused(f"{target} is not empty; choose a new folder")
    if target.resolve().is_relative_to(data.resolve()):
        raise Refused(f"{target} is inside the data folder, where a copy dies with it; choose a place outside")
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (part / "vaults").mkdir(mode=0o700, parents=True)
        part.chmod(0o700)
        count = _copy_all(data, part)
        if target.is_dir():
            target.rmdir()
        part.rename(target)
        connections.sync(target.parent)
    except OSError as error:
        raise Refused(f"{target} cannot be written: {error}; check the folder and its free space") from error
    except driver().Error as error:
        raise translated(error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return count


def _copy_all(data: Path, part: Path) -> int:
    count = _copy_control(data, part)
    vaults = sorted((data / "vaults").glob("*.db"))
    for path in vaults:
        files.copy_to(path, part / "vaults" / path.name)
    connections.sync(part / "vaults")
    connections.sync(part)
    return count + len(vaults)


def _copy_control(data: Path, part: Path) -> int:
    """`control.db` and the secrets that open what lies sealed in it. Once more, if they were exchanged meanwhile."""
    while True:
        before = _secrets(data)
        files.copy_to(data / "control.db", part / "control.db")
        if _secrets(data) == before:
            break
    if before is None:
        return 1
    connections.make_private(part / KEY_FILE)
    (part / KEY_FILE).write_bytes(before)
    connections.sync(part / KEY_FILE)
    return 2


def _secrets(data: Path) -> bytes | None:
    """What the file of the server's own secrets holds; None before the first start."""
    try:
        return (data / KEY_FILE).read_bytes()
    except FileNotFoundError:
        return None
