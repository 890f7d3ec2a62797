"""Brings the copy of the control database up to date: its tables are small, so they are compared as a whole.

The trail and the log only grow; of these the new entries are copied.
"""

import hmac

from archivist.domain.changes import Head
from archivist.domain.errors import Refused
from archivist.domain.ids import CONTROL
from archivist.mirror.vaults import require_behind
from archivist.storage import changes, compared, copies, heads
from archivist.storage.database import Database, Write

PAGE = 1_000
"""Entries of the log that are copied at once."""


async def step(source: Database, target: Database) -> int:
    """Copy what is new or different; returns how many entries of the log are left then.

    Raises:
        Refused: `target` is ahead of `source`: copying would destroy what only it knows.
        Conflict: somebody else copied at the same time.
    """
    theirs, mine = await heads.read(source, CONTROL), await heads.read(target, CONTROL)
    if mine.head.seq and not hmac.compare_digest(mine.secret, theirs.secret):
        raise Refused("the mirror holds the data of another server; give this data folder a mirror of its own")
    require_behind(mine.head, theirs.head)
    entries = await changes.since(source, CONTROL, mine.head.seq, PAGE)
    upto = changes.reached(entries, PAGE, theirs.head)
    batch: list[Write] = []
    for table in compared.TABLES:
        batch += await table.differences(source, target)
    audited = await copies.new_in_control_trail(source, target, mine.head.seq, upto)
    if batch or audited or upto != mine.head.seq:
        await target.apply([
            heads.follow(CONTROL, mine.head, Head(theirs.head.epoch, upto), theirs.space),
            heads.set_secret(CONTROL, theirs.secret),
            *batch,
            *changes.copied(CONTROL, entries),
            *audited,
        ])  # fmt: skip
    return max(0, theirs.head.seq - upto)
