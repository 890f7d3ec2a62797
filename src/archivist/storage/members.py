"""Who is in which vault, in the control database."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from archivist.domain.ids import UserId, VaultId
from archivist.domain.roles import Member, Role
from archivist.storage.database import AT_ONCE, Database, Write
from archivist.storage.schema import vaults
from archivist.storage.schema_people import members, users
from archivist.storage.shapes import Shape

_SHAPE = Shape(of=Member, times=("created",))
_MINE = members.c.vault == sa.bindparam("of_vault", type_=sa.String)
_THIS = (_MINE, members.c.user == sa.bindparam("of_user", type_=sa.String))
_INSERT = sa.insert(members)
_SET_ROLE = sa.update(members).where(*_THIS)
_REMOVE = sa.delete(members).where(*_THIS)
_FIND = sa.select(members).where(*_THIS).execution_options(**AT_ONCE)
_LIST = (
    sa.select(members, users.c.name)
    .join_from(members, users, users.c.id == members.c.user, isouter=True)
    .where(_MINE)
    .order_by(members.c.created, members.c.user)
)
_OF_USER = (
    sa.select(members)
    .join_from(members, vaults, vaults.c.vault == members.c.vault)
    .where(members.c.user == sa.bindparam("of_user", type_=sa.String), vaults.c.removed.is_(None))
)
_OWNERS = sa.select(sa.func.count().label("count")).select_from(members).where(_MINE, members.c.role == "owner")


@dataclass(frozen=True, slots=True)
class Named:
    """A member and their name; empty for the owner of this computer, before somebody signed up."""

    member: Member
    name: str


def insert(member: Member) -> Write:
    """Conflicts if they are in it already."""
    return Write(_INSERT, rows=(_SHAPE.row(member),))


def set_role(vault: VaultId, user: UserId, role: Role) -> Write:
    """Conflicts if they are not in it."""
    return Write(_SET_ROLE, must_change=True, rows=({"of_vault": vault, "of_user": user, "role": role},))


def remove(vault: VaultId, user: UserId) -> Write:
    """Conflicts if they are not in it."""
    return Write(_REMOVE, must_change=True, rows=({"of_vault": vault, "of_user": user},))


async def find(db: Database, vault: VaultId, user: UserId) -> Member | None:
    rows = await db.read(_FIND, {"of_vault": vault, "of_user": user})
    return _SHAPE.value(rows[0]) if rows else None


async def of_vault(db: Database, vault: VaultId) -> Sequence[Named]:
    """Oldest first."""
    rows = [dict(row) for row in await db.read(_LIST, {"of_vault": vault})]
    return [Named(name=row.pop("name") or "", member=_SHAPE.value(row)) for row in rows]


async def of_user(db: Database, user: UserId) -> Sequence[Member]:
    """In every vault that there is."""
    return [_SHAPE.value(row) for row in await db.read(_OF_USER, {"of_user": user})]


async def owners(db: Database, vault: VaultId) -> int:
    return int((await db.read(_OWNERS, {"of_vault": vault}))[0]["count"])
