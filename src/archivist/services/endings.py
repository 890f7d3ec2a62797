"""Parts of batches that several use cases need: joining a vault, and the end of what hangs on something."""

from collections.abc import Sequence
from datetime import datetime

from archivist.domain.grants import Grant, Reason
from archivist.domain.ids import UserId
from archivist.domain.links import Link
from archivist.domain.roles import Member
from archivist.storage import grants, members, tokens
from archivist.storage.database import Database, Write


async def joining(control: Database, link: Link, user: UserId, now: datetime) -> Sequence[Write]:
    """The membership that a link leads to; nothing if it leads into no vault, or its maker may not invite any more."""
    if not link.into_vault or not link.role:
        return []
    maker = await members.find(control, link.into_vault, link.maker)
    if maker is None or maker.role not in ("admin", "owner"):
        return []
    return [members.insert(Member(vault=link.into_vault, user=user, role=link.role, created=now))]


def ending(grant: Grant, now: datetime, reason: Reason) -> Sequence[Write]:
    """The end of a connection and of its tokens; conflicts if it has ended already."""
    return [grants.end(grant.vault, grant.id, now, reason), tokens.end_all(grant.vault, grant.id, now)]
