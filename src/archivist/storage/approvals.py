"""Questions to the owners of vaults, in the control database."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from archivist.domain.approvals import Approval
from archivist.domain.ids import UserId, VaultId
from archivist.domain.times import micros
from archivist.storage.database import Database, Write
from archivist.storage.schema import approvals
from archivist.storage.shapes import Shape

_SHAPE = Shape(of=Approval, times=("created", "expires", "approved", "spent"))
_OF_VAULT = approvals.c.vault == sa.bindparam("of_vault", type_=sa.String)
_THIS = (_OF_VAULT, approvals.c.id == sa.bindparam("of_id", type_=sa.String))
_OPEN = (approvals.c.spent.is_(None), approvals.c.expires > sa.bindparam("at", type_=sa.BigInteger))
_INSERT = sa.insert(approvals)
_APPROVE = sa.update(approvals).where(*_THIS, *_OPEN, approvals.c.approved.is_(None))
_SPEND = sa.update(approvals).where(*_THIS, *_OPEN, approvals.c.approved.is_not(None))
_REFUSE = sa.update(approvals).where(*_THIS, *_OPEN)
_CLEAR = sa.delete(approvals).where(approvals.c.expires < sa.bindparam("before", type_=sa.BigInteger))
_FIND = sa.select(approvals).where(*_THIS)
_ALL_OPEN = sa.select(approvals).where(_OF_VAULT, *_OPEN).order_by(approvals.c.created, approvals.c.id)


def insert(approval: Approval) -> Write:
    return Write(_INSERT, rows=(_SHAPE.row(approval),))


def approve(vault: VaultId, id: str, by: UserId, now: datetime) -> Write:
    """Conflicts if it was decided or has expired."""
    row = {"of_vault": vault, "of_id": id, "at": micros(now), "approved": micros(now), "approver": by}
    return Write(_APPROVE, must_change=True, rows=(row,))


def spend(vault: VaultId, id: str, now: datetime) -> Write:
    """Conflicts unless somebody approved it, and nobody used it yet: of two at once, one gets through."""
    return Write(_SPEND, must_change=True, rows=(_ended(vault, id, now),))


def refuse(vault: VaultId, id: str, now: datetime) -> Write:
    """Approved or not, it can be used no more; conflicts if it was used, refused, or has expired."""
    return Write(_REFUSE, must_change=True, rows=(_ended(vault, id, now),))


def clear(before: datetime) -> Write:
    return Write(_CLEAR, rows=({"before": micros(before)},))


async def find(db: Database, vault: VaultId, id: str) -> Approval | None:
    """Used and expired ones, too."""
    rows = await db.read(_FIND, {"of_vault": vault, "of_id": id})
    return _SHAPE.value(rows[0]) if rows else None


async def open_in(db: Database, vault: VaultId, now: datetime) -> Sequence[Approval]:
    """Those that can still be decided or used, oldest first."""
    return [_SHAPE.value(row) for row in await db.read(_ALL_OPEN, {"of_vault": vault, "at": micros(now)})]


def _ended(vault: VaultId, id: str, now: datetime) -> dict[str, object]:
    return {"of_vault": vault, "of_id": id, "at": micros(now), "spent": micros(now)}
