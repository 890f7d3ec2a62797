"""What goes with every change of the control database: its line in the change log, and its line in the audit trail."""

from collections.abc import Sequence

from archivist.domain.audit import Entry
from archivist.domain.changes import Head, Kind, Op
from archivist.domain.ids import CONTROL
from archivist.storage import audit, changes, heads
from archivist.storage.database import Database, Write


async def written(control: Database, act: Entry, kind: Kind, *, op: Op = "put", id: str | None = None) -> list[Write]:
    """For a change that holds whatever others change meanwhile. `id` is the act's target unless given."""
    head = (await heads.read(control, CONTROL)).head
    what = act.target if id is None else id
    log = changes.append(CONTROL, head.epoch, kind=kind, id=what, version=1, op=op, at=act.at)
    return [*log, audit.insert(act)]


def written_from(head: Head, act: Entry, kind: Kind, *, op: Op = "put") -> Sequence[Write]:
    """For a change that was decided on what was there at `head`: conflicts if anything was committed since."""
    log = changes.append(CONTROL, head.epoch, kind=kind, id=act.target, version=1, op=op, at=act.at)
    return [heads.raise_seq_from(CONTROL, head), *log[1:], audit.insert(act)]


async def head(control: Database) -> Head:
    """Where the control log stands."""
    return (await heads.read(control, CONTROL)).head
