"""Brings damaged data files back from their copies in the mirror, and makes room where the mirror is damaged.

A damaged file is never deleted: it is moved aside, since a specialist may still read more of it. What is brought back
begins a new epoch on both sides, so that whatever followed the old file starts over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from archivist.domain.ids import MemoryId
from archivist.storage.keyring import FILE as KEY_FILE
from archivist.storage.keyring import copy_file
from archivist.storage.migrations.runner import Kind
from archivist.storage.schema import PARTS, memories
from archivist.storage.sqlite import connections, files
from archivist.storage.sqlite.diagnosis import Finding, examine, expected

if TYPE_CHECKING:
    from archivist.storage.sqlite.connections import Connection

SIDES = ("", "-wal", "-shm", "-journal")
"""What belongs to a file."""

Act = Literal["nothing", "copy", "rows", "index", "aside", "impossible"]
"""copy: the file is made anew from the mirror's. rows: some memories are. index: it is rebuilt from the memories.
aside: the mirror's file is moved away, and the mirror copies everything again. impossible: both sides are damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What one file needs. reason: in a few words. source: its copy. lost: memories that no side has whole."""

    finding: Finding
    act: Act
    reason: str = ""
    source: Path | None = None
    lost: Sequence[MemoryId] = ()


def plan(data: Path, mirror: Path | None, seen: Callable[[int], None] = lambda _memories: None) -> Sequence[Repair]:
    """What each file of both sides needs; those that need nothing are named, too."""
    made: list[Repair] = []
    for path, kind in _files(data, mirror):
        here = examine(data / path, kind, seen)
        there = None if mirror is None else examine(mirror / path, kind, seen)
        made.append(_of_data(here, there))
        if there is not None and there.path.exists():  # what is not there yet, or no more, is copied by itself
            made.append(_of_mirror(there, here))
    return made


def memories_in(data: Path, mirror: Path | None) -> int:
    """How many memories `plan` will look at."""
    sides = [side for side in (data, mirror) if side is not None]
    return sum(expected(side / path) for side in sides for path, kind in _files(data, mirror) if kind == "vault")


def _files(data: Path, mirror: Path | None) -> Sequence[tuple[Path, Kind]]:
    """Every file that either side has, relative to its folder."""
    sides = [side for side in (data, mirror) if side is not None]
    vaults = {Path("vaults") / path.name for side in sides for path in (side / "vaults").glob("*.db")}
    return [(Path("control.db"), "control"), *((path, "vault") for path in sorted(vaults))]


def _of_data(here: Finding, there: Finding | None) -> Repair:
    copied = there is not None and there.trouble not in ("missing", "unreadable")
    source = there.path if there is not None and copied else None
    if here.trouble in ("missing", "unreadable"):
        return Repair(finding=here, act="copy" if copied else "impossible", reason=here.detail, source=source)
    if here.trouble == "rows":
        also = there.memories if there is not None else ()
        lost = [id for id in here.memories if not copied or id in also]
        act: Act = "impossible" if len(lost) == len(here.memories) else "rows"
        return Repair(finding=here, act=act, reason=here.detail, source=source, lost=lost)
    if here.trouble == "index":
        return Repair(finding=here, act="index", reason=here.detail)
    if there is not None and copied and _is_behind(here, there):
        return Repair(finding=here, act="copy", reason="its mirror knows more than it does", source=source)
    return Repair(finding=here, act="nothing")


def _of_mirror(there: Finding, here: Finding) -> Repair:
    if there.trouble is None:
        return Repair(finding=there, act="nothing")
    act: Act = "nothing" if here.trouble in ("missing", "unreadable") else "aside"  # then it is all that there is
    return Repair(finding=there, act=act, reason=there.detail)


def _is_behind(here: Finding, there: Finding) -> bool:
    """Whether a mirror has entries of the log that the data lost. A higher epoch is a restore, which was meant."""
    if here.head is None or there.head is None:
        return here.head is None and there.head is not None
    return here.head < there.head


def carry_out(repair: Repair, now: datetime) -> None:
    """Do it. The programs that use these files must have been stopped."""
    path = repair.finding.path
    if repair.act == "aside":
        _set_aside(path, now)
    elif repair.act == "index":
        _writing(path, _rebuild_index)
    elif repair.act == "copy" and repair.source is not None:
        _set_aside(path, now)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.copy_to(repair.source, path)
        if repair.finding.kind == "control" and not path.with_name(KEY_FILE).exists():
            copy_file(repair.source.with_name(KEY_FILE), path.with_name(KEY_FILE))
        _begin_epoch(path, repair.source)
    elif repair.act == "rows" and repair.source is not None:
        _bring_back(path, repair.source, [id for id in repair.finding.memories if id not in repair.lost])
        _begin_epoch(path, repair.source)


def _set_aside(path: Path, now: datetime) -> None:
    for one in (path.with_name(path.name + side) for side in SIDES):
        if one.exists():
            one.replace(one.with_name(f"{one.name}.damaged-{now:%Y%m%dT%H%M%S}"))


def _begin_epoch(*paths: Path) -> None:
    """The same new epoch on both sides: the next one after the higher of the two."""
    epoch = max(_epoch(path) for path in paths) + 1
    for path in paths:
        _writing(path, lambda connection: _set_epoch(connection, epoch))


def _epoch(path: Path) -> int:
    connection = connections.reader(path)
    try:
        return int(connection.execute("SELECT epoch FROM heads").fetchone()[0])
    finally:
        connection.close()


def _set_epoch(connection: "Connection", epoch: int) -> None:
    connection.execute("UPDATE heads SET epoch = ?", (epoch,))
    connection.execute("UPDATE changes SET epoch = ?", (epoch,))


def _bring_back(path: Path, source: Path, ids: Sequence[MemoryId]) -> None:
    """Put the rows of these memories from `source` in the place of damaged ones, and index everything anew."""

    def work(connection: "Connection") -> None:
        for table, owner in ((memories, "id"), *PARTS):
            for id in ids:
                connection.execute(f"DELETE FROM main.{table.name} WHERE {owner} = ?", (id,))  # noqa: S608 - names of ours
                connection.execute(
                    f"INSERT INTO main.{table.name} SELECT * FROM other.{table.name} WHERE {owner} = ?",  # noqa: S608 - of ours
                    (id,),
                )
        _rebuild_index(connection)

    _writing(path, work, other=source)


def _rebuild_index(connection: "Connection") -> None:
    connection.execute("INSERT INTO fts (fts) VALUES ('delete-all')")
    connection.execute("INSERT INTO fts (rowid, terms) SELECT doc, terms FROM memories ORDER BY doc")


def _writing(path: Path, work: Callable[["Connection"], None], other: Path | None = None) -> None:
    """Do `work` in one transaction; `other` is there as a database of that name."""
    connection = connections.writer(path)
    try:
        if other is not None:
            connection.execute("ATTACH DATABASE ? AS other", (str(other),))
        connection.execute("BEGIN IMMEDIATE")
        work(connection)
        connection.execute("COMMIT")
    finally:
        connection.close()
