"""Parts of batches that several use cases need: joining a vault, and the end of what hangs on something."""

from collections.abc import Sequence
from datetime import datetime

from archivist.domain.errors import NotFound
from archivist.domain.grants import Grant, Reason
from archivist.domain.ids import UserId
from archivist.domain.links import GONE, Link
from archivist.domain.roles import Member, may_manage
from archivist.services.entering import role_now
from archivist.storage import grants, members, tokens
from archivist.storage.database import Database, Write


async def joining(control: Database, link: Link, user: UserId, now: datetime) -> Sequence[Write]:
    """The membership that a link leads to; nothing if it leads into no vault.

    Raises:
        NotFound: whoever made it may not give that role there (any more), or the vault is gone.
    """
    if not link.into_vault or not link.role:
        return []
    maker = await role_now(control, link.into_vault, link.maker)
    if maker is None or not may_manage(maker, link.role):
        raise NotFound(GONE)
    return [members.insert(Member(vault=link.into_vault, user=user, role=link.role, created=now))]


def ending(grant: Grant, now: datetime, reason: Reason) -> Sequence[Write]:
    """The end of a connection and of its tokens; conflicts if it has ended already."""
    return [grants.end(grant.vault, grant.id, now, reason), tokens.end_all(grant.vault, grant.id, now)]
